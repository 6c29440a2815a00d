#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The moment of a trigger's snapshot is the time that the session has of the event that is the hit:
# `last 100us` has this event and none after it, whenever the action is executed, and whether the
# trigger or the session was made first.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC
T=$MNT/triggers

# hits SESSION N: the trigger has taken N snapshots
hits() { [ "$(ls "$S/$1/snapshots" | wc -l)" = "$2" ]; }
recorder() {
	mkdir "$S/$1" && put 'tick:*' "$S/$1/user/events" && put start "$S/$1/control"
}
trigger() {
	mkdir "$T/$1" && put 'event user tick:tock if n == 40' "$T/$1/condition" &&
		put "snapshot $1 hit last 100us" "$T/$1/actions"
}
trigger early
recorder early
recorder late
trigger late
# The listener may still be on its way to the rings.
for i in $(seq 20); do
	"$ticker" 60 0 || fail "ticker"
	for s in early late; do
		within 20 hits $s "$i" || fail "$s, hit $i: $(cat "$T/$s/status" "$S/$s/error")"
	done
done
for s in early late; do
	for d in "$S/$s/snapshots"/*; do
		babeltrace2 --clock-seconds --no-delta "$d" >"$work/events" 2>"$work/err" ||
			fail "babeltrace2 $d: $(cat "$work/err")"
		last=$(tail -n 1 "$work/events")
		has "$last" ' n = 40 }$'
		end=$(stat -c %.9Y "$d" | tr -d .)
		time=$(echo "$last" | sed 's/^\[\([0-9]*\)\.\([0-9]*\)\].*/\1\2/')
		is "$d: its end" "$time" "$end"
	done
done

# --- an interval after the event begins at the event's time: one moment for both sides
put 'snapshot early both last 100us after 1ms' "$T/early/actions"
"$ticker" 60 0 || fail "ticker"
both() { [ -d "$S/early/snapshots/both" ]; }
within 20 both || fail "not taken: $(cat "$T/early/status" "$S/early/error")"
d=$S/early/snapshots/both
babeltrace2 --clock-seconds --no-delta "$d" >"$work/events" 2>"$work/err" ||
	fail "babeltrace2 $d: $(cat "$work/err")"
time=$(sed -n 's/^\[\([0-9]*\)\.\([0-9]*\)\].* n = 40 }$/\1\2/p' "$work/events")
is "the end of both" $((time + 1000000)) "$(stat -c %.9Y "$d" | tr -d .)"
echo "$checks checks"
