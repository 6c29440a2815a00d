#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 950
#
# Extra data of rules (`with EXPR`) over the kernel's structures is what the kernel's own compiler
# reads there: witness/members.h has the expressions, witness.ko evaluates them as C in probes of its
# own at the same calls, so for the same objects at the same moment. By tracefs, then by trail.ko.
# For SOAK=1 only, as it takes a guest for minutes.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
beside=witness
. "$(dirname "$0")/modlib.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ -e /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
busybox insmod "${modules%/kmod}/witness/witness.ko" ||
	fail "witness.ko cannot be loaded: $(dmesg | tail -n 5)"

# clause LIST: the extra data of the rule for the calls of that list
clause() {
	awk -v list="#ifdef WITNESS_$1" '
	/^#/ { on = $0 == list }
	on && /^[A-Z]/ {
		kind = $0
		sub(/\(.*/, "", kind)
		sub(/^[A-Z_]*\(/, "")
		sub(/\)$/, "")
		n = split($0, part, ", ")
		printf "%s%s%s as %s", some++ ? ", " : "", part[n], kind ~ /TEXT$/ ? ":string" : "", part[1]
	}' "$top/tests/vm/witness/members.h"
}

# The calls that witness.ko looks for, each once
do_calls() {
	echo >/proc/witness
	python3 - "$work/a dir/witness file" <<'P'
import os
import socket
import sys

with open("/proc/self/oom_score_adj", "w") as f:
    f.write("-17")
os.chdir(os.path.dirname(sys.argv[1]))
os.umask(0o27)
fd = os.open(sys.argv[1], os.O_RDONLY)
os.read(fd, 100)
with open("/proc/self/comm", "w") as f:
    f.write("witnessed")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0x12345678)
s.connect(("127.0.0.1", 9))
s.send(b"x" * 100)
P
}

# compare FUNCTION: the event of the call that witness.ko saw has its values
compare() {
	sed -n "s/^$1 //p" "$work/witness" >"$work/line"
	[ -s "$work/line" ] || fail "$1: witness.ko saw no call"
	first=$(sed 's/, .*//' "$work/line")
	grep " kprobe:$1: " "$s/text" | grep -F ", $first, " |
		sed "s/.*, $first, /$first, /; s/ }\$//" >"$work/event"
	is "$1: events" 1 "$(wc -l <"$work/event")"
	for f in line event; do
		sed 's/, /\n/g' "$work/$f" >"$work/$f.items"
	done
	is "$1" "" "$(diff "$work/line.items" "$work/event.items")"
	compared=$((compared + $(wc -l <"$work/line.items") - 1))
}

# compare_all SESSION
compare_all() {
	s=$S/$1
	compared=0
	mkdir "$s"
	{
		echo "kprobe:vfs_read with $(clause FILE)"
		echo "kprobe:__set_task_comm with $(clause TASK)"
		echo "kprobe:__dev_queue_xmit with $(clause PACKET)"
		echo "kprobe:udp_sendmsg with $(clause SOCKET)"
		echo "kprobe:wake_up_process with $(clause THREAD)"
	} >"$work/rules"
	cat "$work/rules" >"$s/kernel/events" || fail "$1: $(cat "$s/error")"
	is "reads as written" "" "$(diff "$work/rules" "$s/kernel/events")"
	echo start >"$s/control"
	do_calls || fail "python3"
	echo stop >"$s/control"
	cat /proc/witness >"$work/witness"
	same_text "$s"
	for function in vfs_read __set_task_comm __dev_queue_xmit udp_sendmsg wake_up_process; do
		compare $function
	done
	# Behind pointers that are NULL: of a module, a terminal, a thread's memory
	for name in module_state terminal base; do
		has "$(cat "$work/witness")" "unavailable = \"[a-z_ ]*$name"
	done
	rmdir "$s"
	echo "$1: $compared expressions"
	is "expressions" "$(grep -c '^[A-Z]' "$top/tests/vm/witness/members.h")" "$compared"
}

mkdir "$work/a dir"
printf 'twenty-one bytes long' >"$work/a dir/witness file"
chmod 640 "$work/a dir/witness file"
chown 12:34 "$work/a dir/witness file"
mount_tree
has "$(cat "$MNT/version")" '^kernel tracefs'
compare_all tracefs
fusermount3 -u "$MNT" 2>/dev/null || umount "$MNT"
within 20 daemon_ended
load
mount_tree
has "$(cat "$MNT/version")" '^kernel module '
compare_all module
clean
echo "$checks checks"
