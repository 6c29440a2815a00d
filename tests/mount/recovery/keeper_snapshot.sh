#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The keeper ends after it has taken a snapshot's memory, and is replaced before the snapshot is
# visible: the new keeper gets that memory, too, so the snapshot outlives the daemon.
. "$(dirname "$0")/../../lib/mount.sh"
[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
can_mount
PAUSE=$work/pause
export PAUSE
LD_PRELOAD=$BUILD/tests/mount/recovery/libpause.so "$TRAILFS" "$MNT" -o keeper=0 >"$work/daemon.log" 2>&1 || {
	[ "$(id -u)" = 0 ] ||
		skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
	fail "cannot mount"
}
s=$S/s
mkdir "$s" || fail mkdir
put trail:log "$s/user/events"
put start "$s/control"
seq -f 'message %g' 100 >"$MNT/log"
is "events" 100 "$(wc -l <"$s/text")"
keeper=$(key keeper "$MNT/status")
: >"$PAUSE"
mkdir "$s/snapshots/x" &
making=$!
paused() { [ ! -e "$PAUSE" ]; }
within 20 paused || fail "the keeper did not get a snapshot"
is "snapshots that are visible" 0 "$(key snapshots "$s/status")"
kill -9 "$keeper"
replaced() { [ "$(key keepers_replaced "$MNT/status")" = 1 ]; }
within 20 replaced || fail "the keeper is not replaced"
: >"$PAUSE.end"
wait $making || fail "mkdir of the snapshot"
has "$(find "$s/snapshots/x" -name metadata)" metadata
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree
has "$(find "$s/snapshots/x" -name metadata)" metadata
echo "$checks checks"
