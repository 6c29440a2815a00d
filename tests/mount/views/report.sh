#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `export/report.html` has the numbers that follow from `export/json`: rates, slices, percentiles,
# heat maps, pauses; of a session without events, too, and with hostile names. `export/live.html`
# has the newest events, and always the size that stat(2) says. Where Chromium is installed, the
# boxes of a heat map and the slowest slices lead to their events in the time line, and live.html
# loads itself again: as a file, and from a server of static files.
. "$(dirname "$0")/../../lib/mount.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
SLICES=$BUILD/tests/lib/slices
HOSTILE=$BUILD/tests/mount/views/hostile
[ -x "$SLICES" ] && [ -x "$HOSTILE" ] || skip "there is no slices, or no hostile"
server=
stop_server() {
	result=$?
	[ -z "$server" ] || { kill $server && wait $server; } 2>/dev/null
	(exit $result)
	clean_up
}
trap stop_server EXIT
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
# (The name is where the class is defined: one of the two threads may have ended long ago.)
newest() {
	awk -F '\t' '$1 == "d" { names[$2] = $3 }
		/^[bBeEiIcC][0-9]/ { split(substr($1, 2), number, " "); newest = number[1] }
		END { print names[newest] }' "$1"
}
is "the newest event of live.html" "$last" "$(newest "$work/live")"

if command -v chromium >/dev/null; then
	# (the page of a running session: an event comes after the page was loaded)
	python3 -u -m http.server --bind 127.0.0.1 --directory "$S/slices/export" 0 \
		>"$work/server" 2>"$work/served" &
	server=$!
	within 60 grep -q ' port [0-9]' "$work/server" || fail "no server: $(cat "$work/served")"
	port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/server")
	mkfifo "$work/more"
	while read -r more; do "$SLICES" 1; done <"$work/more" &
	python3 "$top/tests/lib/browse_report.py" "$work/slices" \
		"file://$S/slices/export/live.html" "http://127.0.0.1:$port/live.html" \
		>"$work/more" 2>"$work/browsed"
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "# chromium does not work here" ;;
	*) fail "the pages: $(tail -n 5 "$work/browsed")" ;;
	esac
else
	echo "# there is no chromium: nothing is clicked"
fi
echo "$checks checks"
