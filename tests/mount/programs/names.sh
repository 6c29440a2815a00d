#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A tracepoint with a name that no rule can have is left out; the program's other tracepoints are
# recorded. `error`, and `status` of the session and of the process, name program, process and
# tracepoint.
. "$(dirname "$0")/../../lib/mount.sh"
names=$BUILD/tests/mount/programs/names
[ -x "$names" ] || skip "there is no $names"
mount_tree
mkdir "$S/s" || fail mkdir
put '*' "$S/s/user/events"
put start "$S/s/control"

mkfifo "$work/end"
"$names" <"$work/end" &
pid=$!
exec 3>"$work/end"
reported() { grep -q 'names, process' "$MNT/error"; }
within 10 reported || fail "nothing in error: $(cat "$MNT/error")"
recorded() { [ "$(key events_recorded "$S/s/status")" = 3 ]; }
within 10 recorded || fail "recorded $(key events_recorded "$S/s/status") of 3"
is "names recorded" 3 "$(grep -c ' names:tick: ' "$S/s/text")"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
is "rejected tracepoints" 2 "$(key tracepoints_rejected "$MNT/status")"
is "rejected registrations" 0 "$(key registrations_rejected "$MNT/status")"
for file in "$MNT/error" "$S/s/status" "$MNT/apps/$pid/status"; do
	for name in '\\"hello\\":quoted' a::b:colon; do
		grep -q "names, process $pid: the tracepoint $name is left out: its name" "$file" ||
			fail "$file: nothing of $name: $(cat "$file")"
	done
done
grep -q '^problem ' "$S/s/status" || fail "no problem in the session's status"
is "listed" "names:tick" "$(cut -d' ' -f1 "$MNT/apps/$pid/tracepoints")"
grep -E 'hello|colon' "$MNT/available/user/tracepoints" "$MNT/available/user/fields" &&
	fail "tracepoints that are left out are listed"
exec 3>&-
wait $pid || fail "exit status $?"

# `error` has them once, however often the program starts.
before=$(grep -c . "$MNT/error")
"$names" </dev/null && "$names" </dev/null || fail names
counted() { [ "$(key tracepoints_rejected "$MNT/status")" = 6 ]; }
within 10 counted || fail "counted $(key tracepoints_rejected "$MNT/status") of 6"
is "lines of error" "$before" "$(grep -c . "$MNT/error")"
echo "$checks checks"
