#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Text that probes of other programs point to: Python's calls, against Python's own trace, and
# PostgreSQL's queries, against its own log.
. "$(dirname "$0")/../../lib/mount.sh"

python=
for program in "$(command -v python3)" /usr/bin/python3; do
	program=$(readlink -f "$program")
	[ -n "$python" ] || ! grep -q function__entry "$program" 2>/dev/null || python=$program
done
[ -n "$python" ] || skip "there is no python3 with probes"
mount_kernel
s=$S/u$mark
mkdir "$s"
echo pid >"$s/kernel/contexts"
echo "usdt:$python:python:function__entry with arg0:string as file, arg1:string as function, arg2:s32 as line" \
	>"$s/kernel/events" 2>/dev/null || skip "no probes here: $(cat "$s/error")"

# --- Python: each call of the program's own functions. CPython 3.11 reaches the probe only where a
# trace function is set.
cat >"$work/calls.py" <<'END'
import sys


def inner(n):
    return n if n < 1 else inner(n - 1)


def outer(n):
    return [inner(i) for i in range(n)]


def note(frame, event, _):
    if event == "call" and frame.f_code.co_filename == __file__:
        code = frame.f_code
        print("file:%s,function:%s,line:%d," % (code.co_filename, code.co_name,
                                                frame.f_lineno))


if sys.argv[1:]:
    sys.setprofile(note)
outer(4)
END
"$python" "$work/calls.py" own | grep -v 'function:note,' >"$work/own" || fail "calls.py"
echo start >"$s/control"
"$python" "$work/calls.py" own >/dev/null || fail "calls.py"
echo stop >"$s/control"
cat "$s/export/lket.txt" >"$work/lines"
grep -o "file:$work/calls.py,function:.*,line:[0-9]*," "$work/lines" |
	grep -v -e 'function:note,' -e 'function:<module>,' >"$work/calls"
is "Python's calls" "$(grep -v 'function:<module>,' "$work/own")" "$(cat "$work/calls")"
is "all of it is available" "" "$(grep "calls.py" "$work/lines" | grep -v 'unavailable:,$')"
rmdir "$s"

# --- PostgreSQL: what its log has
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
as_postgres() {
	(cd "$work/pg" && setpriv --reuid postgres --regid postgres --clear-groups "$@")
}
if [ -x "$bin/postgres" ] && [ "$(id -u)" = 0 ] && id postgres >/dev/null 2>&1 &&
	grep -q query__start "$bin/postgres"; then
	mkdir "$work/pg" && chown postgres "$work/pg"
	as_postgres sh -c ': >/dev/null' 2>/dev/null || skip "users cannot write to /dev/null here"
	as_postgres "$bin/initdb" -N -D "$work/pg/data" >"$work/initdb" 2>&1 ||
		fail "$(tail -n 3 "$work/initdb")"
	s=$S/q$mark
	mkdir "$s"
	echo "usdt:$bin/postgres:postgresql:query__start with arg0:string as query" \
		>"$s/kernel/events" || fail "PostgreSQL's probe"
	echo start >"$s/control"
	for query in "SELECT 6 * 7" "CREATE TABLE t (a int)" "INSERT INTO t VALUES (1), (2)" \
		"SELECT 'it''s' || count(*) FROM t"; do
		echo "$query;"
	done >"$work/queries"
	as_postgres "$bin/pg_ctl" -D "$work/pg/data" -w -t 100 -l "$work/pg/log" -o \
		"-c listen_addresses= -c unix_socket_directories=$work/pg -c log_statement=all" \
		start >/dev/null || fail "$(cat "$work/pg/log")"
	as_postgres "$bin/psql" -X -q -h "$work/pg" -d postgres <"$work/queries" >"$work/answers"
	answered=$?
	as_postgres "$bin/pg_ctl" -D "$work/pg/data" -m immediate -w stop >/dev/null
	echo stop >"$s/control"
	is "psql" 0 $answered
	sed -n 's/.*LOG:  statement: //p' "$work/pg/log" >"$work/own"
	cat "$s/text" | sed -n 's/.* query = "\(.*\)", unavailable = "" }$/\1/p' | tr -d '\\' >"$work/have"
	is "PostgreSQL's log" "$(cat "$work/queries")" "$(cat "$work/own")"
	is "queries" "$(cat "$work/own")" "$(cat "$work/have")"
	rmdir "$s"
fi
echo "$checks checks"
