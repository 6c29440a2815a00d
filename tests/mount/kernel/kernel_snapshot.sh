#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The moment of a trigger's snapshot of kernel events is the time of the event that is the hit:
# `last 1ms` has this event, whenever the action is executed. Skips where the daemon finds no
# backend.
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel -o tz=UTC
T=$MNT/triggers
start_caller
recorder() {
	mkdir "$S/$1" && put "$mine" "$S/$1/kernel/events" && put start "$S/$1/control"
}
trigger() {
	mkdir "$T/$1" && put "event kernel $mine" "$T/$1/condition" &&
		put "snapshot $1$mark hit last 1ms" "$T/$1/actions"
}
trigger early
recorder "early$mark"
recorder "late$mark"
trigger late
hits() { [ "$(ls "$S/$1/snapshots" | wc -l)" = "$2" ]; }
for i in $(seq 10); do
	call 1
	for s in early late; do
		within 20 hits "$s$mark" "$i" ||
			fail "$s, hit $i: $(cat "$T/$s/status" "$S/$s$mark/error")"
	done
done
# (Linux 7.0 may preempt a program, and misses then an event, which is counted.)
missing=0
for d in "$S"/*/snapshots/*; do
	babeltrace2 "$d" >"$work/events" 2>"$work/err" ||
		fail "babeltrace2 $d: $(cat "$work/err")"
	if kernel_since 7.0 && ! grep -q getppid "$work/events"; then
		missing=$((missing + 1))
	else
		is "$d" 1 "$(grep -c getppid "$work/events")"
	fi
done
lost=$(($(key events_discarded "$S/early$mark/status") + $(key events_discarded "$S/late$mark/status")))
[ $missing -le $lost ] || fail "$missing snapshots lack their event, $lost were lost"
exec 8>&-
echo "$checks checks, $missing missing, $lost lost"
