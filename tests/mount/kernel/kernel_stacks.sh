#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The contexts callstack-kernel and callstack-user by tracefs: each event has the stacks of its own
# moment, which a program knows of its calls; also those of a channel that a killed daemon left.
# Other channels have none, even if another program sets the option of their instance.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_module && skip "instances of tracefs are not used: trail.ko is loaded"
grep -q callstack-kernel "$MNT/available/kernel/contexts" ||
	skip "this kernel's instances have no option stacktrace"
cat >"$work/calls.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * calls N ID: N times getpgid(ID) in inner(), which outer() calls; prints its pid and where they
 * return.
 */
static void *at[3];
static long id;

#define FRAME __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
FRAME static void inner(void)
{
	long n = SYS_getpgid;

	__asm__ volatile("lea 1f(%%rip), %%rbx\n\tsyscall\n1:\tmov %%rbx, %1"
			 : "+a"(n), "=m"(at[0]) : "D"(id) : "rbx", "rcx", "r11", "memory");
	at[1] = __builtin_return_address(0);
}

FRAME static void outer(void)
{
	inner();
	at[2] = __builtin_return_address(0);
}

int main(int argc, char **argv)
{
	id = argc > 2 ? atol(argv[2]) : 0;
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--)
		outer();
	printf("%d %p %p %p\n", kernel_pid(), at[0], at[1], at[2]);
	return 0;
}
C
gcc -O1 $with_kernel_pid -o "$work/calls" "$work/calls.c" 2>/dev/null || skip "no gcc"

# Calls of other programs take no space in the buffers: the kernel's filter rejects them.
id=$((0x40000000 + $$))
s=$S/s$mark
u=$S/u$mark
mkdir "$s" "$u"
for d in "$s" "$u"; do
	mkdir "$d/kernel/channels/channel0"
	put tracefs "$d/kernel/channels/channel0/backend"
	echo "syscall:entry:getpgid if pid == $id" >"$d/kernel/events"
	echo tid >"$d/kernel/contexts"
done
echo 'callstack-user callstack-kernel' >>"$s/kernel/contexts" || fail "$(cat "$s/error")"
for d in "$s" "$u"; do
	put start "$d/control"
done
i=$(ls -d $T/instances/trailfs-s$mark-*)
is "options" "1 1" "$(cat "$i/options/stacktrace" "$i/options/userstacktrace" | xargs)"
echo 1 >"$(ls -d $T/instances/trailfs-u$mark-*)/options/stacktrace"

# look NUMBER RESULT…: all entries of the calls have the stacks
look() {
	n=$1 pid=$2 user="\[0\] = $3, \[1\] = $4, \[2\] = $5"
	grep "syscall_entry_getpgid: .*{ tid = $pid, " "$s/text" >"$work/entries"
	is "entries" "$n" "$(wc -l <"$work/entries")"
	is "stacks of the program" "$n" "$(grep -ci "callstack_user = \[ $user" "$work/entries")"
	is "stacks of the kernel" "$n" \
		"$(grep -c 'callstack_kernel = \[ \[0\] = 0xFFFFFFFF' "$work/entries")"
}
set -- $("$work/calls" 500 $id)
look 500 "$@"
! programs_record || has "$(cat "$s/kernel/channels/channel0/status")" '^backend tracefs$'
put stop "$s/control"
same_text "$s"
put start "$s/control"
if grep -q ' T do_syscall_64$' /proc/kallsyms; then
	is "with names" 500 "$(grep "entry_getpgid: .*{ tid = $1, .*" "$s/text.symbols" | grep -c '"do_syscall_64+')"
fi
is "no stacks in the other" 500 "$(grep -c "entry_getpgid: .*{ tid = $1 }, { pid = $id }" "$u/text")"
is "nothing lost" "0 0" "$(key events_discarded "$s/status") $(key events_discarded "$u/status")"

# --- the next daemon
set -- $("$work/calls" 300 $id)
kill -9 $(daemon_pids)
within 20 daemon_ended
umount -l "$MNT"
mount_kernel
look 300 "$@"
set -- $("$work/calls" 200 $id)
look 200 "$@"
is "nothing lost later" 0 "$(key events_discarded "$s/status")"
echo "$checks checks"
