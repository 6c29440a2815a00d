#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Entries of a few system calls have their programs at the functions of these calls, so no program
# runs at the other calls of the machine. The records are the same as those of programs at sys_enter
# and sys_exit, which record many calls, exits, and calls whose function may not return.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
programs_record || skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
cat >"$work/calls.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf no_calls_of_32_bits;

static void nothing(int sig)
{
	(void)sig;
}

static void leave_out(int sig)
{
	siglongjmp(no_calls_of_32_bits, sig);
}

/*
 * calls FILE COUNT: opens FILE, and closes it, COUNT times; reads a pipe until a signal
 * interrupts it; calls of 32 bits, which have no event; a child that is made by fork. Prints the
 * results of the opens.
 */
int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = nothing };
	struct itimerval soon = { { 0, 0 }, { 0, 100000 } };
	int fds[2], n = argc == 3 ? atoi(argv[2]) : 0;
	char byte;
	pid_t child;

	for (int i = 0; i < n; i++) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, i % 3 ? argv[1] : "/none/at all",
				      O_RDONLY, 0);

		printf("%d\n", fd < 0 ? -errno : fd);
		if (fd >= 0)
			close(fd);
	}
#ifdef __x86_64__
	long high;

	/* The kernel ignores the upper half of the call's number. */
	__asm__ volatile("xor %%r10d, %%r10d; syscall"
			 : "=a"(high)
			 : "0"(SYS_openat | 0xffff0000L << 32), "D"(-100L), "S"("/none/high"),
			   "d"(0L)
			 : "rcx", "r10", "r11", "memory");
	printf("%ld\n", high);
	/* A kernel without calls of 32 bits sends SIGSEGV. */
	signal(SIGSEGV, leave_out);
	for (int i = 0; i < 5 && !sigsetjmp(no_calls_of_32_bits, 1); i++) {
		long ret;

		/* openat of a bad address */
		__asm__ volatile("int $0x80" : "=a"(ret) : "0"(295L), "b"(-100L), "c"(8L), "d"(0L),
				 "S"(0L) : "memory");
	}
	signal(SIGSEGV, SIG_DFL);
#endif
	if (n < 1 || pipe(fds) || sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &soon, NULL))
		return 1;
	if (syscall(SYS_read, fds[0], &byte, 1) != -1 || errno != EINTR)
		return 1;
	child = (pid_t)syscall(SYS_fork);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	return 0;
}
C
${CC:-cc} -o "$work/calls" "$work/calls.c" || skip "no compiler"

# run FILE RULE…: one run of the program, recorded by these rules in the session $s; sets $status,
# and $links, how many programs are at all calls
run() {
	s=$S/f$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put bpf "$s/kernel/channels/channel0/backend"
	put '4M' "$s/kernel/channels/channel0/subbuf_size"
	file=$1
	shift
	printf '%s\n' "$@" >"$s/kernel/events"
	put 'tid procname' "$s/kernel/contexts"
	sh -c 'kill -STOP $$; exec "$@"' sh "$work/calls" "$top/Makefile" 2000 >"$work/results" &
	child=$!
	within 20 stands $child || fail "the program does not stop"
	put $child "$s/kernel/track/pid"
	put start "$s/control"
	status=$(cat "$s/kernel/channels/channel0/status")
	links=$(cat /proc/"$keeper"/fdinfo/* 2>/dev/null | grep -c '^tp_name:[[:space:]]*sys_e')
	kill -CONT $child
	wait $child || fail "the program fails"
	put stop "$s/control"
	unread=$(key texts_unread "$s/kernel/channels/channel0/status")
}

# record FILE RULE…: the same, and what each of the program's threads called, to FILE
record() {
	record_whole run "$@"
	same_text "$s"
	is "$file: losses" 0 "$(key events_discarded "$s/status")"
	sed -n 's/^\[[0-9:.]*\] ([^)]*) [^ ]* //p' "$work/text" | grep 'procname = "calls"' |
		sed 's/cpu_id = [0-9]*//; s/tid = [0-9]*/tid/; s/buf = 0x[0-9A-F]*/buf/' >"$work/$file"
	rmdir "$s"
}
keeper=$(ps -eo pid=,args= | awk -v a="trail-keeper --keeper $TRAIL_RUNTIME_DIR" \
	'{ p = $1; sub(/^ *[0-9]* /, "") } $0 == a { print p }')

record few syscall:openat syscall:read
echo "$status" | grep -q '^program syscalls:.* function$' ||
	skip "the kernel attaches no program to a function: $(uname -r)"
is "each entry" 2 "$(echo "$status" | grep -c '^program syscalls:sys_enter_.* function$')"
is "each exit" 2 "$(echo "$status" | grep -c '^program syscalls:sys_exit_.* arguments$')"
is "programs at all calls" 1 "$links"
sed -n 's/^syscall_exit_openat: .*{ ret = \(-*[0-9]*\) }/\1/p' "$work/few" |
	tail -n "$(wc -l <"$work/results")" | cmp -s - "$work/results" || fail "other results than the program had"
is "entries" "$(grep -c '^syscall_exit_openat' "$work/few")" \
	"$(grep -c '^syscall_entry_openat' "$work/few")"
is "of 32 bits" 0 "$(grep -c '^syscall_entry_openat: .*filename = ""' "$work/few")"
# (-ERESTARTSYS, as the kernel has it before the signal is delivered)
has "$(cat "$work/few")" '^syscall_exit_read: .*{ ret = -512 }'
has "$(cat "$work/few")" '^syscall_entry_openat: .*filename = "/none/high"'
is "its text was read" "" "$(echo "$unread" | sed 's/^0$//')"

# Entries alone need no program at all calls.
record entries syscall:entry:openat syscall:entry:read
is "programs at all calls, of entries" 0 "$links"
grep '_entry_' "$work/few" >"$work/same"
cmp -s "$work/entries" "$work/same" ||
	fail "other entries: $(diff "$work/entries" "$work/same" | head -n 5)"

# Calls that may not return to where they were called: each has its entry, the child its exit.
record others syscall:fork syscall:exit_group
is "no function" 0 "$(echo "$status" | grep -c '^program syscalls:.* function$')"
is "both return" 2 "$(grep -c '^syscall_exit_fork' "$work/others")"
is "both end" 2 "$(grep -c '^syscall_entry_exit_group' "$work/others")"

# Many calls
record many 'syscall:*at*' 'syscall:*re*'
is "no function of many" 0 "$(echo "$status" | grep -c '^program syscalls:.* function$')"
[ "$links" -gt 0 ] || fail "no program at all calls"
grep '_openat:\|_read:' "$work/many" >"$work/same"
cmp -s "$work/few" "$work/same" ||
	fail "other records: $(diff "$work/few" "$work/same" | head -n 5)"

# The kernel leaves out programs behind a function, for calls that have begun, when another program
# is attached to it or detached: each call has its exit all the same, also in a session that began
# during the call, as with tracefs.
# (Linux 7.0 may preempt a program, and misses then events, which are counted.)
missing() { kernel_since 7.0 && [ "$(key events_discarded "$S/$1$mark/status")" != 0 ]; }
few() {
	mkdir "$S/$1$mark" "$S/$1$mark/kernel/channels/channel0"
	put syscall:openat "$S/$1$mark/kernel/events"
	put tid "$S/$1$mark/kernel/contexts"
	put start "$S/$1$mark/control"
}
in_openat() { grep -q '^257 ' "/proc/$1/syscall"; }
number() { grep -c " syscall_exit_openat: .*tid = $caller }, { ret = [0-9]* }" "$S/$1$mark/text"; }
mkfifo "$work/fifo"
few h
cat "$work/fifo" &
caller=$!
within 20 in_openat $caller || fail "the open of a FIFO does not wait"
before=$(number h)
few i
few j
rmdir "$S/j$mark"
: >"$work/fifo"
wait $caller || fail cat
kernel_since 7.0 || is "losses" 0 "$(key events_discarded "$S/h$mark/status")"
missing h || is "the exit of a call that waited" $((before + 1)) "$(number h)"
missing i || is "… in a session that began later" 1 "$(number i)"
rmdir "$S/h$mark" "$S/i$mark"

# More and more of them: what has a program keeps it, and each call has one record
s=$S/g$mark
mkdir "$s" "$s/kernel/channels/channel0"
put bpf "$s/kernel/channels/channel0/backend"
put 'syscall:entry:openat' "$s/kernel/events"
put 'tid' "$s/kernel/contexts"
put start "$s/control"
status=$s/kernel/channels/channel0/status
printf '%s\n' syscall:entry:openat 'syscall:*at*' >"$s/kernel/events"
is "the first one" 1 "$(grep -c '^program syscalls:sys_enter_openat function$' "$status")"
[ "$(grep -c '^program syscalls:.* arguments$' "$status")" -gt 20 ] || fail "no others"
opens() { grep -c 'entry_openat: .*filename = "/none/at all"' "$s/text"; }
"$work/calls" "$top/Makefile" 30 >"$work/results"
missing g || is "one record each" 10 "$(opens)"
put 'syscall:entry:openat' "$s/kernel/events"
"$work/calls" "$top/Makefile" 30 >"$work/results"
missing g || is "one record each, later" 20 "$(opens)"
rmdir "$s"
echo "$checks checks"
