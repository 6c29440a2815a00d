#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# A machine that is reset while programs record, with `-o rings=` on persistent memory: trail-recover
# makes a trace of all that they had recorded by then, with the state directory that was on a disk.
if [ -z "${VM-}" ]; then
	PATH=$PATH:/usr/sbin:/sbin
	here=$(cd "$(dirname "$0")" && pwd) || exit 2
	[ -n "${VM_KERNEL-}${SOAK-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
	for tool in mkfs.ext4 e2fsck debugfs babeltrace2; do
		command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
	done
	BUILD=${BUILD:-$here/../../build}
	dir=$(mktemp -d "${TMPDIR:-/tmp}/trailfs-rings.XXXXXX") || exit 2
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 1' INT TERM HUP
	OUT=$dir/out VM_PMEM=$dir/pmem
	export OUT VM_PMEM
	mkdir "$OUT" "$dir/found"
	truncate -s 128M "$VM_PMEM"
	mkfs.ext4 -q -F -b 4096 "$VM_PMEM" || exit 1
	"$here/boot" "${VM_KERNEL:-6.12}" "$0" >"$dir/log" 2>&1
	status=$?
	cat "$dir/log"
	[ $status != 77 ] || exit 77
	[ -e "$OUT/ready" ] || { echo "FAILED: it did not come as far"; exit 1; }
	# (1: mended, from the journal)
	e2fsck -f -y "$VM_PMEM" >"$dir/fsck" 2>&1 || [ $? = 1 ] ||
		{ cat "$dir/fsck"; echo "FAILED: the file system is not sound"; exit 1; }
	debugfs -R "rdump / $dir/found" "$VM_PMEM" >"$dir/debugfs" 2>&1
	"$BUILD/tools/trail-recover" -o "$dir/trace" "$dir/found/state" "$dir/found/rings" ||
		{ echo "FAILED: trail-recover"; exit 1; }
	TZ=UTC babeltrace2 "$dir/trace/s" >"$dir/text" || { echo "FAILED: babeltrace2"; exit 1; }
	# The program had written its last number before the reset.
	last=$(cat "$OUT/last")
	n=$(wc -l <"$dir/text")
	echo "$n events; the program had recorded $last"
	[ "$n" -ge "$last" ] || { echo "FAILED: events are missing"; exit 1; }
	awk -F 'n = ' '{ sub(/ .*/, "", $2); n = $2 + 0; if (n && n != next_n) { print; exit 1 } next_n = n + 1 }' "$dir/text" ||
		{ echo "FAILED: out of order"; exit 1; }
	exit 0
fi

. "$(dirname "$0")/lib.sh"
[ -b /dev/pmem0 ] || skip "$VM: this kernel has no persistent memory: $(dmesg | grep -i 'nfit\|pmem\|nvdimm' | tail -n 3)"
pmem=$work/pmem
mkdir "$pmem"
mount -t ext4 -o dax /dev/pmem0 "$pmem" || skip "$VM: no dax: $(dmesg | tail -n 2)"
mkdir -m 755 "$pmem/rings" "$pmem/state"
TRAIL_RUNTIME_DIR=$pmem/state
export TRAIL_RUNTIME_DIR
mount_tree -o tz=UTC,rings="$pmem/rings"
mkdir "$S/s" "$S/s/user/channels/channel0" || fail mkdir
put 256k "$S/s/user/channels/channel0/subbuf_size"
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
"$BUILD/tests/lib/ticker" 3000 0 || fail ticker
is "in files" 1 "$(ls "$pmem/rings" | wc -l)"
# Names and types of events are in files of the state directory.
sync -f "$pmem/state"
# This one is not synced.
"$BUILD/tests/lib/ticker" 1000 0 || fail ticker
is "events" 4000 "$(wc -l <"$S/s/text")"
echo 4000 >"$OUT/last"
: >"$OUT/ready"
echo b >/proc/sysrq-trigger
sleep 10
fail "the machine lives on"
