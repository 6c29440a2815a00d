#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `export/report.html` has the numbers that follow from `export/json`: rates, slices, percentiles,
# heat maps, pauses; of a session without events, too, and with hostile names. `export/live.html`
# has the newest events, and always the size that stat(2) says. Where Chromium is installed, the
# boxes of a heat map and the slowest slices lead to their events in the time line, and live.html
# loads itself again.
. "$(dirname "$0")/../../lib/mount.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
SLICES=$BUILD/tests/lib/slices
HOSTILE=$BUILD/tests/mount/views/hostile
[ -x "$SLICES" ] && [ -x "$HOSTILE" ] || skip "there is no slices, or no hostile"
mount_tree
# judge NAME: the session
judge() {
	mkdir "$work/$1"
	size=$(stat -c %s "$S/$1/export/report.html")
	for f in json report.html timeline.html live.html flame.svg flame.folded; do
		cat "$S/$1/export/$f" >"$work/$1/$f" || fail "cannot read $f"
	done
	is "the size of report.html" "$size" "$(wc -c <"$work/$1/report.html")"
	python3 "$top/tests/lib/judge_report.py" "$work/$1/json" "$work/$1/report.html" \
		>"$work/judged" 2>&1 || fail "$1: $(tail -n 3 "$work/judged")"
	echo "# $1: $(cat "$work/judged") events, names of slices, boxes"
	checks=$((checks + 1))
}

mkdir "$S/empty" "$S/slices" "$S/hostile" || fail mkdir
cat "$S/empty/export/report.html" >"$work/empty" || fail "the report of no event"
grep -q '"events":0' "$work/empty" || fail "the report of no event"
for s in slices:work hostile:hostile; do
	echo "${s#*:}:*" >"$S/${s%:*}/user/events"
	printf '%s\n' vpid vtid procname >"$S/${s%:*}/user/contexts"
	put start "$S/${s%:*}/control"
done
"$SLICES" 400 || fail slices
"$HOSTILE" || fail hostile
put stop "$S/hostile/control"
is "the size of live.html" 2097152 "$(stat -c %s "$S/slices/export/live.html")"
is "the bytes of live.html" 2097152 "$(cat "$S/slices/export/live.html" | wc -c)"
judge slices
judge hostile

# Of many events only the newest are live.
"$SLICES" 3000 || fail slices
cat "$S/slices/export/live.html" >"$work/live"
n=$(grep -c '^[bBeEiIcC][0-9]' "$work/live")
[ "$n" -le 16400 ] && [ "$n" -gt 1000 ] || fail "live.html has $n events"
last=$(tail -n 1 "$S/slices/export/json" | sed 's/.*"event":"\([^"]*\)".*/\1/')
is "the last event" "work:last_begin" "$last"
tail -c 2000000 "$work/live" | grep -q 'work:last' || fail "live.html has not the newest events"

if command -v chromium >/dev/null; then
	# (the page of a running session: an event comes after the page was loaded)
	mkfifo "$work/more"
	{ read -r more && "$SLICES" 1; cat >/dev/null; } <"$work/more" &
	python3 "$top/tests/lib/browse_report.py" "$work/slices" \
		"file://$S/slices/export/live.html" >"$work/more" 2>"$work/browsed"
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "# chromium does not work here" ;;
	*) fail "the pages: $(tail -n 5 "$work/browsed")" ;;
	esac
else
	echo "# there is no chromium: nothing is clicked"
fi
echo "$checks checks"
