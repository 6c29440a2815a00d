#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 150
#
# kill -9 of the daemon while it writes to an output under load, at any moment, again and again
# (KILL_ROUNDS; in one of three rounds while it rotates): what is in the files then is whole,
# nothing is there twice, and all that is missing was counted.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
# (Writers pause so long: to read what they have recorded takes most of the time.)
rounds=${KILL_ROUNDS:-6} pause=24000
[ -z "${SOAK-}" ] || rounds=100 pause=8000
out=$TMPDIR/out

mount_tree
make_session kept discard 64K 32
put 100K "$s/user/channels/channel0/file_size"
put "$out" "$s/output"
put start "$s/control"
"$bin/herd" "$bin/writer" "$slots" 4 2 $pause 1000 none >"$TMPDIR/herd" &
herd=$!
herd_writes

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	sleep "0.$(awk -v r=$round \
		'BEGIN { srand(); printf "%03d", (rand() * 300 + r * 7) % 400 }')"
	rotating=
	if [ $((round % 3)) = 0 ]; then
		(while echo rotate >"$s/control"; do :; done) 2>/dev/null &
		rotating=$!
		was=$(key archives "$s/status")
		rotated() { [ "$(key archives "$s/status")" -gt "$was" ]; }
		within 90 rotated || fail "nothing is rotated"
	fi
	kill_daemon
	[ -z "$rotating" ] || wait $rotating
	kill -0 $herd 2>/dev/null || fail "the applications died with the daemon"
	mount_tree
	have "$s/status" || fail "the session is gone"
	expect "the output continues" "$(cat "$s/output")" = "$out"
	[ -z "$(cat "$s/error")" ] || fail "$(cat "$s/error")"
done
kill $herd
wait $herd || fail "the herd"
put stop "$s/control"
expect "pending" "$(key pending_bytes "$s/status")" = 0
lost=$(key events_discarded "$s/status")
rmdir "$s" || fail rmdir

chunks=0
for chunk in "$out"/archives/*; do
	chunks=$((chunks + 1))
	TZ=UTC timeout 200 babeltrace2 "$chunk" >"$TMPDIR/text" 2>"$TMPDIR/bt.err" || {
		cat "$TMPDIR/bt.err"
		fail "babeltrace2 does not accept $chunk"
	}
	grep -v 'discarded events\|discarded [0-9]* event' "$TMPDIR/bt.err" | grep . &&
		fail "babeltrace2 complains about $chunk"
done
expect "chunks" $chunks -ge $((rounds / 3))
TZ=UTC timeout 200 babeltrace2 "$out/archives" >"$TMPDIR/text" 2>"$TMPDIR/bt.err" || {
	cat "$TMPDIR/bt.err"
	fail "babeltrace2 does not accept the chunks together"
}
tally
missing=$(($(key before "$TMPDIR/tally") + $(key holes "$TMPDIR/tally") + $(key behind \
	"$TMPDIR/tally")))
expect "missing and not counted as discarded" $missing -le "$lost"
umount_tree
