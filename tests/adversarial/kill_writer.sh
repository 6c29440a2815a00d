#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 150
#
# kill -9 of writers at random moments, while others continue: at most the event in flight is lost,
# per kill; the buffers are usable for ever after, in both loss modes.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
seconds=${KILL_SECONDS:-8}
[ -z "${SOAK-}" ] || seconds=300

mount_tree

# Slowly, so that all events are held: each can be looked for.
make_session slow discard 8M 16
put start "$s/control"
nice -n 10 "$bin/herd" "$bin/writer" "$slots" 8 2 10000 "$seconds" kill >"$TMPDIR/herd" ||
	fail "the herd"
put stop "$s/control"
alive
killed=$(key killed "$TMPDIR/herd")
same_text "$s"
tally
discarded=$(key events_discarded "$s/status")
expect "kills" "$killed" -gt 20
expect "recorded, by status" "$(key events_recorded "$s/status")" = "$(key events "$TMPDIR/tally")"
nothing_lost "$s" $((2 * killed))
expect "missing at the end of a thread" "$(key worst "$TMPDIR/tally")" -le $((1 + discarded))
rmdir "$s" || fail "rmdir"
rm -f "$slots"

# As fast as can be, in overwrite mode: the sums.
make_session fast overwrite 64k 4
put start "$s/control"
nice -n 10 "$bin/herd" "$bin/writer" "$slots" 6 2 0 "$seconds" kill >"$TMPDIR/herd" ||
	fail "the herd"
put stop "$s/control"
alive
killed=$(key killed "$TMPDIR/herd")
same_text "$s"
tally
recorded=$(key events_recorded "$s/status")
discarded=$(key events_discarded "$s/status")
emitted=$(key emitted "$TMPDIR/tally")
echo "killed $killed, emitted $emitted, recorded $recorded, discarded $discarded"
expect "kills" "$killed" -gt 20
expect "recorded" "$recorded" -le "$emitted"
expect "recorded and discarded" $((recorded + discarded)) -ge $((emitted - 2 * killed))
expect "read and overwritten" $(($(key events "$TMPDIR/tally") + $(key events_overwritten \
	"$s/status"))) = "$recorded"

# And the buffers still work.
rm -f "$slots"
put clear "$s/control"
put start "$s/control"
"$bin/writer" "$slots" 0 4 20000 >/dev/null || fail "a writer"
put stop "$s/control"
same_text "$s"
tally
recorded=$(key events_recorded "$s/status")
emitted=$(key emitted "$TMPDIR/tally")
expect "recorded after all the kills" "$recorded" -le "$emitted"
expect "recorded and discarded after all the kills" \
	$((recorded + $(key events_discarded "$s/status"))) -ge "$emitted"
rmdir "$s" || fail "rmdir"
umount_tree
