#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `export/sql` loads into a MariaDB server of this test and into SQLite: user and kernel events,
# with the counts of babeltrace2 and its sums of fields, which export/trace.sqlite has, too; names
# and texts that are special to SQL.
# SOAK: 5 million events.
. "$(dirname "$0")/../../lib/mount.sh"

PATH=$PATH:/usr/sbin
for p in mariadbd mariadb mariadb-install-db sqlite3 babeltrace2; do
	command -v $p >/dev/null || skip "there is no $p"
done
for p in "$BUILD/tests/lib/ticker" "$BUILD/tests/mount/views/words"; do
	[ -x "$p" ] || skip "there is no $p"
done
many=10000
[ -z "${SOAK-}" ] || many=1200000
server=
stop_server() {
	result=$?
	[ -z "$server" ] || { kill $server && wait $server; } 2>/dev/null
	(exit $result)
	clean_up
}
trap stop_server EXIT

# --- a server with data and a socket of its own
data=$work/mariadb
mkdir "$data"
mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$data" \
	--auth-root-authentication-method=normal --skip-test-db >"$work/install.log" 2>&1 ||
	fail "$(tail -n 5 "$work/install.log")"
mariadbd --no-defaults --user="$(id -un)" --datadir="$data" --socket="$work/m.sock" \
	--pid-file="$work/m.pid" --skip-networking --innodb-flush-log-at-trx-commit=0 \
	--innodb-buffer-pool-size=256M >"$work/server.log" 2>&1 &
server=$!
my() {
	mariadb --no-defaults --socket="$work/m.sock" --user=root -N -r "$@"
}
ready() {
	my -e 'SELECT 1' >/dev/null 2>&1
}
within 100 ready || fail "$(tail -n 5 "$work/server.log")"
my -e 'CREATE DATABASE t' || fail "no database"

# --- a session
TZ=UTC
export TZ
mount_tree -o tz=UTC,max_frozen=4G
s=$S/sql
mkdir "$s" "$s/user/channels/channel0"
echo 64M >"$s/user/channels/channel0/subbuf_size"
printf '%s\n' vpid procname >"$s/user/channels/channel0/contexts"
echo '*' >"$s/user/events"
kernel=
[ ! -w "$s/kernel/events" ] || ! [ -x "$BUILD/tests/lib/calls" ] || {
	mkdir "$s/kernel/channels/channel0" &&
		echo 16M >"$s/kernel/channels/channel0/subbuf_size" &&
		printf '%s\n' pid procname >"$s/kernel/channels/channel0/contexts" &&
		printf '%s\n' syscall:getppid sched_process_exec >"$s/kernel/events" &&
		echo $$ >"$s/kernel/track/pid" && kernel=yes
} 2>/dev/null
put start "$s/control"
"$BUILD/tests/lib/ticker" $((many * 2)) 0 2 || fail "ticker"
"$BUILD/tests/mount/views/words" 40 || fail "words"
[ -z "$kernel" ] || "$BUILD/tests/lib/calls" $((many / 2)) >/dev/null
put stop "$s/control"
is "no loss" 0 "$(awk '$1 == "events_discarded" { print $2 }' "$s/status")"

# --- counts by name, and sums of `n` (ticker) and `time` (words), by babeltrace2
babeltrace2 --clock-gmt "$s/trace" 2>/dev/null | python3 -c '
import re
import sys
from collections import Counter

counts, sums = Counter(), Counter()
for line in sys.stdin:
    name = re.match(r"\[[^]]*\] \([^)]*\) (?:\S+ )?(\S+): ", line).group(1)
    counts[name] += 1
    if name == "tick:tock":
        sums[name] += int(re.search(r" n = (\d+)", line).group(1))
for name in sorted(counts):
    print("%s\t%d\t%s" % (name, counts[name], sums.get(name, "-")))
' >"$work/want" || fail "babeltrace2"
started=$(date +%s%N)
cat "$s/export/sql" >"$work/sql" || fail "export/sql: $(cat "$s/error")"
written=$((($(date +%s%N) - started) / 1000000))

# judge COMMAND…: a command that executes SQL says the same of its database
judge() {
	"$@" 'SELECT table_name, table_desc FROM table_desc' | tr '|' '\t' >"$work/tables"
	while IFS='	' read -r table name; do
		sum=-
		[ "$name" != tick:tock ] || sum=$("$@" "SELECT sum(n) FROM \`$table\`")
		printf '%s\t%s\t%s\n' "$name" "$("$@" "SELECT count(*) FROM \`$table\`")" "$sum"
	done <"$work/tables" | LC_ALL=C sort
}

in_sqlite() {
	sqlite3 "$work/db" "$1"
}
in_server() {
	my t -e "$1"
}
in_mount() {
	sqlite3 "file:$s/export/trace.sqlite?immutable=1" "$1"
}
begin=$(date +%s)
sqlite3 "$work/db" <"$work/sql" || fail "SQLite"
middle=$(date +%s)
my t <"$work/sql" || fail "MariaDB"
end=$(date +%s)
LC_ALL=C sort "$work/want" >"$work/sorted"
judge in_sqlite >"$work/sqlite"
judge in_server >"$work/mariadb.out"
[ ! -e "$s/export/trace.sqlite" ] || {
	judge in_mount >"$work/in_mount"
	is "export/trace.sqlite and babeltrace2" "$(cat "$work/sorted")" "$(cat "$work/in_mount")"
}
is "SQLite and babeltrace2" "$(cat "$work/sorted")" "$(cat "$work/sqlite")"
is "MariaDB and babeltrace2" "$(cat "$work/sorted")" "$(cat "$work/mariadb.out")"
is "rows of MariaDB" $((4 * many)) "$(in_server 'SELECT count(*) FROM `tick:tock`')"
[ -z "$kernel" ] || is "system calls" $((many / 2)) \
	"$(in_server 'SELECT count(*) FROM syscall_entry_getppid')"

# --- values that are special: those of `words`, as SQLite has them too
is "64 bits" "18446744073709551615	-9223372036854775808" \
	"$(in_server 'SELECT `order`, `group` FROM `_sqlite_drop:table` WHERE `time_2` = 0')"
for column in where from select; do
	is "text $column" "$(sqlite3 "$work/db" "SELECT hex(\`$column\`) FROM \`_sqlite_drop:table\` LIMIT 1")" \
		"$(in_server "SELECT hex(\`$column\`) FROM \`_sqlite_drop:table\` LIMIT 1")"
done
is "a quote" 40 "$(in_server "SELECT count(*) FROM \`_sqlite_drop:table\` WHERE \`where\` LIKE 'it''s;%'")"
has "$(in_server 'SELECT pname FROM appNameMap')" '^ticker$'
is "names of processes" "$(sqlite3 -separator '	' "$work/db" 'SELECT * FROM appNameMap ORDER BY 1, 2')" \
	"$(in_server 'SELECT * FROM appNameMap ORDER BY 1, 2')"
is "trace_header" "1	1	0	2	64" "$(in_server 'SELECT * FROM trace_header')"
rows=$(awk '{ n += $2 } END { print n }' FS='\t' "$work/want")
[ -z "${SOAK-}" ] || cat "$work/want"
echo "$checks checks, $rows rows, $(wc -c <"$work/sql") bytes written in $written ms;" \
	"SQLite $((middle - begin)) s, MariaDB $((end - middle)) s"
