#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# A flight recorder: an error takes a snapshot, while other threads record at full speed. The error
# is in the snapshot, and it is the last event of its thread there: each time of 10 (SOAK=1: of
# 100). The errors have a channel of their own, which the load cannot overwrite, however late the
# daemon is.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
T=$MNT/triggers
rounds=10
[ -z "$SOAK" ] || rounds=100
mount_tree -o tz=UTC

s=$S/flight
mkdir "$s" "$s/user/channels/load" "$s/user/channels/errors" "$T/error"
for c in load errors; do
	echo overwrite >"$s/user/channels/$c/loss_mode"
	echo 16K >"$s/user/channels/$c/subbuf_size"
	echo 4 >"$s/user/channels/$c/subbuf_count"
done
echo 'flight:work' >"$s/user/channels/load/events"
echo 'flight:error' >"$s/user/channels/errors/events"
echo 'event user flight:error' >"$T/error/condition"
echo 'snapshot flight error' >"$T/error/actions"
echo start >"$s/control"

executed() {
	[ "$(awk '$1 == "action" { print $4, $6 }' "$T/error/status")" = "$1 0" ]
}
mkfifo "$work/errors"
"$BUILD/tests/mount/triggers/flight" 2 <"$work/errors" &
program=$!
exec 8>"$work/errors"
for n in $(seq "$rounds"); do
	echo >&8
	within 20 executed "$n" || fail "round $n: $(cat "$T/error/status")"
	TZ=UTC babeltrace2 "$s/snapshots/error" >"$work/text" 2>/dev/null ||
		fail "round $n: no trace"
	has "$(grep 'thread = 0[ ,]' "$work/text" | tail -n 1)" "flight:error: .* round = $n }"
	rmdir "$s/snapshots/error"
done
exec 8>&-
wait $program || fail "the program"
is "hits" "$rounds" "$(key hits "$T/error/status")"
echo "$checks checks"
