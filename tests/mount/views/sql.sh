#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `export/sql` loads into SQLite, with the values of `export/json`, the counts and sums of
# babeltrace2; `export/trace.sqlite` is the database of these statements; `export/lket.txt` and the
# files of `export/lket/` have the same events. Names and texts that are special to SQL, integers of 64 bits, two channels with other
# contexts.
. "$(dirname "$0")/../../lib/mount.sh"

python3 -c 'import sqlite3' 2>/dev/null || skip "there is no python3 with sqlite3"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
for p in "$BUILD/tests/lib/ticker" "$BUILD/tests/mount/views/words" "$BUILD/tests/mount/programs/types"; do
	[ -x "$p" ] || skip "there is no $p"
done
TZ=UTC
export TZ
mount_tree -o tz=UTC,max_frozen=3M

s=$S/sql
mkdir "$s" "$s/user/channels/two"
echo '*' >"$s/user/events"
echo 'tick:*' >"$s/user/channels/two/events"
printf '%s\n' vpid vtid procname '$app.none:such' >"$s/user/channels/two/contexts"
is "empty" "CREATE TABLE trace_header" "$(sed -n 's/^\(CREATE TABLE trace_header\) .*/\1/p' "$s/export/sql")"
is "empty" "" "$(cat "$s/export/lket.txt" && ls "$s/export/lket")"
put start "$s/control"
"$BUILD/tests/lib/ticker" 500 0 2 || fail "ticker"
"$BUILD/tests/mount/views/words" 40 || fail "words"
"$BUILD/tests/mount/programs/types" || fail "types"
printf "it's \\\\ \"\\001\\n\\303\\251 \\360\\237\\230\\200 \\377 end\\n" >"$MNT/log"
put stop "$s/control"
babeltrace2 --clock-gmt "$s/trace" >"$work/text" 2>/dev/null || fail "babeltrace2"
for f in json sql lket.txt; do
	cat "$s/export/$f" >"$work/$f" || fail "cannot read export/$f"
done
python3 "$top/tests/lib/judge_sql.py" "$work/json" "$work/sql" "$work/text" "$work/lket.txt" \
	>"$work/judged" || fail "$(head -c 3000 "$work/judged")"
is "rows" "$(wc -l <"$work/json")" "$(cat "$work/judged")"
cp -r "$s/export/lket" "$work/lket" || fail "export/lket"
is "LKET's files" "$(cat "$work/judged")" \
	"$(python3 "$top/tests/lib/judge_lket.py" "$work/lket" "$work/json" "$work/lket.txt" 2>&1)"
[ "$(cat "$work/judged")" -ge 2050 ] || fail "$(cat "$work/judged") rows"
is "the size" "$(wc -c <"$work/sql")" "$(stat -c %s "$s/export/sql")"
# The kernel tells the daemon of a close after close(2).
within 20 grep -q '^frozen_bytes 0$' "$s/status" || fail "$(grep frozen_bytes "$s/status")"
if command -v sqlite3 >/dev/null; then
	sqlite3 "$work/db" <"$s/export/sql" || fail "sqlite3"
	is "sqlite3" 2000 "$(sqlite3 "$work/db" 'SELECT count(*) FROM `tick:tock`')"
	is "names of processes" ticker \
		"$(sqlite3 "$work/db" 'SELECT DISTINCT pname FROM appNameMap WHERE pid > 0')"
	is "64 bits" "18446744073709551615|-9223372036854775808" \
		"$(sqlite3 "$work/db" 'SELECT `order`, `group` FROM `_sqlite_drop:table` WHERE `time_2` = 0')"
fi
# export/trace.sqlite is what SQLite makes of export/sql.
if [ -e "$s/export/trace.sqlite" ]; then
	cat "$s/export/trace.sqlite" >"$work/sqlite" || fail "cannot read export/trace.sqlite"
	is "the size" "$(wc -c <"$work/sqlite")" "$(stat -c %s "$s/export/trace.sqlite")"
	python3 - "$work/sql" "file:$s/export/trace.sqlite?immutable=1" >"$work/judged" 2>&1 <<'END' ||
import sqlite3
import sys

made, loaded = sqlite3.connect(sys.argv[2], uri=True), sqlite3.connect(":memory:")
with open(sys.argv[1], encoding="utf-8") as f:
    loaded.executescript(f.read())
assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
assert list(made.iterdump()) == list(loaded.iterdump())
print(made.execute("SELECT count(*) FROM `tick:tock`").fetchone()[0])
END
		fail "$(tail -c 3000 "$work/judged")"
	is "trace.sqlite" 2000 "$(cat "$work/judged")"
	if command -v sqlite3 >/dev/null; then
		is "sqlite3" 2000 "$(sqlite3 "file:$s/export/trace.sqlite?immutable=1" \
			'SELECT count(*) FROM `tick:tock`')"
	fi
	# Each open counts as frozen memory, from when the file is made.
	python3 - "$s/export/trace.sqlite" <<'END' || fail "opens do not exceed max_frozen"
import errno
import sys

files = []
try:
    while len(files) < 500:
        files.append(open(sys.argv[1], "rb"))
except OSError as e:
    sys.exit(e.errno != errno.EDQUOT or not files)
sys.exit(1)
END
	within 20 grep -q '^frozen_bytes 0$' "$s/status" || fail "$(grep frozen_bytes "$s/status")"
fi
echo "$checks checks"
