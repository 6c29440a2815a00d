#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Texts that a program passes to system calls and has not touched before: their page is not in
# memory at the entry. BPF programs record them all the same, filters on them are true, and the
# entry keeps its own time and arguments. A text that nothing can read is empty and counted.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
grep -q '^kernel.*strings of system calls by BPF' "$MNT/version" ||
	skip "BPF programs record no strings here: $(grep '^kernel' "$MNT/version")"
cat >"$work/far.c" <<'C'
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *page;

/* As a program that has just begun: nothing maps the page. */
static char *untouched(void)
{
	if (madvise(page, 4096, MADV_DONTNEED))
		exit(1);
	return page;
}

static void use_cpu(pid_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(thread, sizeof(set), &set);
}

/*
 * far FILE NUMBER: as many openat of the file whose name FILE begins with, and which there is not,
 * with descending flags; then a rename, an exec that fails and one that succeeds, a bad address, and
 * an open of the FIFO that FILE names next, during which the thread changes the CPU. Number 0: an
 * open of the FIFO alone.
 */
int main(int argc, char **argv)
{
	char *fifo;
	int fd = open(argv[1], O_RDONLY), n = atoi(argv[2]), cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	pid_t self = getpid(), child;

	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	fifo = page + strlen(page) + 1;
	if (!n) {
		untouched();
		return (int)syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY, 0) < 0;
	}
	for (int i = n; i > 0; i--)
		syscall(SYS_openat, AT_FDCWD, untouched(), i, 0);
	syscall(SYS_renameat2, AT_FDCWD, untouched(), AT_FDCWD, page, 1);
	syscall(SYS_execve, untouched(), NULL, NULL);
	syscall(SYS_openat, AT_FDCWD, 8, O_RDONLY, 7);
	use_cpu(0, 0);
	child = fork();
	if (!child) {
		/* (The thread sleeps in its call then.) */
		usleep(200000);
		use_cpu(self, cpus - 1);
		_exit(open(fifo, O_WRONLY) < 0);
	}
	untouched();
	syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY, 0);
	waitpid(child, NULL, 0);
	fifo += strlen(fifo) + 1;
	untouched();
	syscall(SYS_execve, fifo, (char *[]){ "true", NULL }, (char *[]){ "A=b", NULL });
	return 1;
}
C
${CC:-cc} -D_GNU_SOURCE -o "$work/far" "$work/far.c" || skip "no compiler"
mkfifo "$work/fifo"
none=$work/none
printf '%s\0%s\0%s\0' "$none" "$work/fifo" /bin/true >"$work/names"

# run: the program, held until it may run; its id in the kernel is $pid
run() {
	sh -c 'kill -STOP $$; exec "$@"' sh "$work/far" "$work/names" 40 &
	child=$!
	within 20 stands $child || fail "the program does not stop"
	pid=$(kernel_pid $child)
	kill -CONT $child
	wait $child
}

# record BACKEND: makes a session, records one run in it, and stops
record() {
	s=$S/$1
	mkdir "$s" "$s/kernel/channels/channel0"
	[ $1 = auto ] || put bpf "$s/kernel/channels/channel0/backend"
	contexts='tid pid'
	[ $1 != stacks ] || contexts='tid pid callstack-user'
	put "$contexts" "$s/kernel/contexts"
	side=
	[ $1 != entries ] || side=entry:
	printf '%s\n' "syscall:${side}openat" "syscall:${side}renameat2" "syscall:${side}execve" \
		>"$s/kernel/events"
	put start "$s/control"
	run
	put stop "$s/control"
}

# --- without types there is no program at the end of the call
if [ ! -e /sys/kernel/btf/vmlinux ]; then
	record auto
	is "without types: entries" "$(seq 40 -1 1)" "$(grep "pid = $pid\b" "$s/text" |
		sed -n 's,.*entry_openat: .*filename = ""\, flags = \([1-9][0-9]\?\)\,.*,\1,p')"
	unread=$(key texts_unread "$s/kernel/channels/channel0/status")
	[ "${unread:-0}" -ge 40 ] || fail "texts that were not read: ${unread:-none}"
	echo "$checks checks; this kernel takes no program at the end of the call"
	exit 0
fi

for backend in auto bpf stacks entries; do
	record_whole record $backend
	grep "pid = $pid\b" "$s/text" >"$work/$backend"
	is "$backend: names and flags of openat" "$(seq 40 -1 1 | sed "s,.*,\"$none\" &,")" \
		"$(sed -n "s,.*entry_openat: .*filename = \(\"$none\"\)\, flags = \([0-9]*\)\,.*,\1 \2,p" \
			"$work/$backend")"
	has "$(cat "$work/$backend")" "oldname = \"$none\", newdfd = -100, newname = \"$none\", flags = 1"
	is "$backend: execve" "$none /bin/true" \
		"$(sed -n "s,.*entry_execve: .*filename = \"\([^\"]*\)\".*,\1,p" "$work/$backend" |
			grep -v '/far$\|/sh$' | xargs)"
	is "$backend: of another CPU's ring" 1 "$(grep -c "filename = \"$work/fifo\", flags = 0" "$work/$backend")"
	is "$backend: a bad address" 1 "$(grep -c 'entry_openat: .*filename = "", .*mode = 7' "$work/$backend")"
	is "$backend: in order" "" "$(awk '/^\[/ { if ($1 < last) print; last = $1 }' "$s/text")"
	is "$backend: losses" 0 "$(key events_discarded "$s/status")"
	[ $backend = entries ] || is "$backend: the exit follows its entry" "" \
		"$(awk '/entry_openat/ { open++ } /exit_openat/ { open-- } open > 1 || open < 0' "$work/$backend")"
	rmdir "$s"
done

# --- a call that has not ended when its event is fetched
s=$S/blocked
mkdir "$s"
put 'tid pid' "$s/kernel/contexts"
put 'syscall:entry:openat' "$s/kernel/events"
put start "$s/control"
"$work/far" "$work/names" 0 &
child=$!
pid=$(kernel_pid $child)
opens_fifo() { grep -q "pid = $pid }.*filename = \"\"" "$s/text"; }
within 20 opens_fifo || fail "there is no entry without a text: $(grep "pid = $pid\b" "$s/text")"
unread=$(key texts_unread "$s/kernel/channels/channel0/status")
[ "${unread:-0}" -ge 1 ] || fail "the call that has not ended is not counted"
: >"$work/fifo"
wait $child
rmdir "$s"

# --- filters: of the program, of the daemon; an event that they reject is not there
for filter in "filename == \"$none\"" "filename == \"$work/n*\"" "filename == \"*/none\"" \
	"filename == \"$none\" && flags > 30" "flags == 5 || filename == \"nothing\"" \
	"filename != \"$none\" && flags < 30"; do
	s=$S/f
	mkdir "$s" "$s/kernel/channels/channel0"
	put 'tid pid' "$s/kernel/contexts"
	put "syscall:entry:openat if $filter" "$s/kernel/events"
	put start "$s/control"
	run
	put stop "$s/control"
	case $filter in
	*30) expected=10 ;;
	flags*) expected=1 ;;
	*) expected=40 ;;
	esac
	case $filter in
	*!=*) is "$filter" 0 "$(grep -c "filename = \"$none\"" "$s/text")" ;;
	*) is "$filter" $expected "$(grep "pid = $pid\b" "$s/text" | grep -c "filename = \"$none\"")" ;;
	esac
	rmdir "$s"
done
echo "$checks checks"
