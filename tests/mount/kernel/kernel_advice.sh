#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rules and contexts as people write them at first: a filter on text that the kernel's records do
# not have, names of system calls from tracefs and LTTng, commas between contexts. What is refused
# says what works, and that does.
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel
by_programs
s=$S/a$mark
mkdir "$s"
E=$s/kernel/events

# refused ERRNO WORD RULE
refused() {
	is "'$3'" "$1" "$(tool open "$E" w write "$3\n")"
	has "$(cat "$s/error")" "$2"
}

# --- names of system calls
refused ENOENT "did you mean 'syscall:entry:openat'" sys_enter_openat
refused ENOENT "did you mean 'syscall:exit:openat'" sys_exit_openat
refused ENOENT "did you mean 'syscall:entry:openat'" syscalls:sys_enter_opennat
refused ENOENT "did you mean 'syscall:exit:read'" syscall_exit_read
refused ENOENT "did you mean 'syscall:openat'" sys_openat

# --- commas
echo 'pid,tid , procname' >"$s/kernel/contexts" || fail "commas: $(cat "$s/error")"
is "contexts" "pid tid procname " "$(tr '\n' ' ' <"$s/kernel/contexts")"
is "no word between" EINVAL "$(tool open "$s/kernel/contexts" w write 'cpu_id,,pid\n')"
echo 'vpid,vtid' >"$s/user/contexts" || fail "commas: $(cat "$s/error")"
is "contexts of programs" "vpid vtid " "$(tr '\n' ' ' <"$s/user/contexts")"
echo "$$,1" >"$s/user/track/vpid" || fail "commas: $(cat "$s/error")"
is "processes" "1 $$ " "$(tr '\n' ' ' <"$s/user/track/vpid")"

# --- text
if grep -q '^kernel.*no strings of system calls' "$MNT/version"; then
	refused EOPNOTSUPP 'not its text' 'syscall:entry:openat if filename == "/no*"'
	advice=$(grep -o 'uprobe:.*' "$s/error" | head -n 1)
	grep -q '^kernel.*no kprobes' "$MNT/version" &&
		for rule in 'sched_switch with filename:string' 'syscall:openat with filename:string'; do
			is "'$rule'" yes "$(tool open "$E" w write "$rule\n" | grep -q '^E' && echo yes)"
			is "it names no kprobes" 0 "$(grep -c 'write kprobe' "$s/error")"
		done
	refused EOPNOTSUPP 'not its text' 'syscall:* if filename == "/no*" || ret == 7'
	# Fields of numbers are there.
	put 'syscall:entry:openat if flags == 77' "$E"
	[ -n "$advice" ] || { echo "$checks checks, no uprobes"; exit 0; }
	put "$advice if filename == \"/no-$mark*\"" "$E"
else
	put "syscall:entry:openat if filename == \"/no-$mark*\"" "$E"
fi
echo start >"$s/control"
cat "/no-$mark" "/other-$mark" 2>/dev/null
echo stop >"$s/control"
has "$(cat "$s/text")" "filename = \"/no-$mark\""
is "only these" "" "$(grep -v "filename = \"/no-$mark\"" "$s/text")"
rmdir "$s"
echo "$checks checks"
