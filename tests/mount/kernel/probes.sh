#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rules on probes that are refused, on whatever kernel runs this: no probe is made here
# (tests/vm/probes.sh makes them).
. "$(dirname "$0")/../../lib/mount.sh"

mount_tree
grep -q '^kernel none' "$MNT/version" &&
	skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"
T=/sys/kernel/tracing
s=$S/probes
mkdir "$s"
E=$s/kernel/events

# refused ERRNO WORDS RULE
refused() {
	is "'$3'" "$1" "$(tool open "$E" w write "$3\n")"
	has "$(cat "$s/error")" "$2"
	is "rules after '$3'" "$(printf '%s' "${rules-}")" "$(cat "$E" 2>/dev/null)"
}

refused EINVAL 'a symbol is missing' 'kprobe:'
refused EINVAL 'letters, digits' 'kprobe:vfs_*'
refused EINVAL 'no offset' 'kretprobe:vfs_read+8'
refused EINVAL "begins with '/'" 'uprobe:bin/sh:main'
refused EINVAL "no '..'" 'uprobe:/usr/../bin/sh:main'
refused EINVAL 'PATH:SYMBOL' 'uretprobe:/bin/sh'
refused EINVAL 'PATH:PROVIDER:NAME' 'usdt:/bin/sh:x'
refused EINVAL "it has no 'except'" 'kprobe:vfs_read except sched_switch'
refused EINVAL 'cannot be excepted' '* except kprobe:vfs_read'
refused EINVAL 'no log levels' 'kprobe:vfs_read loglevel info'
refused EINVAL "a function's name" 'function:vfs_[rw]*'
refused ENOENT 'No such file' 'uprobe:/no/such/file:main'
refused ENOENT 'No such file' 'usdt:/no/such/file:a:b'
refused EINVAL 'not a regular file' 'uprobe:/dev/null:main'
refused EINVAL 'not a regular file' "uprobe:$work:main"
echo text >"$work/text file"
refused EINVAL 'ELF' "\"uprobe:$work/text file:main\""
refused ENOENT 'no usdt probes' "usdt:$TOOL:prov:name"
refused ENOENT 'no function' "uprobe:$TOOL:no_such_function"
refused ENOENT 'no rule' '!kprobe:vfs_read'
# The daemon's own tree, while it is working on a rule: it does not wait for itself.
refused EINVAL 'ELF' "uprobe:$MNT/README:main"
if [ -e $T/kprobe_events ]; then
	refused ENOENT 'no function' 'kprobe:no_such_function_at_all'
	# (Debian's kernel for riscv64 permits no probe at the beginning of a function.)
	[ "$(uname -m)" != riscv64 ] ||
		refused EINVAL "^events:1: the kernel allows no probe at 'vfs_read': Invalid" 'kprobe:vfs_read'
else
	refused EOPNOTSUPP 'without kprobes' 'kprobe:vfs_read'
	has "$(cat "$MNT/version")" '^kernel tracefs.*(.*no kprobes'
fi
if grep -q '^kernel.*no function tracing' "$MNT/version"; then
	refused EOPNOTSUPP 'functions' 'function:vfs_read'
elif by_module; then
	refused EOPNOTSUPP 'trail.ko does not trace' 'function:vfs_read'
else
	refused ENOENT 'no function' 'function:no_such_*_at_all'
fi
echo sched_switch >"$E"
rules=sched_switch
refused ENOENT 'No such file' 'sched_waking\nuprobe:/no/such/file:main'

# --- paths are the daemon's: who lives elsewhere cannot name any
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	is "another mount namespace" EACCES \
		"$(unshare -m "$TOOL" open "$E" w write 'uprobe:/no/such/file:main\n')"
	has "$(cat "$s/error")" 'namespace'
	is "with escapes" EACCES \
		"$(unshare -m "$TOOL" open "$E" w write '"\\x75probe:/no/such/file:main"\n')"
	is "rules without paths" ok \
		"$(unshare -m "$TOOL" open "$E" w write 'sched_waking\n' | sed 's/^13$/ok/')"
fi
is "nothing was made" 0 "$(cat $T/dynamic_events 2>/dev/null | grep -c "$(ls $T/instances |
	sed -n 's/^trailfs-probes-.*-\(........\)$/trailfs_\1/p' | grep . || echo none)")"
rmdir "$s"

echo "$checks checks"
