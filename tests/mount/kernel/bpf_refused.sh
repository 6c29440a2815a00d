#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A kernel that refuses the programs of system calls which get arguments, only those at functions,
# or the one that reads text at the end of a call: the channel records by other programs, and its
# status says so, and why. So does the status of the next daemon after a kill, which takes over the
# programs that there are.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/refuse.sh"

calls=$BUILD/tests/lib/calls
[ -x "$calls" ] || skip "there is no $calls"

refusals() {
	grep '^programs_refused \|^arguments_refused \|^texts_at_entry_only \|^program ' \
		"$s/kernel/channels/channel0/status"
}
# Which event is the last one depends on their order, which the next daemon does not know.
known() {
	sed 's/^\([a-z]*_[a-z_]* [0-9]*\) syscalls:[a-z_]*/\1/' | sort
}

# record WHICH: the daemon has a kernel that refuses these programs; $status is the channel's
record() {
	mount_refusing "$1"
	[ -e /sys/kernel/btf/vmlinux ] || skip "this kernel does not describe its types (BTF)"
	s=$S/a$mark
	command mkdir "$s" || fail mkdir
	put tid "$s/kernel/contexts"
	printf '%s\n' syscall:entry:openat syscall:entry:execve syscall:entry:getppid >"$s/kernel/events"
	: >"$REFUSE_WHILE" >"$work/marker"
	put start "$s/control"
	rm "$REFUSE_WHILE"
	status=$(refusals)
	/bin/cat "$work/marker" >/dev/null
	kill -9 $(daemon_pids)
	within 20 daemon_ended || fail "the daemon lives"
	end_dead_mount "$MNT"
	LD_PRELOAD=$library mount_tree
	is "$1: the next daemon" "$(echo "$status" | known)" "$(refusals | known)"
	/bin/cat "$work/marker" >/dev/null
	put stop "$s/control"
	[ "$1" = records ] || is "$1: texts are recorded" 2 \
		"$(grep -c "entry_openat: .*filename = \"$work/marker\"" "$s/text")"
	# (Linux 7.0 may preempt a program, and misses then events, which are counted.)
	kernel_since 7.0 || is "$1: nothing is lost" 0 "$(key events_discarded "$s/status")"
	rmdir "$s"
	umount "$MNT" || fail umount
	within 20 daemon_ended || fail "the daemon does not end"
}

why='the kernel refuses the BPF program: Invalid argument'
record all
has "$status" "^arguments_refused 2 syscalls:sys_enter_[a-z]*: $why\$"
has "$status" "^texts_at_entry_only 2 syscalls:sys_enter_[a-z]*: $why\$"
is "what records instead" 2 "$(echo "$status" | grep -c '^program syscalls:.* record$')"

record first
is "programs get arguments" "" "$(echo "$status" | grep '^arguments_refused')"
has "$status" "^texts_at_entry_only 1 syscalls:sys_enter_[a-z]*: $why\$"
is "what records" 2 "$(echo "$status" | grep -c '^program syscalls:.* arguments$')"

record functions
is "of functions: nothing is said" "" "$(echo "$status" | grep '_refused\|_only')"
is "of functions: what records" 2 "$(echo "$status" | grep -c '^program syscalls:.* arguments$')"

record records
has "$status" "^programs_refused 2 syscalls:sys_enter_[a-z]*: $why\$"
is "no program records" "" "$(echo "$status" | grep '^program ')"

record none
is "nothing is refused" "" "$(echo "$status" | grep '_refused\|_only')"
echo "$checks checks"
