#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Triggers on events of the kernel: captures, actions, each hit counted or counted as lost, users,
# mistakes, kill -9 of the daemon; no buffer is left in the kernel. Skips where the daemon finds no
# backend.
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel
G=$MNT/triggers
# The conditions ask for the id of this process.
# (Not getppid, of which other tests record all.)
start_caller getpgrp

# trigger NAME CONDITION ACTION…
trigger() {
	mkdir "$G/$1" && echo "$2" >"$G/$1/condition" || fail "trigger $1: $2"
	g=$G/$1
	shift 2
	for action; do echo "$action" >>"$g/actions" || fail "action $action"; done
}
hits() { # NAME N
	[ "$(key hits "$G/$1/status")" = "$2" ]
}
seen() { # NAME N: that number of events are hits or lost
	[ $(($(key hits "$G/$1/status") + $(key events_lost "$G/$1/status"))) = "$2" ]
}
executed() { # NAME N TIMES
	[ "$(awk -v n="$2" '$1 == "action" && $2 == n { print $4 }' "$G/$1/status")" = "$3" ]
}

# --- captures: fields, contexts, and what the event does not have
trigger a "event kernel $mine capture \$ctx.procname, \$ctx.tid, nothing" notify
trigger f "event kernel sched:sched_process_fork capture parent_comm, parent_pid, child_comm[0]" \
	notify
for f in a/notifications a/notifications.json f/notifications.json; do
	timeout 100 cat "$G/$f" >"$work/$(echo $f | tr / .)" &
	readers="$readers $!"
done
within 10 grep -q '^readers 2' "$G/a/status" || fail "no readers"
within 10 grep -q '^readers 1' "$G/f/status" || fail "no reader"
call 3
within 20 seen a 3 || fail "hits: $(cat "$G/a/status")"
within 10 sh -c "[ \$(wc -l <'$work/a.notifications') = 3 ]" || fail "lines: $(cat "$work"/a.*)"
is "text" "\$ctx.procname = \"calls\", \$ctx.tid = $number, nothing = unavailable" \
	"$(sed -n '1s/^\[[0-9:.]*\] a { \(.*\) }$/\1/p' "$work/a.notifications")"
within 10 sh -c "[ \$(wc -l <'$work/a.notifications.json') = 3 ]" || fail "JSON"
is "JSON" "{\"\$ctx.procname\":\"calls\",\"\$ctx.tid\":$number,\"nothing\":null}" \
	"$(sed -n '3s/^{"time":[0-9]*,"trigger":"a","values":\(.*\)}$/\1/p' \
		"$work/a.notifications.json")"
/bin/true
forked() {
	/bin/true
	grep -q "\"parent_pid\":$(kernel_pid $$)," "$work/f.notifications.json"
}
within 10 forked || fail "no fork of this shell: $(tail -n 3 "$work/f.notifications.json")"
kill $readers
rmdir "$G/f"
is "no session is seen" "" "$(ls "$S")"

# --- without hits the daemon sleeps; a look each millisecond would be 1,000 in a second
switches() {
	cat "/proc/$(daemon_pids)"/task/*/status | awk '/^voluntary/ { s += $2 } END { print s }'
}
if grep -q '^kernel tracefs' "$MNT/version"; then
	since=$(uptime_seconds) before=$(switches)
	sleep 1
	[ $(($(switches) - before)) -lt $((200 * ($(uptime_seconds) - since + 1))) ] ||
		fail "the daemon looks again and again"
fi

# --- all are counted, and what the kernel's buffer loses while the daemon stands still is counted
# too
trigger n "event kernel $mine" 'notify every 1000' 'notify once-after 1500'
call 20000
within 30 seen n 20000 || fail "$(cat "$G/n/status")"
executed n 1 $(($(key hits "$G/n/status") / 1000)) || fail "every: $(cat "$G/n/status")"
executed n 2 1 || fail "once-after: $(cat "$G/n/status")"
stop_process "$(daemon_pids)"
call 200000
kill -CONT $(daemon_pids)
within 60 seen n 220000 || fail "$(cat "$G/n/status")"
[ "$(key events_lost "$G/n/status")" -gt 0 ] || fail "the kernel's buffer cannot hold all that"
executed n 1 $(($(key hits "$G/n/status") / 1000)) || fail "every: $(cat "$G/n/status")"
rmdir "$G/n"

# --- each action; a hit is the kernel's, and the session that is stopped has it
mkdir "$S/$mark" && echo sched_switch >"$S/$mark/kernel/events" && echo start >"$S/$mark/control"
suffix=$({ [ ! -e /dev/trail ] || "$BUILD/tests/vm/heads"; ls $T/instances; } |
	sed -n "s/^trailfs-$mark-channel0-.*-\([0-9a-f]*\).*/\1/p" | head -n 1)
[ -n "$suffix" ] || fail "no buffer in the kernel"
for s in s1 s2 s3 s4 s5; do
	mkdir "$S/$s" && echo "$mine" >"$S/$s/kernel/events" || fail "session $s"
done
mkdir "$work/out"
echo "$work/out" >"$S/s3/output"
for s in s2 s3 s4 s5; do echo start >"$S/$s/control"; done
trigger all "event kernel $mine" notify 'start s1' 'stop s2' 'rotate s3' 'snapshot s4 x' 'clear s5'
call 1
within 30 executed all 6 1 || fail "actions: $(cat "$G/all/status")"
is "nothing failed" "0 0 0 0 0 0 " "$(awk '$1 == "action" { printf "%s ", $6 }' "$G/all/status")"
is "started" active "$(key state "$S/s1/status")"
is "stopped" inactive "$(key state "$S/s2/status")"
is "archives" 1 "$(ls "$work/out/archives" | wc -l)"
is "snapshot" x "$(ls "$S/s4/snapshots")"
is "cleared" 0 "$(key events_recorded "$S/s5/status")"
for s in s2 s4; do has "$(cat "$S/$s/text")" 'getpgrp'; done
rmdir "$S"/* "$G/all"

# --- off, and on again
trigger off "event kernel $mine" notify
echo 0 >"$G/off/enabled"
call 5
echo 1 >"$G/off/enabled"
call 2
within 20 hits off 2 || fail "enabled again: $(cat "$G/off/status")"

# --- mistakes: those of a rule, as in kernel/events, in the line of the condition
before=$(cat "$G/a/condition")
wrong() { # TEXT ERRNO SENTENCE COLUMN
	is "'$1'" "$2" "$(tool open "$G/a/condition" w write "$1\n")"
	has "$(cat "$G/a/error")" "^condition:1: .*$3"
	is "caret of '$1'" "$4" "$(awk '/^ *\^$/ { at = index($0, "^") - 3 } END { print at }' \
		"$G/a/error")"
	is "unchanged after '$1'" "$before" "$(cat "$G/a/condition")"
	echo 1 >"$G/a/enabled"
}
wrong 'event kernel' EINVAL 'a rule is missing' 12
wrong 'event kernel capture x' EINVAL 'a rule is missing' 13
wrong 'event kernel !sched_switch' EINVAL 'begins with a pattern' 13
wrong 'event kernel shed:sched_switch' ENOENT "did you mean 'sched'" 13
wrong 'event kernel sched_swich' ENOENT "did you mean 'sched_switch'" 13
wrong 'event kernel sched:sched_swich' ENOENT "did you mean 'sched_switch'" 19
wrong 'event kernel syscall:getpid_' ENOENT 'no such system call' 21
wrong 'event kernel sched_switch if nxt_prio < 3' EINVAL "did you mean 'next_prio'" 29
wrong 'event kernel sched_switch if next_prio <' EINVAL '' 40
wrong 'event kernel sched_switch loglevel info' EINVAL 'no log levels' 26
wrong 'event kernel sched_switch capture' EINVAL 'a capture is' 33
wrong 'event kernel sched_switch capture a, $ctx.procnam' ENOENT 'no such context' 42
wrong 'event kernel kprobe:' EINVAL 'a symbol is missing' 20
wrong 'event kernel uprobe:/no/such/file:main' ENOENT 'No such file' 13
wrong 'event kernel usdt:/no/such/file:a:b capture x' ENOENT 'No such file' 13
wrong "event kernel uprobe:$BUILD/tests/lib/tool:no_such_function" ENOENT 'no function' 13

# --- who may trace the kernel; whose files a path names
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as() {
		setpriv --reuid 12345 --regid 12345 --clear-groups "$@"
	}
	as mkdir "$G/hers" || fail "as another user"
	is "not in the group" EACCES \
		"$(as "$TOOL" open "$G/hers/condition" w write 'event kernel sched_switch\n')"
	has "$(cat "$G/hers/error")" "members of the group 'tracing'"
	echo 'event kernel sched_switch' 2>/dev/null >"$G/hers/condition" &&
		fail "root makes another user's trigger trace the kernel"
	is "none" "" "$(cat "$G/hers/condition")"
	chmod 770 "$G/off" && chgrp 12345 "$G/off"
	off=$G/off@0    # so another user sees root's
	is "another user writes root's trigger" EACCES \
		"$(as "$TOOL" open "$off/condition" w write 'event kernel sched_switch\n')"
	is "by its config" EACCES "$(as "$TOOL" open "$off/config" w \
		write '[trigger]\ncondition = event kernel sched_switch\n' close | tail -n 1)"
	has "$(cat "$G/off/condition")" getpgrp
	chown 12345 "$G/off"
	has "$(cat "$G/off/status")" "^condition_error .*members of the group 'tracing'"
	call 5
	hits off 2 || fail "it sees the kernel still: $(cat "$G/off/status")"
	chown 0 "$G/off"
	call 1
	within 20 hits off 3 || fail "root's again: $(cat "$G/off/status")"
	is "no error" "" "$(grep condition_error "$G/off/status")"
	rmdir "$G/hers"
fi
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	is "another mount namespace" EACCES "$(unshare -m "$TOOL" open "$G/a/condition" w \
		write 'event kernel uprobe:/no/such/file:main\n')"
	has "$(cat "$G/a/error")" 'namespace'
fi

# --- the daemon is killed: the next one makes the trigger's buffer again, and removes the old one
cd /
kill -9 $(daemon_pids)
within 10 daemon_ended
mount_tree
[ -e "$T" ] || fail "no tracefs"
is "its condition" "$before" "$(cat "$G/a/condition")"
is "no mistake" "" "$(grep condition_error "$G/a/status")"
n=$(key hits "$G/a/status")
call 4
within 20 hits a $((n + 4)) || fail "after the kill: $(cat "$G/a/status")"

# --- nothing is left in the kernel
is "a buffer for each" 2 "$(kernel_channels ".trigger-.*-$suffix")"
rmdir "$G"/*
is "removed" 0 "$(kernel_channels ".trigger-.*-$suffix")"
kill $caller
echo "$checks checks"
