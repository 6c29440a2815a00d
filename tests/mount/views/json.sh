#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# `export/json` and `pipe.json` have the values of `text`, as Python's JSON parser reads them, and
# `export/csv` those of `export/json`, as its csv module reads them: of programs, of hostile lines
# of `log`, and of the kernel; the size of a file is that of its contents; lines are whole while events
# come and when the rings overwrite them.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/rows.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
TZ=UTC
export TZ
mount_tree -o tz=UTC

# same_json SESSION: lines of JSON
same_json() {
	cat "$1/text" >"$work/text" && cat "$1/export/json" >"$work/json" || fail "cannot read"
	python3 "$top/tests/lib/judge_json.py" "$work/text" "$work/json" >"$work/judged" ||
		fail "$1: $(head -c 3000 "$work/judged")"
	cat "$1/export/csv" >"$work/csv" || fail "cannot read export/csv"
	python3 "$top/tests/lib/judge_csv.py" "$work/json" "$work/csv" >"$work/judged" ||
		fail "$1, csv: $(head -c 3000 "$work/judged")"
	checks=$((checks + 2))
}

s=$S/json
mkdir "$s" "$s/user/channels/two"
is "empty" "" "$(cat "$s/export/json")"
is "the directory" "$(with_rows chrome.json csv flame.folded flame.svg json json.symbols live.html \
	lket lket.txt ltt otlp.jsonl parquet perfetto report.html sql timeline.html \
	$(rows session/exports.def | grep -vx trace.sqlite))" \
	"$(ls "$s/export" | grep -v '^trace.sqlite$' | LC_ALL=C sort | tr '\n' ' ')"
is "empty csv" "time,host,cpu,event" "$(cat "$s/export/csv")"
echo '*' >"$s/user/events"
echo 'tick:*' >"$s/user/channels/two/events"
printf '%s\n' vpid procname '$app.none:such' >"$s/user/channels/two/contexts"
cat "$s/pipe.json" >"$work/pipe" &
reader=$!
reader_waits() {
	ls -l "/proc/$reader/fd" 2>/dev/null | grep -q pipe.json
}
within 20 reader_waits || fail "pipe.json is not open"
put start "$s/control"
"$TICKER" 500 0 2 || fail "ticker"
printf 'plain\nquotes " and \\ and / \001\002\t\033[2J\177 \302\205\n\303\251 \360\237\230\200 \377\376 \303( \355\240\200 \360\237\nend\303\n' >"$MNT/log"
put stop "$s/control"
same_json "$s"
is "all lines" "$(wc -l <"$s/text")" "$(cat "$work/judged")"
is "2000 ticks and 4 lines" 2004 "$(cat "$work/judged")"
is "the size" "$(wc -c <"$work/json")" "$(stat -c %s "$s/export/json")"
is "no control characters" "" "$(tr -d '\n' <"$work/json" | LC_ALL=C tr -dc '\000-\037\177')"
wait $reader
cmp "$work/pipe" "$work/json" || fail "pipe.json differs"
is "the size of csv" "$(wc -c <"$work/csv")" "$(stat -c %s "$s/export/csv")"
is "the end of csv" "$(tail -n 3 "$work/csv")" "$(tail -n 3 "$s/export/csv")"
# The kernel tells the daemon of a close after close(2).
within 20 grep -q '^frozen_bytes 0$' "$s/status" || fail "$(grep frozen_bytes "$s/status")"
# The end of the file, by its offset, as curl and tail read it
is "the end" "$(tail -n 3 "$work/json")" "$(tail -n 3 "$s/export/json")"
is "from the middle" "$(tail -c +1001 "$work/json" | head -c 5000 | cksum)" "$(dd if="$s/export/json" bs=1000 skip=1 count=5 status=none | cksum)"
if command -v jq >/dev/null; then
	is "jq" 2000 "$(jq -r 'select(.event == "tick:tock") | .fields.n' "$s/export/json" | wc -l)"
fi
put clear "$s/control"
is "the size of csv after clear" "$(cat "$s/export/csv" | wc -c)" "$(stat -c %s "$s/export/csv")"
within 20 eval '[ -z "$(cat "$s/export/json")" ]' || fail "after clear: $(head -n 1 "$s/export/json")"
rmdir "$s"

# --- small rings that are overwritten while programs read: each line is whole
s=$S/small
mkdir "$s" "$s/user/channels/channel0"
echo 4096 >"$s/user/channels/channel0/subbuf_size"
echo 2 >"$s/user/channels/channel0/subbuf_count"
echo '*' >"$s/user/events"
put start "$s/control"
"$TICKER" 0 20 >/dev/null &
app=$!
some() {
	[ "$(cat "$s/export/json" | wc -l)" -gt 20 ]
}
within 20 some || fail "no events"
for i in 1 2 3 4 5 6 7 8; do
	cat "$s/export/json"
done >"$work/many"
kill $app
wait $app
put stop "$s/control"
python3 -c 'import json, sys
for line in open(sys.argv[1], "rb"):
    assert "lost" in json.loads(line) or json.loads(line)["event"] == "tick:tock", line' "$work/many" || fail "a line is not whole"
same_json "$s"
rmdir "$s"

# --- the kernel's events: enumerations, arrays, state dump
if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/kernel
	mkdir "$s"
	printf '%s\n' sched_switch 'syscall:*' 'lttng_statedump_*' >"$s/kernel/events" || fail "kernel rules"
	echo 'pid procname' >"$s/kernel/contexts"
	echo $$ >"$s/kernel/track/pid"
	put start "$s/control"
	ls /proc/self >/dev/null
	put stop "$s/control"
	same_json "$s"
	[ "$(cat "$work/judged")" -gt 50 ] || fail "few events of the kernel"
	rmdir "$s"
fi
echo "$checks checks"
