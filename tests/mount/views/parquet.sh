#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# export/parquet has the columns, rows and values of export/csv. A reader that knows only the
# format's documents compares them; DuckDB (`duckdb`, or the package @duckdb/node-api,
# from npm where that can be reached) counts and joins the files of two sessions.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/duckdb.sh"
command -v python3 >/dev/null || skip "there is no python3"
slices=$BUILD/tests/lib/slices
ticker=$BUILD/tests/lib/ticker
mount_tree

judge() { # SESSION EXPECTED
	cat "$1/export/parquet" >"$work/parquet" && cat "$1/export/csv" >"$work/csv" ||
		fail "cannot read"
	python3 "$top/tests/lib/judge_parquet.py" "$work/parquet" "$work/csv" >"$work/judged" 2>&1 ||
		fail "$1: $(tail -c 2000 "$work/judged")"
	is "rows, columns, row groups" "$2" "$(cat "$work/judged")"
}

s=$S/a
mkdir "$s"
echo 'work:*' >"$s/user/events"
printf '%s\n' vpid vtid procname >"$s/user/contexts"
judge "$s" "0 5 0"
put start "$s/control"
"$slices" 50 || fail "slices"
put stop "$s/control"
judge "$s" "1112 15 1"
is "the size is that of the file" "$(wc -c <"$work/parquet")" "$(stat -c %s "$s/export/parquet")"
cp "$work/parquet" "$work/a.parquet"

# --- floats of both sizes, each with all its bits
s=$S/f
mkdir "$s"
echo 'gauge:*' >"$s/user/events"
put start "$s/control"
echo | "$BUILD/tests/mount/views/gauge" 0.1 1e-45 3.4028235e38 -0.0 1e300 16777217 >/dev/null ||
	fail "gauge"
put stop "$s/control"
judge "$s" "6 8 1"
cp "$work/parquet" "$work/f.parquet"
cp "$work/csv" "$work/times.csv"

# --- more than a row group, and losses
s=$S/b
mkdir "$s" "$s/user/channels/c"
echo 4M >"$s/user/channels/c/subbuf_size"
echo discard >"$s/user/channels/c/loss_mode"
echo 'tick:*' >"$s/user/channels/c/events"
put start "$s/control"
one_cpu "$ticker" 70000 0
put stop "$s/control"
is "none is lost" 0 "$(key events_discarded "$s/status")"
judge "$s" "70000 7 2"
cp "$work/parquet" "$work/b.parquet"
s=$S/lossy
mkdir "$s" "$s/user/channels/c"
echo 4K >"$s/user/channels/c/subbuf_size"
echo 2 >"$s/user/channels/c/subbuf_count"
echo discard >"$s/user/channels/c/loss_mode"
echo 'tick:*' >"$s/user/channels/c/events"
put start "$s/control"
one_cpu "$ticker" 5000 0
put stop "$s/control"
judge "$s" "$(($(wc -l <"$s/export/csv") - 1)) 15 1"

if have_duckdb; then
	is "DuckDB counts" 71112 "$(sql "select count(*) from read_parquet('$work/[ab].parquet', union_by_name = true)")"
	is "a timestamp of UTC, and the time as an integer" \
		"TIMESTAMP WITH TIME ZONE,BIGINT,FLOAT,DOUBLE" \
		"$(sql "select typeof(time), typeof(time_ns), typeof(\"fields.small\"), typeof(\"fields.number\") from '$work/f.parquet' limit 1")"
	is "DuckDB has the exact times" "$(sed 1d "$work/times.csv" | cut -d, -f 1)" \
		"$(sql "select time_ns from '$work/f.parquet' order by time_ns")"
	is "and they are one time" 6 \
		"$(sql "select count(*) from '$work/f.parquet' where epoch_us(time) = time_ns // 1000")"
	is "a float" "0.1 0.1" \
		"$(sql "select concat_ws(' ', \"fields.small\", \"fields.number\") from '$work/f.parquet' where \"fields.i\" = 1")"
	is "DuckDB adds" 2449965000 "$(sql "select sum(\"fields.n\") from '$work/b.parquet'")"
	is "DuckDB joins" 50 "$(sql "select count(*) from '$work/a.parquet' a join '$work/b.parquet' b on a.\"fields.n\" = b.\"fields.n\" where a.event = 'work:begin' and a.\"fields.thread\" = 0")"
else
	echo "DuckDB is not installed: not compared with it"
fi
echo "$checks checks"
