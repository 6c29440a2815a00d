#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Events that programs record by the arguments of tracepoints: the table of these events
# (tracer/kernel/bpf/tracepoints.def) against tracefs' own records of the same process at the same
# time, field by field.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
grep -q '^kernel tracefs and bpf' "$MNT/version" ||
	skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no types"
cat >"$work/busy.c" <<'C'
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
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

/* busy FILE: memory, files, signals, timers, threads, sleep, a network */
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
kill -CONT $child
wait $child
put stop "$S/bpf$mark/control"
put stop "$S/tracefs$mark/control"
# (The kernel's time in ticks may pass on between two records of one event. A text is its address
# in records of tracefs.)
for by in tracefs bpf; do
	is "overwritten by $by" 0 "$(key events_overwritten "$S/$by$mark/status")"
	sed -n 's/^\[[0-9:.]*\] ([^)]*) [^ ]* //p' "$S/$by$mark/text" |
		sed 's/\(now = \)[0-9]*/\1N/; s/\(filename = \)"0x[0-9a-f]*"/\1T/' |
		sed '/openat/s/\(filename = \)"[^"]*"/\1T/' | sort >"$work/$by"
done
comm -13 "$work/tracefs" "$work/bpf" >"$work/only_bpf"
comm -23 "$work/tracefs" "$work/bpf" >"$work/only_tracefs"
is "other records" "" "$(head -n 5 "$work/only_bpf")"
missing=$(wc -l <"$work/only_tracefs")
lost=$(key events_discarded "$S/bpf$mark/status")
# (Linux before 6.7 does not count what programs of tracepoints miss.)
[ "$missing" -le "$lost" ] || ! kernel_since 6.7 ||
	fail "$missing are missing, $lost were counted: $(head -n 3 "$work/only_tracefs")"
[ $((missing * 10)) -lt "$(wc -l <"$work/tracefs")" ] || fail "$missing are missing"
kinds=$(cut -d: -f1 "$work/bpf" | uniq | wc -l)
[ "$kinds" -gt 30 ] || fail "only $kinds kinds of events happened"
same_text "$S/bpf$mark"
rmdir "$S/tracefs$mark" "$S/bpf$mark"
echo "$checks checks, $kinds kinds of events, $typed by arguments"
