#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Filters of system calls that can never be true are refused, with a sentence: a text whose address
# is all that a channel with the backend tracefs records; an argument that is the address of a
# structure; a system call that the kernel does not have, which will not come later.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
s=$S/s
mkdir "$s" "$s/kernel/channels/channel0"

# refuses ERROR SENTENCE RULE: the rule is refused, and `error` shows where
refuses() {
	is "$3" "$1" "$(tool open "$s/kernel/events" wt write "$3\n" close | grep -o "$1")"
	has "$(sed 3q "$s/error")" "$2"
	has "$(sed -n 3p "$s/error")" '^ *^$'
}

syscall=$(grep -c '^syscalls:sys_enter_connect$' /sys/kernel/tracing/available_events)
[ "$syscall" = 1 ] || skip "the kernel has no events of system calls"

# --- an address of a structure (trail.ko has parts of the structure in its place)
if ! grep -q '^kernel module' "$MNT/version"; then
	address="'uservaddr' is an address (struct sockaddr \*) and no text"
	refuses EINVAL "$address" 'syscall:connect if uservaddr == "x"'
	refuses EINVAL "$address" 'syscall:entry:connect if fd > 2 && "x" == uservaddr'
	put 'syscall:connect if uservaddr == 0' "$s/kernel/events"
	put 'syscall:connect if ret == 0 || fd == 3' "$s/kernel/events"
fi

# --- no such system call
refuses ENOENT "no such system call 'opennat'; did you mean 'openat'?" '?syscall:opennat'
refuses ENOENT "no such system call 'nosuch'" '?syscall:entry:nosuch'
put '?nosuch:event' "$s/kernel/events"
put '?syscall:openat' "$s/kernel/events"
rmdir "$s"

# --- text of a channel whose records come from tracefs
grep -q '^kernel.*strings of system calls by BPF' "$MNT/version" ||
	{ echo "$checks checks"; exit 0; }
# What the instance says of the entry's format, or an event probe
reads=$(grep -c '__data_loc' /sys/kernel/tracing/events/syscalls/sys_enter_openat/format)
if echo 'e:trailfs_try/try'$$' syscalls.sys_enter_openat f=+0($filename):ustring' \
	2>/dev/null >>/sys/kernel/tracing/dynamic_events; then
	echo '-:trailfs_try/try'$$ >>/sys/kernel/tracing/dynamic_events
	reads=1
fi
rule='syscall:openat if filename == "/x*"'
for first in backend rule; do
	s=$S/$first
	mkdir "$s" "$s/kernel/channels/channel0"
	[ $first = backend ] || put "$rule" "$s/kernel/events"
	put tracefs "$s/kernel/channels/channel0/backend"
	if [ "$reads" != 0 ]; then
		put "$rule" "$s/kernel/events"
		put start "$s/control"
	elif [ $first = backend ]; then
		refuses EOPNOTSUPP "\`backend\` is tracefs, which records the address of 'filename'" "$rule"
		put 'syscall:openat if flags == 0' "$s/kernel/events"
		put start "$s/control"
		# While it records
		refuses EOPNOTSUPP "\`backend\` is tracefs, which records the address of 'filename'" "$rule"
	else
		is "start" EOPNOTSUPP \
			"$(tool open "$s/control" wt write 'start\n' close | grep -o EOPNOTSUPP)"
		has "$(cat "$s/error")" "records the address of 'filename'"
		has "$(cat "$s/error")" '^ *^$'
		put bpf "$s/kernel/channels/channel0/backend"
		put start "$s/control"
	fi
	rmdir "$s"
done
echo "$checks checks"
