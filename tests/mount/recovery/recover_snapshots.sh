#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trail-recover finds the snapshots that the keeper of a killed daemon holds: their events are in
# OUTPUT/SESSION~snapshots/NAME as they were in the tree, none is called lost, and the next mount
# still shows the same.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
recover=$BUILD/tools/trail-recover
# text DIRECTORY
text() {
	TZ=UTC timeout 200 babeltrace2 --clock-gmt "$1" 2>"$work/err" ||
		fail "babeltrace2 $1: $(cat "$work/err")"
}

mount_tree
mkdir "$S/one" "$S/empty" || fail mkdir
echo 'tick:*' >"$S/one/user/events" && echo start >"$S/one/control" || fail start
"$ticker" 100 0 || fail ticker
mkdir "$S/one/snapshots/x" "$S/empty/snapshots/none" || fail "snapshot x"
text "$S/one/snapshots/x" >"$work/x"
is "events of x" 100 "$(wc -l <"$work/x")"
"$ticker" 50 0 || fail ticker
mkdir "$S/one/snapshots/y" || fail "snapshot y"
text "$S/one/snapshots/y" >"$work/y"
is "events of y" 150 "$(wc -l <"$work/y")"

# recovered OUTPUT
recovered() {
	"$recover" -o "$1" "$TRAIL_RUNTIME_DIR" >"$work/log" 2>&1 ||
		fail "trail-recover: $(cat "$work/log")"
	! grep '^trail-recover: .*snapshot ' "$work/log" || fail "it complains"
	is "sessions and snapshots" "empty empty~snapshots one one~snapshots" \
		"$(ls "$1" | tr '\n' ' ' | sed 's/ $//')"
	for s in x y; do
		text "$1/one~snapshots/$s" | cmp - "$work/$s" || fail "snapshot $s is another one"
	done
	is "events of the session" 150 "$(text "$1/one" | wc -l)"
}
recovered "$work/beside"                # a daemon that lives
kill -9 "$(daemon_pids)"
within 5 daemon_ended || fail "the daemon does not die"
recovered "$work/after"
mount_tree
for s in x y; do
	text "$S/one/snapshots/$s" | cmp - "$work/$s" || fail "snapshot $s is not what it was"
done

# With copies of buffers alone there are no snapshots: that is said, and not that they are lost.
cp -r "$TRAIL_RUNTIME_DIR" "$work/copy"
: >"$work/nothing"
"$recover" -o "$work/third" "$work/copy" "$work/nothing" >"$work/log" 2>&1
has "$(cat "$work/log")" 'session one: snapshot x is not here: the keeper has it'
! grep 'snapshot.*lost' "$work/log" || fail "it says that a snapshot is lost"
echo "$checks checks"
