#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A snapshot that waits for its time when the daemon is killed is taken by the next one, with the
# events that its interval had before; its copy goes to the place that the verb named.
. "$(dirname "$0")/../../lib/mount.sh"
[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
mount_tree
s=$S/s
mkdir "$s" "$work/place" || fail mkdir
put trail:log "$s/user/events"
put start "$s/control"
seq -f 'message %g' 100 >"$MNT/log"
is "events" 100 "$(wc -l <"$s/text")"
# (The write waits for it, and ends with the daemon.)
echo 'snapshot kept last 1h after 15s' >"$s/control" 2>/dev/null &
echo "snapshot sent after 15s output $work/place" >"$s/control" 2>/dev/null &
pending() { [ "$(grep -c '^pending snapshot \(kept\|sent\)' "$s/status")" = 2 ]; }
within 20 pending || fail "they do not wait: $(cat "$s/status")"
is "none is visible" "" "$(ls "$s/snapshots")"
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
wait
mount_tree
taken() { [ -d "$s/snapshots/kept" ]; }
within 60 taken || fail "it is not taken: $(cat "$s/status" "$s/error")"
command -v babeltrace2 >/dev/null &&
	is "its events" 100 "$(babeltrace2 "$s/snapshots/kept" | wc -l)"
copied() { [ -n "$(ls "$work/place")" ] && grep -q '^snapshots_copied 1' "$s/status"; }
within 60 copied || fail "it is not sent: $(cat "$s/status" "$s/error")"
has "$(ls "$work/place")" '^sent-[0-9]*-[0-9]*-0$'
is "it is gone from memory" kept "$(ls "$s/snapshots")"
echo "$checks checks"
