#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# A machine that loses its power: what was said to be on the disk, after a stop and after a rotation, is there and reads; the disk is ext4, and
# what a guest had not written to it is gone.
if [ -z "${VM-}" ]; then
	PATH=$PATH:/usr/sbin:/sbin
	here=$(cd "$(dirname "$0")" && pwd) || exit 2
	for tool in mkfs.ext4 e2fsck debugfs babeltrace2; do
		command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
	done
	dir=$(mktemp -d "${TMPDIR:-/tmp}/trailfs-crash.XXXXXX") || exit 2
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 1' INT TERM HUP
	OUT=$dir/out VM_DISK=$dir/disk
	export OUT VM_DISK
	mkdir "$OUT" "$dir/found"
	truncate -s 64M "$VM_DISK"
	mkfs.ext4 -q -F "$VM_DISK" || exit 1
	"$here/boot" "${VM_KERNEL:-6.12}" "$0" >"$dir/log" 2>&1
	status=$?
	cat "$dir/log"
	[ $status != 77 ] || exit 77
	[ -e "$OUT/ready" ] || { echo "FAILED: it did not come as far"; exit 1; }
	# (1: mended, from the journal)
	e2fsck -f -y "$VM_DISK" >"$dir/fsck" 2>&1 || [ $? = 1 ] || { cat "$dir/fsck"; echo "FAILED: the disk is not sound"; exit 1; }
	debugfs -R "rdump / $dir/found" "$VM_DISK" >"$dir/debugfs" 2>&1
	for what in stopped rotated; do
		trace=$dir/found/$what
		[ $what = stopped ] || trace=$trace/archives
		TZ=UTC babeltrace2 "$trace" >"$dir/text" 2>"$dir/err" || { find "$dir/found"; cat "$dir/err"; echo "FAILED: $what does not read"; exit 1; }
		cmp "$dir/text" "$OUT/$what" || { echo "FAILED: $what is not what was recorded: $(wc -l <"$dir/text") events"; exit 1; }
		echo "$what: $(wc -l <"$dir/text") events"
	done
	exit 0
fi

. "$(dirname "$0")/lib.sh"
synced() { [ "$(key syncing_files "$S/$1/status")" = 0 ]; }
ticker=$BUILD/tests/mount/ticker
disk=$work/disk
mkdir "$disk"
mount -t ext4 /dev/vda "$disk" || skip "the guest has no disk"
mount_tree -o tz=UTC
for s in stopped rotated; do
	mkdir "$S/$s" "$S/$s/user/channels/channel0" || fail "mkdir $s"
	put 256k "$S/$s/user/channels/channel0/subbuf_size"
	put "$disk/$s" "$S/$s/output"
	put 'tick:*' "$S/$s/user/events"
	put start "$S/$s/control"
done
"$ticker" 5000 0 || fail ticker
put stop "$S/stopped/control"
cat "$S/rotated/text" >"$OUT/rotated"
put rotate "$S/rotated/control"
for s in stopped rotated; do
	within 20 synced $s || fail "$s: not on the disk: $(cat "$S/$s/status")"
	grep '^output_error\|^sync_error' "$S/$s/status" && fail "$s: the output fails"
done
cat "$S/stopped/text" >"$OUT/stopped"
[ "$(wc -l <"$OUT/stopped")" = 5000 ] && [ "$(wc -l <"$OUT/rotated")" = 5000 ] ||
	fail "not all is recorded: $(cat "$S"/*/status)"
"$ticker" 5000 0 || fail ticker
: >"$OUT/ready"
# The end of it, without another word to any disk
echo b >/proc/sysrq-trigger
sleep 10
fail "the machine lives on"
