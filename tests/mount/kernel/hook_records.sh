#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each pass of a hook is one record of it in the exports for LKET: events of another alternative of
# the hook, which other rules record, are none; an event that is an alternative of two hooks has the
# name of the one that was enabled; records of return hooks have the result alone.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
mount_kernel
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
[ -x "$BUILD/tests/lib/calls" ] || skip "there is no calls"

# record NAME RULE...: a session with these rules has four programs and a signal of this process
record() {
	s=$S/$1
	shift
	mkdir "$s"
	printf '%s\n' "$@" >"$s/kernel/events" || fail "$*: $(cat "$s/error")"
	grep -q '^tid$' "$s/kernel/contexts" || echo tid >"$s/kernel/contexts"
	echo $$ >"$s/kernel/track/pid"
	echo start >"$s/control"
	for i in 1 2 3 4; do
		"$BUILD/tests/lib/calls" 5 >/dev/null
	done
	kill -CONT $$
	echo stop >"$s/control"
	cat "$s/text" >"$work/text"
	cat "$s/export/lket.txt" >"$work/lket.txt"
	cat "$s/export/sql" >"$work/sql"
	cp -r "$s/export/lket" "$work/lket" &&
		python3 "$top/tests/lib/lket_records.py" "$work/lket" >"$work/records" || fail "export/lket"
	rm -r "$work/lket"
	rmdir "$s"
}
in_text() { grep -c "^[^{]* $1: " "$work/text"; }
# once HOOK EVENT NUMBER: the records of the hook are those of the event, in each form
once() {
	is "$1 in lket.txt" "$(in_text "$2")" "$(grep -c " EVT_NAME:$1 " "$work/lket.txt")"
	is "$1 in LKET's files" "$(in_text "$2")" "$(grep -c "^$1 " "$work/records")"
	is "$1 in the database" "$(in_text "$2")" "$(python3 - "$work/sql" $3 <<'END'
import sqlite3, sys
con = sqlite3.connect(":memory:")
with open(sys.argv[1], encoding="utf-8", newline="") as f:
    con.executescript(f.read())
group, hook = sys.argv[2].split(".")
total = 0
for table, in con.execute("SELECT table_name FROM table_desc").fetchall():
    columns = [c[1] for c in con.execute('PRAGMA table_info("%s")' % table)]
    if "hookid" in columns:
        total += con.execute('SELECT count(*) FROM "%s" WHERE groupid = ? AND hookid = ?' % table,
                             (group, hook)).fetchone()[0]
print(total)
END
)"
}

record "a$mark" @process.execve @process.fork @syscall.entry task_newtask
is "programs" 4 "$(in_text sched_process_exec)"
[ "$(in_text syscall_entry_execve)" -ge 4 ] || fail "no system call execve"
[ "$(in_text task_newtask)" -ge 4 ] || fail "no task_newtask"
once process.execve sched_process_exec 3.3
once process.fork sched_process_fork 3.5
is "execve is a system call as others" "$(in_text syscall_entry_execve)" \
	"$(grep -c ' EVT_NAME:syscall.entry syscall_name:execve,' "$work/lket.txt")"
is "task_newtask has its own name" "$(in_text task_newtask)" "$(grep -c ' EVT_NAME:task_newtask ' "$work/lket.txt")"

# Without a rule on hooks, too, and with all of them
record "b$mark" sched_process_exec sched_process_fork task_newtask syscall:entry:execve
once process.execve sched_process_exec 3.3
once process.fork sched_process_fork 3.5
record "c$mark" '@* except @pagefault,@tskdispatch' task_newtask
once process.execve sched_process_exec 3.3
once process.fork sched_process_fork 3.5
is "return hooks with other fields" "" "$(grep '^[^ ]*[.]return ' "$work/records" |
	grep -v -e '^[^ ]* return:[A-Z0-9]*=-*[0-9]*,$' -e '^syscall[.]return ')"
[ "$(grep -c '^iosyscall[.][a-z]*[.]return ' "$work/records")" -gt 4 ] || fail "no return hooks"

# Only the execve that a session records counts: alone, the system call is none of process.execve.
record "d$mark" @syscall.entry
is "nothing enabled process.execve" 0 "$(grep -c ' EVT_NAME:process[.]' "$work/lket.txt")"
record "e$mark" @signal.send.return
[ -s "$work/lket.txt" ] || fail "no signal was recorded"
is "hooks of signals" "signal.send.return" "$(sed 's/.* EVT_NAME:\([^ ]*\) .*/\1/' "$work/lket.txt" | sort -u)"
record "f$mark" @signal.send.entry
is "hooks of signals" "signal.send.entry" "$(sed 's/.* EVT_NAME:\([^ ]*\) .*/\1/' "$work/lket.txt" | sort -u)"
echo "$checks checks"
