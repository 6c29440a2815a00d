#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# `export/csv` of rings with many sub-buffers, which a thread for each CPU makes: it has the rows of
# `export/json`, with classes that only one part has. While programs overwrite the rings and others
# clear or remove the session, each row is whole, and no event comes twice or too early.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cpus.sh"

python3 -c 'import csv' 2>/dev/null || skip "there is no python3"
. "$top/tests/lib/parts.sh"

make_session still 64
echo "the first" >"$MNT/log"
"$TICKER" 20000 0 4 || fail "ticker"
# A loss may come while the file is made.
is "columns for losses of a session that records" 1 \
	"$(head -n 1 "$s/export/csv" | grep -c 'lost\.events')"
echo "the last" >"$MNT/log"
put stop "$s/control"
cat "$s/export/json" >"$work/json" && cat "$s/export/csv" >"$work/csv" || fail "cannot read"
python3 "$top/tests/lib/judge_csv.py" "$work/json" "$work/csv" >"$work/judged" ||
	fail "$(head -c 3000 "$work/judged")"
is "rows" "$(awk '$1 == "events_recorded" { print $2 }' "$s/status")" "$(cat "$work/judged")"
is "the size" "$(wc -c <"$work/csv")" "$(stat -c %s "$s/export/csv")"
is "the end" "$(tail -n 3 "$work/csv")" "$(tail -n 3 "$s/export/csv")"
# A read that begins before the end of the first part and ends after it is not cut short.
is "in one read" "$(cksum <"$work/csv")" \
	"$(dd if="$s/export/csv" bs=16M count=1 iflag=fullblock status=none | cksum)"
within 20 grep -q '^frozen_bytes 0$' "$s/status" || fail "$(grep frozen_bytes "$s/status")"
rmdir "$s"

# Many events of one time, before and after the end of a sub-buffer: a clock that goes by steps.
make_session steps 64 plugin
LTTNG_UST_CLOCK_PLUGIN=$BUILD/tests/mount/views/libsteps.so STEP=50000 LONG=0 "$TICKER" 100000 0 || fail "ticker"
put stop "$s/control"
cat "$s/export/json" >"$work/json" && cat "$s/export/csv" >"$work/csv" || fail "cannot read"
python3 "$top/tests/lib/judge_csv.py" "$work/json" "$work/csv" >"$work/judged" ||
	fail "$(head -c 3000 "$work/judged")"
is "rows of one time" 100000 "$(cat "$work/judged")"
rmdir "$s"

# What was overwritten is told, wherever the parts meet: between two events of a CPU as many as are
# missing there, before its first event as many as there were. First of a session that was stopped,
# then of one that records. (Events may be lost after the last one of a CPU, too.)
cat >"$work/told.py" <<'EOF'
import csv, sys
for path in sys.argv[1:]:
    next_n, told = {}, {}
    with open(path, newline="") as f:
        for row in csv.DictReader(f, strict=True):
            cpu = row["cpu"]
            if row["event"] == "lost":
                told[cpu] = told.get(cpu, 0) + int(row["lost.events"])
            elif row["event"] == "tick:tock":
                n = int(row["fields.n"])
                missing = n - next_n.get(cpu, 0)
                assert missing == told.pop(cpu, 0), (path, cpu, n, missing, row)
                next_n[cpu] = n + 1
print("told")
EOF
cpus=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
cpus="$cpus $(taskset -cp $$ | sed -n 's/.*: .*[-,]//p')"
make_session over 16
for cpu in $cpus; do
	taskset -c "$cpu" "$TICKER" 60000 0 >/dev/null || fail "ticker"
done
put stop "$s/control"
cat "$s/export/csv" >"$work/over" || fail "cannot read"
is "losses of a session that was stopped" told "$(python3 "$work/told.py" "$work/over" 2>&1)"
rmdir "$s"
make_session over 16
apps=
for cpu in $cpus; do
	taskset -c "$cpu" "$TICKER" 0 0 >/dev/null &
	apps="$apps $!"
done
overwritten() { [ "$(key events_overwritten "$s/status")" -gt 0 ]; }
within 60 overwritten || fail "nothing is overwritten"
for i in 1 2 3 4 5 6; do
	cat "$s/export/csv" >"$work/over.$i" || fail "read $i"
done
kill $apps
wait $apps
is "losses of a session that records" told "$(python3 "$work/told.py" "$work"/over.? 2>&1)"
rmdir "$s"

make_session busy 8
"$TICKER" 0 0 3 >/dev/null &
app=$!
filled() {
	[ "$(awk '$1 == "events_overwritten" { print $2 }' "$s/status")" -gt 0 ]
}
within 60 filled || fail "nothing is overwritten: $(cat "$s/status")"
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	cat "$s/export/csv" >"$work/busy.$i" || fail "read $i"
	[ $((i % 4)) -ne 2 ] || put clear "$s/control"
done
cat "$s/export/csv" >"$work/busy.13" &
one=$!
cat "$s/export/csv" >"$work/busy.14" &
two=$!
put clear "$s/control"
wait $one && wait $two || fail "two at a time"
exec 3<"$s/export/csv"
rmdir "$s"
cat <&3 >"$work/busy.15" || fail "after rmdir"
exec 3<&-
kill $app
wait $app
python3 - "$work"/busy.* <<'EOF' || fail "a row is wrong"
import csv, sys
rows = 0
for path in sys.argv[1:]:
    with open(path, newline="") as f:
        last, time = {}, 0
        for row in csv.DictReader(f, strict=True):
            assert None not in row and None not in row.values(), (path, row)
            if row["event"] == "lost":      # (stands before the next event of its stream)
                continue
            assert int(row["time"]) >= time, (path, row)
            time = int(row["time"])
            if row["event"] == "tick:tock":
                assert int(row["fields.n"]) > last.get(row["fields.thread"], -1), (path, row)
                last[row["fields.thread"]] = int(row["fields.n"])
                rows += 1
assert rows > 1000, rows
EOF
checks=$((checks + 1))
echo "$checks checks"
