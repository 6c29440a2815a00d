#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# A machine that loses its power: what was said to be on the disk, after a stop, after a rotation,
# and after a rotation by a daemon that was killed before it had synced anything, is there and
# reads; the disk is ext4, and what a guest had not written to it is gone.
if [ -z "${VM-}" ]; then
	case ${SAN-} in
	'' | 0) ;;
	*) echo "a sanitizer must be the first library" && exit 77 ;;
	esac
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
	e2fsck -f -y "$VM_DISK" >"$dir/fsck" 2>&1 || [ $? = 1 ] ||
		{ cat "$dir/fsck"; echo "FAILED: the disk is not sound"; exit 1; }
	debugfs -R "rdump / $dir/found" "$VM_DISK" >"$dir/debugfs" 2>&1
	for what in stopped rotated killed; do
		trace=$dir/found/$what
		[ $what = stopped ] || trace=$trace/archives
		TZ=UTC babeltrace2 "$trace" >"$dir/text" 2>"$dir/err" ||
			{ find "$dir/found"; cat "$dir/err"; echo \
			"FAILED: $what does not read"; exit 1; }
		cmp "$dir/text" "$OUT/$what" ||
			{ echo \
			"FAILED: $what is not what was recorded: $(wc -l \
			<"$dir/text") events"; exit 1; }
		echo "$what: $(wc -l <"$dir/text") events"
	done
	exit 0
fi

. "$(dirname "$0")/lib.sh"
synced() { [ "$(key syncing_files "$S/$1/status")" = 0 ]; }
ticker=$BUILD/tests/lib/ticker
disk=$work/disk
mkdir "$disk"
mount -t ext4 /dev/vda "$disk" || skip "the guest has no disk"
# Nothing gets there by itself
echo 360000 | tee /proc/sys/vm/dirty_expire_centisecs >/proc/sys/vm/dirty_writeback_centisecs

record() {
	mkdir "$S/$1" "$S/$1/user/channels/channel0" || fail "mkdir $1"
	put 256k "$S/$1/user/channels/channel0/subbuf_size"
	put "$disk/$1" "$S/$1/output"
	put 'tick:*' "$S/$1/user/events"
	put start "$S/$1/control"
}

on_disk() {
	within 20 synced "$1" || fail "$1: not on the disk: $(cat "$S/$1/status")"
	grep '^output_error\|^sync_error' "$S/$1/status" && fail "$1: the output fails"
}

rotate() {
	cat "$S/$1/text" >"$OUT/$1"
	put rotate "$S/$1/control"
}

LD_PRELOAD=$BUILD/tests/vm/libnosync.so
export LD_PRELOAD
mount_tree -o tz=UTC
unset LD_PRELOAD
record killed
"$ticker" 5000 0 || fail ticker
rotate killed
put stop "$S/killed/control"
is "archives" 1 "$(ls "$disk/killed/archives" | wc -l)"
synced killed && fail "synced without fsync"
kill -9 $(daemon_pids)
within 10 daemon_ended
mount_tree -o tz=UTC
on_disk killed

record stopped
record rotated
"$ticker" 5000 0 || fail ticker
put stop "$S/stopped/control"
rotate rotated
on_disk stopped
on_disk rotated
cat "$S/stopped/text" >"$OUT/stopped"
for s in killed stopped rotated; do
	[ "$(wc -l <"$OUT/$s")" = 5000 ] || fail "$s: not all is recorded: $(cat "$S/$s/status")"
done
"$ticker" 5000 0 || fail ticker
: >"$OUT/ready"
# The end of it, without another word to any disk
echo b >/proc/sysrq-trigger
sleep 10
fail "the machine lives on"
