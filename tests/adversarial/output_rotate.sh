#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A rotation every 100 ms, and by hand as often as it goes, under load: the chunks together are
# exactly what was emitted, less what was counted as discarded, each event once; each chunk can be
# read alone, and all of them in one go.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
seconds=${ROTATE_SECONDS:-3} pause=6000
[ -z "${SOAK-}" ] || seconds=60 pause=3000
out=$TMPDIR/out

mount_tree
make_session rotated discard 64K 64
put "$out" "$s/output"
put 100ms "$s/rotate_period"
put start "$s/control"
"$bin/writer" "$slots" 1 2 0 $pause >"$TMPDIR/writer" &
writer=$!
i=0
while [ $i -lt $((seconds * 10)) ]; do
	i=$((i + 1))
	[ $((i % 5)) != 0 ] || put rotate "$s/control"
	# Readers meanwhile
	[ $((i % 10)) != 1 ] || timeout 200 cat "$s/text" >/dev/null || fail "cannot read text"
	sleep 0.1
done
many_archives() { [ "$(key archives "$s/status")" -ge "$seconds" ]; }
within 90 many_archives || fail "only $(key archives "$s/status") archives"
kill $writer
wait $writer || fail "the writer"
put stop "$s/control"
no_rotation() { [ "$(key rotation "$s/status")" = idle ]; }
within 90 no_rotation || fail "a rotation has not ended: $(cat "$s/status")"
[ -z "$(cat "$s/error")" ] || fail "$(cat "$s/error")"
lost=$(key events_discarded "$s/status")
recorded=$(key events_recorded "$s/status")
# The same in the mount
copy_image "$s/archives" "$TMPDIR/copy"
for d in "$TMPDIR/copy" "$out/archives"; do
	(cd "$d" && find . -type f | sort | xargs cksum) >"$TMPDIR/sums.${d##*/}" || fail cksum
done
cmp "$TMPDIR/sums.copy" "$TMPDIR/sums.archives" ||
	fail "archives/ is not what the output directory has"
first=$(ls "$s/archives" | head -n 1)
timeout 200 babeltrace2 "$s/archives/$first" >/dev/null 2>"$TMPDIR/bt.err" ||
	fail "babeltrace2 does not read archives/$first"
rm -rf "$TMPDIR/copy"
rmdir "$s" || fail rmdir
[ -z "$(ls "$out" | grep -v '^archives$')" ] ||
	fail "not all was moved to the archives: $(ls "$out")"

: >"$TMPDIR/text"
discarded=0
for chunk in "$out"/archives/*; do
	case ${chunk##*/} in
	20[0-9][0-9][01][0-9][0-3][0-9]T[0-2][0-9][0-5][0-9][0-6][0-9]+0000-20[0-9]*T[0-9]*+0000-[0-9]*) ;;
	*) fail "a strange name: $chunk" ;;
	esac
	TZ=UTC timeout 200 babeltrace2 "$chunk" >>"$TMPDIR/text" 2>"$TMPDIR/bt.err" || {
		cat "$TMPDIR/bt.err"
		fail "babeltrace2 does not accept $chunk"
	}
	discarded=$((discarded + $(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' \
		"$TMPDIR/bt.err" | awk '{ s += $1 } END { print s + 0 }')))
done
expect "events in all chunks" "$(wc -l <"$TMPDIR/text")" -eq "$recorded"
expect "losses that the chunks tell of" $discarded -eq "$lost"
TZ=UTC timeout 200 babeltrace2 "$out/archives" >"$TMPDIR/text" 2>"$TMPDIR/bt.err" || {
	cat "$TMPDIR/bt.err"
	fail "babeltrace2 does not accept the archives together"
}
expect "events, read together" "$(wc -l <"$TMPDIR/text")" -eq "$recorded"
tally
missing=$(($(key before "$TMPDIR/tally") + $(key holes "$TMPDIR/tally") + $(key behind \
	"$TMPDIR/tally")))
expect "missing and not counted as discarded" $missing -le "$lost"
umount_tree
