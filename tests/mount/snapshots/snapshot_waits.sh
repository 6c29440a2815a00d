#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Snapshots that wait for their time: the verb does not wait, and holds no other one; `stop` ends
# the waiting; when the daemon is killed the next one takes them, with the events that the interval
# had before, and copies them to the place that the verb named.
. "$(dirname "$0")/../../lib/mount.sh"
[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
mount_tree
taken() { [ -d "$s/snapshots/$1" ]; }
waits() { grep -q "^pending snapshot $1 in [0-9]*\.[0-9]s$" "$s/status"; }
# texts SNAPSHOT: its messages
texts() { babeltrace2 "$s/snapshots/$1" | sed -n 's/.*msg = "\(.*\)".*/\1/p'; }

# --- the other verbs while three wait for an hour; each has the moment of its write
s=$S/v
mkdir "$s" && put trail:log "$s/user/events" && put start "$s/control" || fail "session"
echo first >"$MNT/log"
for i in 1 2 3; do
	put "snapshot h$i last 1h after 1h" "$s/control"
	waits h$i || fail "it does not wait: $(cat "$s/status")"
done
put 'snapshot now' "$s/control"
is "a snapshot meanwhile" now "$(ls "$s/snapshots")"
put clear "$s/control"
echo second >"$MNT/log"
put stop "$s/control"
put start "$s/control"
echo third >"$MNT/log"
for i in 1 2 3; do
	within 60 taken h$i || fail "stop does not end it: $(cat "$s/status" "$s/error")"
	command -v babeltrace2 >/dev/null && is "up to the stop" second "$(texts h$i)"
done
is "the same end" 1 "$(stat -c %.9Y "$s"/snapshots/h? | sort -u | wc -l)"

# --- several lines of one write, of which the last is a stop
printf '%s\n' 'snapshot lines after 1h' stop >"$s/control" || fail "two lines"
within 60 taken lines || fail "not taken: $(cat "$s/status" "$s/error")"
# An inactive session waits as well: it may be started.
put 'snapshot idle after 1h' "$s/control"
waits idle || fail "it does not wait: $(cat "$s/status")"
rmdir "$s" || fail rmdir

# --- a daemon that is killed
s=$S/s
mkdir "$s" "$work/place" || fail mkdir
put trail:log "$s/user/events"
put start "$s/control"
seq -f 'message %g' 100 >"$MNT/log"
is "events" 100 "$(wc -l <"$s/text")"
put 'snapshot kept last 1h after 15s' "$s/control"
put "snapshot sent after 15s output $work/place" "$s/control"
waits kept && waits sent || fail "they do not wait: $(cat "$s/status")"
is "none is visible" "" "$(ls "$s/snapshots")"
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree
within 60 taken kept || fail "it is not taken: $(cat "$s/status" "$s/error")"
command -v babeltrace2 >/dev/null &&
	is "its events" 100 "$(babeltrace2 "$s/snapshots/kept" | wc -l)"
copied() { [ -n "$(ls "$work/place")" ] && grep -q '^snapshots_copied 1' "$s/status"; }
within 60 copied || fail "it is not sent: $(cat "$s/status" "$s/error")"
has "$(ls "$work/place")" '^sent-[0-9]*-[0-9]*-0$'
is "it is gone from memory" kept "$(ls "$s/snapshots")"
echo "$checks checks"
