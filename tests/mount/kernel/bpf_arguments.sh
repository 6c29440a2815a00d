#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Events that programs record by the arguments of tracepoints: the table of these events
# (tracer/kernel/bpf/tracepoints.def) against tracefs' own records of the same process at the same
# time, field by field.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no types"
programs_record || skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
cat >"$work/busy.c" <<'C'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int sig)
{
	(void)sig;
}

static void *thread(void *arg)
{
	usleep(100);
	return arg;
}

static void send_one(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	char text[8];
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (!bind(s, (void *)&a, len) && !getsockname(s, (void *)&a, &len) &&
	    sendto(s, "hello", 5, 0, (void *)&a, len) == 5)
		recv(s, text, 5, 0);
	close(s);
}

/* A connection of this process to itself, by version 4 or 6 of IP: each side closes it once. */
static void connect_one(int family, int first)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *at = family == AF_INET ? (void *)&a : (void *)&a6;
	socklen_t len = family == AF_INET ? sizeof(a) : sizeof(a6);
	int s = socket(family, SOCK_STREAM, 0), ends[2] = { -1, -1 };
	char text[8];

	if (!bind(s, at, len) && !listen(s, 1) && !getsockname(s, at, &len)) {
		ends[0] = socket(family, SOCK_STREAM, 0);
		if (!connect(ends[0], at, len))
			ends[1] = accept(s, NULL, NULL);
		if (ends[1] >= 0 && write(ends[0], "hello", 5) == 5 && read(ends[1], text, 5) == 5)
			close(ends[first]);
		close(ends[!first]);
	}
	close(s);
}

/*
 * Writes past the page cache, from one CPU after the other. It runs until the disk is done: so an
 * interrupt of this CPU is in here.
 */
static void write_direct(const char *path)
{
	cpu_set_t before, one_cpu;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	aio_context_t context = 0;
	struct io_event event;
	void *memory;

	if (fd < 0 || syscall(SYS_io_setup, 1, &context) ||
	    posix_memalign(&memory, 4096, 65536))
		return;
	memset(memory, 1, 65536);
	sched_getaffinity(0, sizeof(before), &before);
	for (int i = 0; i < 8; i++) {
		struct iocb one = { .aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITE,
				    .aio_buf = (unsigned long)memory, .aio_nbytes = 65536,
				    .aio_offset = 65536 * i };
		struct iocb *list = &one;

		CPU_ZERO(&one_cpu);
		CPU_SET(i % (cpus < CPU_SETSIZE ? cpus : CPU_SETSIZE), &one_cpu);
		sched_setaffinity(0, sizeof(one_cpu), &one_cpu);
		if (syscall(SYS_io_submit, context, 1, &list) == 1)
			while (!syscall(SYS_io_getevents, context, 0, 1, &event, NULL))
				;
	}
	sched_setaffinity(0, sizeof(before), &before);
	syscall(SYS_io_destroy, context);
	if (fsync(fd) || pread(fd, memory, 65536, 4096) < 0)
		perror(path);
	close(fd);
	free(memory);
}

/* Through the page cache, out of it, and in again. */
static void write_cached(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	static char text[1 << 16];
	char *m;

	if (fd < 0 || write(fd, text, sizeof(text)) < 0 || fdatasync(fd))
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	m = mmap(NULL, sizeof(text), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m != MAP_FAILED) {
		m[5000]++;
		msync(m, sizeof(text), MS_SYNC);
		munmap(m, sizeof(text));
	}
	if (fchmod(fd, 0640) || sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) || syncfs(fd))
		perror(path);
	close(fd);
	unlink(path);
}

/* busy FILE: memory, files, disks, signals, timers, threads, sleep, networks */
int main(int argc, char **argv)
{
	struct timespec t = { 0, 200000 };
	static char buf[8192];
	sigset_t alarms, before;

	signal(SIGUSR1, nothing);
	signal(SIGALRM, nothing);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarms, &before);
	for (int round = 0; round < 10; round++) {
		struct itimerval soon = { { 0, 0 }, { 0, 1000 } };
		pthread_t p;
		char *m = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int i = 0; i < 1 << 18; i += 4096)
			m[i] = 1;
		munmap(m, 1 << 18);
		int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (int i = 0; i < 4; i++)
			if (write(fd, buf, sizeof(buf)) < 0)
				return 1;
		close(fd);
		unlink(argv[1]);
		raise(SIGUSR1);
		setitimer(ITIMER_REAL, &soon, NULL);
		sigsuspend(&before);    /* the signal comes in it, however late that is */
		if (!pthread_create(&p, NULL, thread, NULL))
			pthread_join(p, NULL);
		if (!fork()) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		wait(NULL);
		nanosleep(&t, NULL);
		send_one();
		connect_one(round & 1 ? AF_INET : AF_INET6, round & 2);
		if (round % 4)
			continue;
		write_direct(argv[1]);
		write_cached(argv[1]);
		prctl(PR_SET_NAME, round & 4 ? "a name of 15 by" : "busy");
		prctl(12345, 1, 2, 3, 4);
	}
	return argc != 2;
}
C
${CC:-cc} -O1 -pthread -o "$work/busy" "$work/busy.c" || skip "no compiler"

# The events of the table that this kernel has, as rules. (tlb_flush happens in the middle of a
# switch, where tracefs already looks whether the next one is tracked.)
${CC:-cc} -E -P -x c "-DEVENT(name, fields)=@ name" "$top/tracer/kernel/bpf/tracepoints.def" |
	tr '@' '\n' | tr -d '" ' | grep -v '^tlb:' | grep -Fxf "$MNT/available/kernel/tracepoints" >"$work/rules"
[ "$(wc -l <"$work/rules")" -gt 50 ] || fail "only $(wc -l <"$work/rules") events of the table"
echo 'syscall:getsockname' >>"$work/rules"
echo 'cgroup:cgroup_mkdir' >>"$work/rules"
echo 'syscall:openat' >>"$work/rules"

sh -c 'kill -STOP $$; exec "$@"' sh taskset -c "$first_cpu" "$work/busy" "$work/file" &
child=$!
within 20 stands $child || fail "the program does not stop"
for by in tracefs bpf; do
	s=$S/$by$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put $by "$s/kernel/channels/channel0/backend"
	put 1M "$s/kernel/channels/channel0/subbuf_size"
	cat "$work/rules" >"$s/kernel/events"
	put 'tid' "$s/kernel/contexts"
	put $child "$s/kernel/track/pid"
	put start "$s/control"
	is "mistakes of $by" "" "$(cat "$s/error")"
done
# Most of them are recorded so; a kernel may differ in some.
typed=$(key programs_by_arguments "$S/bpf$mark/kernel/channels/channel0/status")
[ "${typed:-0}" -gt $(($(wc -l <"$work/rules") * 3 / 4)) ] ||
	fail "only ${typed:-none} of $(wc -l <"$work/rules") events are recorded by arguments"
# The status has a line for each event: sched_switch is in the table, cgroup_mkdir is not.
status=$S/bpf$mark/kernel/channels/channel0/status
has "$(cat "$status")" '^program cgroup:cgroup_mkdir record$'
is "lines of events" "$typed" "$(grep -c -e '^program .* arguments$' -e '^program .* function$' "$status")"
has "$(cat "$status")" '^program sched:sched_switch arguments$'
kernel_since 6.7 || has "$(cat "$status")" '^program_misses not counted'
! kernel_since 6.7 || is "misses are counted" "" "$(grep '^program_misses' "$status")"
first_threads=$(ls /proc/1/task)
kill -CONT $child
wait $child
put stop "$S/bpf$mark/control"
put stop "$S/tracefs$mark/control"
# (The kernel counts what programs miss until then.)
if [ -x /usr/bin/python3 ]; then
	cat "$status" >"$work/text"
	cat "$status.json" >"$work/json"
	/usr/bin/python3 "$top/tests/lib/judge_forms.py" "$top/docs/schema.json" channel \
		"$work/json" "$work/text" || fail "another status.json"
fi
# (The kernel's time in ticks may pass on between two records of one event. A text is its address
# in records of tracefs. Kernels of some virtual machines run no program in their first process, on
# top of which interrupts wake others.)
for thread in $first_threads $(ls /proc/1/task); do
	echo "{ tid = $thread }, {"
done >"$work/first"
for by in tracefs bpf; do
	is "overwritten by $by" 0 "$(key events_overwritten "$S/$by$mark/status")"
	sed -n 's/^\[[0-9:.]*\] ([^)]*) [^ ]* //p' "$S/$by$mark/text" |
		sed 's/\(now = \)[0-9]*/\1N/; s/\(filename = \)"0x[0-9a-f]*"/\1T/' |
		sed '/openat/s/\(filename = \)"[^"]*"/\1T/' | grep -vFf "$work/first" |
		sort >"$work/$by"
done
comm -13 "$work/tracefs" "$work/bpf" >"$work/only_bpf"
comm -23 "$work/tracefs" "$work/bpf" >"$work/missing"
# (In the middle of a switch, where the kernel may wait for a lock, tracefs takes the thread that
# leaves the CPU for the tracked one that comes. Such a thread has no events but switches to tracked
# ones, and wakes them.)
grep -v '^sched_' "$work/bpf" | grep -o '{ tid = [0-9]* }' | sort -u >"$work/tids"
{
	grep -v '^lock_contention' "$work/missing"
	grep '^lock_contention' "$work/missing" | grep -Ff "$work/tids"
} >"$work/only_tracefs"
# A wrong field is in all records of a kind, or in most. A few records are in one of the two only:
# on a busy machine tracefs misses switches to a process that has just come to a CPU, and programs
# miss events in interrupts of a program, which are counted.
comm -12 "$work/tracefs" "$work/bpf" | cut -d: -f1 | sort -u >"$work/same_kinds"
is "kinds with other records only" "" "$(cut -d: -f1 "$work/only_bpf" | grep -vxFf "$work/same_kinds")"
all=$(wc -l <"$work/tracefs")
other=$(wc -l <"$work/only_bpf")
[ $((other * 100)) -lt "$all" ] || fail "$other other records: $(head -n 5 "$work/only_bpf")"
missing=$(wc -l <"$work/only_tracefs")
lost=$(key events_discarded "$S/bpf$mark/status")
# (Linux before 6.7 does not count what programs of tracepoints miss.)
[ "$missing" -le "$lost" ] || ! kernel_since 6.7 ||
	fail "$missing are missing, $lost were counted: $(head -n 3 "$work/only_tracefs")"
[ $((missing * 10)) -lt "$all" ] || fail "$missing are missing"
kinds=$(cut -d: -f1 "$work/bpf" | uniq | wc -l)
[ "$kinds" -gt 60 ] || fail "only $kinds kinds of events happened"
same_text "$S/bpf$mark"
rmdir "$S/tracefs$mark" "$S/bpf$mark"
echo "$checks checks, $kinds kinds of events, $typed by arguments; of $all records $missing missing," \
	"$lost counted, $other others"
