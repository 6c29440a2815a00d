#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# 20 hosts stream to a relay, which has a directory for each; a session with such a directory as
# `input` makes the Parquet file of it. One query over all files counts, groups by host and joins:
# by DuckDB (`duckdb`, or the package @duckdb/node-api, from npm where that can be reached), and by a
# reader that knows only the format's documents.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
. "$top/tests/lib/duckdb.sh"
command -v python3 >/dev/null || skip "there is no python3"
unshare -u true 2>/dev/null || skip "no host can have a name of its own here"
ticker=$BUILD/tests/lib/ticker
need_relay
can_mount
start_relay
hosts=20

# Host number I: a daemon of its own, 2 threads with 50 I events each
host() {
	dir=$work/host$1
	mkdir -p "$dir/mnt"
	(
		TRAIL_RUNTIME_DIR=$dir/state
		export TRAIL_RUNTIME_DIR
		unshare -u sh -c 'hostname "$1" && shift && exec timeout 200 "$@"' - "host$1" \
			"$TRAILFS" "$dir/mnt" -o wait=100000,keeper=0 >"$dir/log" 2>&1 ||
			fail "host $1: $(cat "$dir/log")"
		s=$dir/mnt/sessions/app
		mkdir "$s" && put "$relay_url" "$s/output" && put 'tick:*' "$s/user/events" &&
			put 'vtid' "$s/user/contexts" && put start "$s/control" || fail "host $1"
		"$ticker" $((50 * $1)) 0 2 || fail "ticker $1"
		put stop "$s/control"
		all_written "$s"
		is "lost on host $1" 0 "$(key events_discarded "$s/status")"
		fusermount3 -u "$dir/mnt" || umount "$dir/mnt"
	) || exit 1
}
for i in $(seq $hosts); do host "$i"; done
is "directories of the relay" $hosts "$(ls -d "$relay_out"/host*/app-* | wc -l)"

mount_tree
mkdir "$work/lake"
for d in "$relay_out"/host*/app-*; do
	h=$(basename "$(dirname "$d")")
	mkdir "$S/lake" "$work/lake/$h" && put "$d" "$S/lake/input" || fail "input $d"
	cat "$S/lake/export/parquet" >"$work/lake/$h/app.parquet" || fail "$h: no Parquet"
	rmdir "$S/lake"
done
events=$((100 * hosts * (hosts + 1) / 2))
python3 - "$top/tests/lib" "$work/lake" $hosts <<'EOF' || fail "the rows of the files"
import glob, sys
sys.path.insert(0, sys.argv[1])
from judge_parquet import read_table
counts, ticks = {}, {}
for path in glob.glob(sys.argv[2] + '/*/*.parquet'):
    schema, rows, _ = read_table(path)
    names = [e[4].decode() for e in schema]
    at = {name: names.index(name) for name in ('host', 'time_ns', 'fields.thread', 'fields.n')}
    assert path.split('/')[-2] == rows[0][at['host']], (path, rows[0])
    for row in rows:
        counts[row[at['host']]] = counts.get(row[at['host']], 0) + 1
        ticks.setdefault((row[at['fields.thread']], row[at['fields.n']]), []).append(row)
    assert [r[at['time_ns']] for r in rows] == sorted(r[at['time_ns']] for r in rows), path
hosts = int(sys.argv[3])
assert counts == {'host%d' % i: 100 * i for i in range(1, hosts + 1)}, counts
# What all hosts did, as a join finds it: 50 ticks of both threads.
assert sum(len(rows) == hosts for rows in ticks.values()) == 100, len(ticks)
EOF
checks=$((checks + 3))
if have_duckdb; then
	all="read_parquet('$work/lake/*/*.parquet', union_by_name = true)"
	is "DuckDB counts" "$events,$hosts" \
		"$(sql "select count(*), count(distinct host) from $all")"
	is "by host" "host1,100 host10,1000 host11,1100" \
		"$(sql "select host, count(*) from $all group by host order by host limit 3" | tr '\n' ' ' | sed 's/ $//')"
	is "joins all hosts" 100 "$(sql "select count(*) from (select \"fields.thread\", \"fields.n\" from $all group by all having count(distinct host) = $hosts)")"
	is "a condition on the time" "$events" \
		"$(sql "select count(*) from $all where time > now() - interval 1 hour")"
	is "a join by exact times" true \
		"$(sql "with lake as (from $all) select count(*) >= 0 from lake a join lake b on b.host <> a.host and b.time_ns between a.time_ns and a.time_ns + 100000 where a.\"fields.n\" = 0")"
else
	echo "DuckDB is not installed: not read with it"
fi
ctf=$(cat "$relay_out"/host*/app-*/ust/uid/*/64-bit/* 2>/dev/null | wc -c)
parquet=$(cat "$work"/lake/*/*.parquet | wc -c)
echo "$events events: $ctf bytes of CTF, $parquet of Parquet; $checks checks"
