#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Hooks (rules @NAME of the kernel domain) that are tracepoints and system calls on this kernel.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/hooks.sh"

mkdir -p "$XDG_CONFIG_HOME/trailfs/groups.d"
cat >"$XDG_CONFIG_HOME/trailfs/groups.d/own.ini" <<END
[own.parents]
fields = parent:INT32
record = nowhere:nothing
    syscall:entry:getppid syscall:entry:nosuch

[own.none]
record = nowhere:nothing

[own.past]
gone = it went with Linux 1.0
END
by_instance
mount_kernel
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the program of the hooks does not know its numbers"
[ -x "$BUILD/tests/lib/calls" ] && [ -x "$BUILD/tests/lib/hook_calls" ] || skip "there is no calls"
s=$S/h$mark
mkdir "$s"
E=$s/kernel/events

# refused ERRNO WORD TEXT: the write fails, and `error` says why
refused() {
	is "'$3'" "$1" "$(tool open "$E" w write "$3\n")"
	has "$(cat "$s/error")" "$2"
}

# --- the list: each hook of the data once, and how it is recorded
cat "$MNT/available/kernel/groups" >"$work/groups" || fail "groups"
is "hooks, each once" "$(wc -l <"$work/groups")" "$(cut -d' ' -f1 "$work/groups" | sort -u | wc -l)"
[ "$(wc -l <"$work/groups")" -ge 220 ] || fail "$(wc -l <"$work/groups") hooks"
has "$(cat "$work/groups")" '^process.execve 3.3 sched:sched_process_exec$'
has "$(cat "$work/groups")" '^process.snapshot 3.1 lttng_statedump:'
has "$(cat "$work/groups")" '^nfs.aop.prepare_write.return 16.40 - nfs_prepare_write is gone since .* replaces it$'
has "$(cat "$work/groups")" '^iosyscall.read.return 9.6 syscall:exit:read$'
has "$(cat "$work/groups")" '^own.parents 0.0 syscall:entry:getppid$'
# What the list says does not depend on what was tried before.
! grep -q '^kernel.*no kprobes' "$MNT/version" ||
	is "hooks that are probes" "" "$(grep -E '^[^ ]* [^ ]* k(ret)?probe:' "$work/groups")"

# --- mistakes
refused ENOENT "did you mean 'process'" '@proces'
refused ENOENT "did you mean 'process.execve'" '@process.exceve'
refused ENOENT 'nfs_prepare_write is gone since Linux 2.6.28; kprobe:nfs_write_begin replaces it' '@nfs.aop.prepare_write.entry'
refused ENOENT 'it went with Linux 1.0' '@own.past'
refused ENOENT 'this kernel does not have nowhere:nothing' '@own.none'
refused ENOENT 'no event for the 2 hooks' '@nfs.aop.commit_write'
refused EINVAL 'name of a hook is missing' '@'
refused EINVAL "not a character of a hook's name" '@a!'
is "nothing was made" "" "$(ls "$s/kernel/channels")"

# --- a group, a hook, a hook of one's own: recorded, listed as written
printf '%s\n' '@iosyscall.fsync' '@own' '@process.fork if child_comm != "x"' '@process.execve' >"$E"
is "the list" "@iosyscall.fsync @own @process.fork if child_comm != \"x\" @process.execve" "$(tr '\n' ' ' <"$E" | sed 's/ $//')"
echo tid >"$s/kernel/contexts"
echo $$ >"$s/kernel/track/pid"
echo start >"$s/control"
pid=$("$BUILD/tests/lib/calls" 40)
sync "$work/groups" # fsync(2)
echo stop >"$s/control"
same_text "$s"
is "a hook of one's own" 40 "$(grep -c " syscall_entry_getppid: .*{ tid = $pid }" "$work/text")"
has "$(cat "$work/text")" ' syscall_entry_fsync: '
has "$(cat "$work/text")" ' syscall_exit_fsync: '
has "$(cat "$work/text")" " sched_process_exec: .*tests/lib/calls"
has "$(cat "$work/text")" " sched_process_fork: .*child_tid = $pid[ ,]"
is "and nothing else" "" "$(sed 's/^[^)]*) [^ ]* \([^:]*\):.*/\1/' "$work/text" | sort -u |
	grep -vx -e 'syscall_e[nx][a-z]*_fsync' -e syscall_entry_getppid -e 'sched_process_[ef][a-z]*')"

lket=$(cat "$s/export/lket.txt")
is "lines of lket-b2a" "$(wc -l <"$work/text")" "$(echo "$lket" | wc -l)"
has "$lket" '^[0-9]*[.][0-9]\{6\} CPU:[0-9]* TID:[0-9]*, PID:-, PPID:-, APPNAME:- EVT_NAME:iosyscall.fsync.entry fd:[0-9]*,$'
has "$lket" ' EVT_NAME:process.fork '
has "$lket" " TID:$pid, .* EVT_NAME:process.execve tid:$pid,.*new_process_name:[^,]*tests/lib/calls,"

cp -r "$s/export/ltt" "$work/ltt"
cat "$s/export/json" >"$work/json"
echo "$lket" >"$work/lket.txt"
is "LKET's files" "$(wc -l <"$work/text")" "$(python3 "$top/tests/lib/judge_lket.py" \
	"$s/export/lket" "$work/json" "$work/lket.txt" 2>&1)"
is "the LTT trace" "$(wc -l <"$work/text")" "$(python3 "$top/tests/lib/judge_ltt.py" "$work/ltt" "$work/json" 2>&1 | sed 's/ .*//')"

# The database has LKET's columns beside these: those of the lines, and the entry of each return.
cat "$s/export/sql" >"$work/sql"
is "LKET's columns" "2 of 2 fsync" "$(python3 - "$work/sql" "$work/lket.txt" 2>&1 <<'END'
import re
import sqlite3
import sys

con = sqlite3.connect(":memory:")
with open(sys.argv[1], encoding="utf-8", newline="") as f:
    con.executescript(f.read())
assert con.execute("SELECT Timing_Method FROM trace_header").fetchone() == (3,)
columns = [c[1] for c in con.execute("PRAGMA table_info(syscall_exit_fsync)")]
assert columns[:10] == ["time", "host", "cpu", "groupid", "hookid", "usec", "thread_id", "process_id",
                        "parentprocess_id", "entry_usec"], columns
events = {}
with open(sys.argv[2], encoding="utf-8") as f:
    for line in f:
        found = re.match(r"(\d+)[.](\d+) .* TID:(\d+), .* EVT_NAME:iosyscall.fsync.(\S+) ", line)
        if found:
            events[found.group(4)] = (int(found.group(1)) * 1000000 + int(found.group(2)),
                                      int(found.group(3)))
at, thread = events["entry"]
good = 0
for table, hook, when, entry in (("syscall_entry_fsync", 27, at, None),
                                 ("syscall_exit_fsync", 28, events["return"][0], at)):
    row = con.execute("SELECT groupid, hookid, usec, thread_id, process_id, parentprocess_id, "
                      "entry_usec FROM " + table).fetchone()
    assert row == (9, hook, when, thread, None, None, entry), row
    good += 1
assert "groupid" not in [c[1] for c in con.execute("PRAGMA table_info(syscall_entry_getppid)")]
print(good, "of 2 fsync")
END
)"

# --- all that this kernel has of what one program can do, with the values that it says
fire_hooks "f$mark"
hook_fields
[ "$(wc -l <"$work/fired")" -ge 55 ] || fail "only $(wc -l <"$work/fired") hooks were fired"

# --- removing the rule removes all of it
is "a rule that is removed" 0 "$(printf '!@iosyscall.fsync\n!@own\n' >>"$E"; echo $?)"
echo start >"$s/control"
again=$("$BUILD/tests/lib/calls" 30)
sync "$work/groups"
echo stop >"$s/control"
is "its hooks are not recorded" "0 1" "$(grep -c "entry_getppid: .*{ tid = $again }" "$s/text") $(grep -c syscall_entry_fsync "$s/text")"
is "the others are" 2 "$(grep -c 'sched_process_exec: .*tests/lib/calls' "$s/text")"
is "removed twice" ENOENT "$(tool open "$E" rw write '!@own\n')"
rmdir "$s"

# --- exceptions, and groups with dots and stars
s=$S/x$mark
mkdir "$s"
E=$s/kernel/events
echo '@iosyscall.*.entry except @iosyscall.write,syscall:entry:openat' >"$E" || fail "a pattern with stars"
echo '~@tskdispatch' >>"$E" || fail "a disabled rule"
echo '@process except @process.fork' >>"$E" || fail "an exception"
has "$(cat "$s/kernel/rules")" '@iosyscall'
echo $$ >"$s/kernel/track/pid"
echo start >"$s/control"
echo text >"$work/out"
cat "$work/out" >/dev/null
sync "$work/out"
echo stop >"$s/control"
text=$(cat "$s/text")
has "$text" ' syscall_entry_read: '
has "$text" ' syscall_entry_fsync: '
has "$text" ' sched_process_exec: '
has "$text" " lttng_statedump_process_state: .*[{ ]pid = $(kernel_pid $$), "
is "LKET's stoptrace_fork" 0 "$(echo "$text" | grep -c sched_process_fork)"
is "exceptions, returns and disabled rules" "" "$(echo "$text" | grep -e syscall_exit -e entry_write: -e entry_openat: -e sched_switch)"

# --- the session outlives its daemon
kill -9 $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT"
mount_tree
has "$(cat "$E")" '^@iosyscall'
echo start >"$s/control"
"$BUILD/tests/lib/calls" 30 "$BUILD/tests/lib/calls" >/dev/null
cat "$work/out" >/dev/null
echo stop >"$s/control"
[ "$(grep -c syscall_entry_read: "$s/text")" -gt "$(echo "$text" | grep -c syscall_entry_read:)" ] || fail "the next daemon does not record the hooks"

echo "$checks checks"
