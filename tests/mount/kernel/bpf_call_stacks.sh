#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Stacks of the kernel at system calls that BPF programs record: each call has one, or the kernel
# gives programs none, and then `status` says so, and the backend tracefs records them.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
programs_record || skip "BPF programs record nothing here"
calls=$BUILD/tests/lib/calls
[ -x "$calls" ] || skip "there is no $calls"

# stacks BACKEND: how many of 20 entries have a stack of the kernel
stacks() {
	s=$S/$1$mark
	mkdir "$s" "$s/kernel/channels/c" || fail mkdir
	put "$1" "$s/kernel/channels/c/backend"
	echo 'tid callstack-kernel' >"$s/kernel/channels/c/contexts" || fail "$(cat "$s/error")"
	echo syscall:entry:getppid >"$s/kernel/channels/c/events" || fail "$(cat "$s/error")"
	put start "$s/control"
	pid=$("$calls" 20)
	put stop "$s/control"
	grep "syscall_entry_getppid: .*{ tid = $pid, " "$s/text" >"$work/entries"
	is "entries by $1" 20 "$(wc -l <"$work/entries")"
	found=$(grep -c 'callstack_kernel = \[ \[0\] = 0xFFFFFFFF' "$work/entries")
}

stacks tracefs
is "stacks by tracefs" 20 "$found"
is "notes" 0 "$(grep -c '^callstack_kernel' "$s/kernel/channels/c/status")"
stacks bpf
note=$(grep '^callstack_kernel empty at system calls: ' "$s/kernel/channels/c/status")
case $note in
"") is "stacks by programs" 20 "$found" ;;
*) is "stacks by programs" 0 "$found" ;;
esac
echo "$checks checks; ${note:-programs get stacks}"
