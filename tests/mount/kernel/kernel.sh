#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# The kernel domain, on whatever kernel runs this: skips where the daemon finds no backend.
. "$(dirname "$0")/../../lib/mount.sh"

by_instance
mount_kernel

# calls NUMBER [FILE]: that number of getppid(2), or of openat(2) of the file; prints its pid
calls=$BUILD/tests/lib/calls
[ -x "$calls" ] || skip "there is no $calls"
many=1000000 files=20000
# A guest is slow.
[ -z "${VM-}" ] || many=50000 files=500

instances() {
	kernel_channels "[a-z]*$mark-"
}

# refused ERRNO WORD TEXT FILE: the write fails, and `error` says why
refused() {
	is "'$3'" "$1" "$(tool open "$4" w write "$3\n")"
	has "$(cat "$S/$session/error")" "$2"
}

# --- what there is
n=$(wc -l <"$MNT/available/kernel/tracepoints")
[ "$n" -gt 100 ] || fail "only $n tracepoints"
# (trail.ko has system calls of its own: tests/vm/module_syscalls.sh.)
# Three more are trailfs' own: sample:cpu, sample:cycles and sample:faults. (Others make events
# meanwhile.)
known() {
	echo $(($(grep -v '^trailtext_\|^trailfs_' $T/available_events | grep -vc '^syscalls:') +
		$(grep -c '^lttng_' "$MNT/available/kernel/tracepoints") + calls_listed + 3))
}
listed() { ls "$MNT"/available/kernel/events/* | grep -c '^[^/]*[^:]$'; }
all_listed() { [ "$(known)" = "$(listed)" ]; }
calls_listed=$(ls "$MNT/available/kernel/events/syscalls" | wc -l)
by_module ||
	is "the directory lists all system calls" "$(grep -c '^syscalls:' $T/available_events)" \
	"$calls_listed"
within 5 all_listed || is "the directories list all events" "$(known)" "$(listed)"
has "$(cat "$MNT/available/kernel/events/sched/sched_switch")" '^int32 next_tid$'
by_module ||
	is "contexts" "pid tid ppid vppid prio nice uid euid suid gid egid sgid vpid vtid procname cpu_id cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns" \
	"$(grep -v "^callstack-\|^hostname$\|^cgroup_id$\|^perf:" "$MNT/available/kernel/contexts" | xargs)"

# --- rules that are refused
session=r$mark
mkdir "$S/$session"
E=$S/$session/kernel/events
refused ENOENT "did you mean 'sched'" 'shed:sched_switch' "$E"
refused ENOENT "did you mean 'sched_switch'" 'sched:sched_swich' "$E"
refused ENOENT 'events of programs belong in user/events' 'hello:tick' "$E"
refused ENOENT "did you mean 'openat'" 'syscall:opennat' "$E"
refused EINVAL 'no log levels' 'sched_switch loglevel info' "$E"
refused EINVAL 'cannot be compared' 'sched_switch if prev_comm == 1' "$E"
by_module ||
	refused EOPNOTSUPP 'needs the kernel module trail.ko' 'preemptible' "$S/$session/kernel/contexts"
is "nothing was made" "" "$(ls "$S/$session/kernel/channels")"
rmdir "$S/$session"

# --- a system call, counted
s=$S/c$mark
mkdir "$s"
printf '%s\n' 'syscall:getppid' 'syscall:entry:openat' >"$s/kernel/events"
echo 'tid cpu_id' >"$s/kernel/contexts"
echo start >"$s/control"
is "one instance" 1 "$(instances)"
by_module || is "no other process can remove it" EBUSY "$(tool rmdir $T/instances/trailfs-c$mark-*)"
pid=$("$calls" 5000)
opener=$("$calls" 700 "$calls")
echo stop >"$s/control"
"$calls" 10 >/dev/null
same_text "$s"
is "getppid entries" 5000 "$(grep -c " syscall_entry_getppid: .*{ tid = $pid, " "$work/text")"
is "getppid exits" 5000 "$(grep -c " syscall_exit_getppid: .*{ tid = $pid, .*ret = $$ }" \
	"$work/text")"
# The loader's own have O_CLOEXEC.
is "opens" 700 "$(grep -c " syscall_entry_openat: .*{ tid = $opener, .*dfd = -100, .*flags = 0, " \
	"$work/text")"
grep -q syscall_exit_openat "$work/text" && fail "exits were not asked for"
is "no loss" 0 "$(key events_discarded "$s/status")"
is "recorded" "$(wc -l <"$work/text")" "$(key events_recorded "$s/status")"
for st in "$s"/kernel/channels/channel0/streams/cpu*; do
	[ "$(head -c 4 "$st" | od -An -tx4 | tr -d ' ')" = c1fc1fc1 ] ||
		fail "$st does not begin with a packet"
done

# --- stop and start, clear
echo start >"$s/control"
pid=$("$calls" 300)
printf 'stop\nclear\nstart\n' >"$s/control"
last=$("$calls" 200)
echo stop >"$s/control"
same_text "$s"
is "cleared" 0 "$(grep -c "{ tid = $pid, " "$work/text")"
is "after the clear" 200 "$(grep -c " syscall_entry_getppid: .*{ tid = $last, " "$work/text")"
rmdir "$s"
is "rmdir removes the instance" 0 "$(instances)"

# --- filters, two channels, text while it is recorded
s=$S/f$mark
mkdir "$s" "$s/kernel/channels/quiet"
echo 'sched_switch if next_prio < -1' >"$s/kernel/channels/quiet/events"
echo "syscall:exit:getppid if ret == $$" >"$s/kernel/events"
echo start >"$s/control"
"$calls" 50 >/dev/null
("$calls" 70 >/dev/null; true)
is "filter" 50 "$(grep -c syscall_exit_getppid "$s/text")"
is "nothing is below the deadline class" 0 "$(grep -c sched_switch "$s/text")"
echo '!syscall:exit:getppid' >>"$s/kernel/events"
"$calls" 5 >/dev/null
is "the rule went" 50 "$(grep -c syscall_exit_getppid "$s/text")"
rmdir "$s"

# --- text ends, although reading it makes events
s=$S/t$mark
mkdir "$s"
echo 'sched_switch' >"$s/kernel/events"
echo 'syscall:entry:read' >>"$s/kernel/events"
echo start >"$s/control"
timeout 1000 cat "$s/text" >"$work/text" || fail "the text of an active recording has no end"
timeout 1000 wc -l <"$s/text" >/dev/null || fail "the text of an active recording has no end"
rmdir "$s"

# --- pid, with what it starts
s=$S/p$mark
mkdir "$s"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo $$ >"$s/kernel/track/pid"
echo start >"$s/control"
pid=$("$calls" 40)
setsid -f sleep 0.1
echo stop >"$s/control"
is "a child of who is tracked" 40 "$(grep -c "{ tid = $pid }" "$s/text")"
: >"$work/none"
echo >"$s/kernel/track/pid"
echo start >"$s/control"
pid=$("$calls" 40)
echo stop >"$s/control"
is "no process is tracked" 0 "$(grep -c "{ tid = $pid }" "$s/text")"
rmdir "$s"

# --- by what the records do not tell
s=$S/v$mark
mkdir "$s"
session=v$mark
attrs='vuid vgid'
by_module && attrs= # it does: tests/vm/module_context.sh
for attr in $attrs; do
	is "all" '*' "$(cat "$s/kernel/track/$attr")"
	refused EOPNOTSUPP "the $attr of the process: that needs the kernel module trail.ko" \
		"# none\\n *\\n  17" "$s/kernel/track/$attr"
	has "$(cat "$s/error")" "^$attr:3: "
	echo >"$s/kernel/track/$attr" 2>/dev/null && fail "$attr was emptied"
	echo '*' >"$s/kernel/track/$attr" || fail "$attr: all"
done
rmdir "$s"

# --- everything at once, under load, with loss
s=$S/e$mark
mkdir "$s" "$s/kernel/channels/channel0"
counts_all "$s/kernel/channels/channel0"
echo 64k >"$s/kernel/channels/channel0/subbuf_size"
# (babeltrace2 2.0.4 now and then shows an empty string as the one before: these two are given
# such.)
printf '* except lttng_statedump_*\nsyscall:* except syscall:newfstatat,syscall:statx\n' \
	>"$s/kernel/events"
echo start >"$s/control"
find /usr/include /usr/lib -type f 2>/dev/null | head -n $files >/dev/null
echo stop >"$s/control"
same_text "$s"
sum=$(kernel_counted e$mark)
is "recorded and discarded are what the kernel counted" "$sum" \
	"$(($(key events_recorded "$s/status") + $(key events_discarded "$s/status")))"
is "held is what is not overwritten" "$(wc -l <"$work/text")" \
	"$(($(key events_recorded "$s/status") - $(key events_overwritten "$s/status")))"
rmdir "$s"

# --- discarding instead
s=$S/d$mark
mkdir "$s" "$s/kernel/channels/channel0"
echo 16k >"$s/kernel/channels/channel0/subbuf_size"
echo 2 >"$s/kernel/channels/channel0/subbuf_count"
echo discard >"$s/kernel/channels/channel0/loss_mode"
echo 'syscall:getppid' >"$s/kernel/events"
echo start >"$s/control"
"$calls" 20000 >/dev/null
echo stop >"$s/control"
same_text "$s"
sum=$(kernel_counted d$mark)
is "discarded" "$sum" "$(($(key events_recorded "$s/status") + $(key events_discarded \
	"$s/status")))"
[ "$sum" -ge 40000 ] || fail "$sum events of 40000"
rmdir "$s"

# --- applications and the kernel in one text, in order
s=$S/m$mark
mkdir "$s"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo 'trail:*' >"$s/user/events"
echo $$ >"$s/kernel/track/pid"
echo start >"$s/control"
for i in 1 2 3; do
	"$calls" 1 >/dev/null
	echo "mark $i" >"$MNT/log"
done
echo stop >"$s/control"
same_text "$s"
order=$(grep -E "mark|syscall_entry_getppid" "$work/text" |
	sed 's/.*\(mark .\).*/\1/; s/.*getppid.*/call/' | uniq | tr '\n' ' ')
is "merged" "call mark 1 call mark 2 call mark 3 " "$order"
is "two traces" "kernel ust" "$(ls "$s/trace" | tr '\n' ' ' | sed 's/ $//')"
rmdir "$s"

# --- pipe ends at stop, with everything
s=$S/w$mark
mkdir "$s"
echo 'syscall:entry:getppid' >"$s/kernel/events"
exec 5<"$s/pipe"	# (before the start, however busy the machine is)
timeout 1000 cat <&5 >"$work/pipe" &
reader=$!
exec 5<&-
echo start >"$s/control"
"$calls" 3000 >/dev/null
echo stop >"$s/control"
wait $reader || fail "the pipe does not end"
[ "$(grep -c getppid "$work/pipe")" -ge 3000 ] ||
	fail "the pipe has $(grep -c getppid "$work/pipe") of 3000 events"
rmdir "$s"

# --- who may
if [ "$(id -u)" = 0 ] && setpriv --reuid 54321 --regid 54321 --clear-groups true 2>/dev/null; then
	as() {
		setpriv --reuid 54321 --regid 54321 --clear-groups "$@"
	}
	chmod 755 "$work"
	as mkdir "$S/o$mark"
	is "no kernel for a user's session" no \
		"$(as test -e "$S/o$mark/kernel" && echo yes || echo no)"
	is "not even for root there" no "$([ -e "$S/o$mark/kernel" ] && echo yes || echo no)"
	as cat "$MNT/available/kernel/tracepoints" >/dev/null 2>&1 &&
		fail "a user reads the kernel's tracepoints"
	is "nothing to see" "" "$(as ls "$MNT/available/kernel/events")"
	mkdir "$S/g$mark"
	chmod 777 "$S/g$mark"
	cp "$TOOL" "$work/tool"
	is "a stranger in a shared session" EACCES \
		"$(as "$work/tool" open "$S/g$mark/kernel/events" w write 'sched_switch\n')"
	has "$(cat "$S/g$mark/error")" "members of the group 'tracing'"
	echo sched_switch >"$S/g$mark/kernel/events"
	echo start >"$S/g$mark/control"
	# One that records nothing for another owner may be closed, or only stopped.
	recording() {
		n=$(kernel_counted g$mark)
		"$calls" 1 >/dev/null
		[ "$(kernel_counted g$mark)" != "$n" ] && echo yes || echo no
	}
	is "recording" yes "$(recording)"
	chown 54321 "$S/g$mark"
	is "not for the new owner" no "$(recording)"
	rmdir "$S/g$mark" "$S/o$mark"
fi

# --- enabled, while active
s=$S/a$mark
mkdir "$s"
echo start >"$s/control" 2>/dev/null && fail "an empty session starts"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
echo 0 >"$s/kernel/channels/channel0/enabled"
off=$("$calls" 30)
echo 1 >"$s/kernel/channels/channel0/enabled"
on=$("$calls" 30)
is "disabled" 0 "$(grep -c "{ tid = $off }" "$s/text")"
is "enabled" 30 "$(grep -c "{ tid = $on }" "$s/text")"
is "contexts are fixed" EBUSY "$(tool open "$s/kernel/contexts" w write 'cpu_id\n')"
is "sizes are fixed" EBUSY "$(tool open "$s/kernel/channels/channel0/subbuf_size" w write '64k\n')"
mkdir "$s/kernel/channels/huge"
echo 1G >"$s/kernel/channels/huge/subbuf_size"
echo 512 >"$s/kernel/channels/huge/subbuf_count"
is "more than the kernel gives" failed \
	"$(echo sched_switch 2>/dev/null >"$s/kernel/channels/huge/events" || echo failed)"
has "$(cat "$s/error")" "of 549755813888 bytes"
rmdir "$s/kernel/channels/huge"
is "the rest continues" 30 "$(grep -c "{ tid = $("$calls" 30) }" "$s/text")"
rmdir "$s"

# --- the daemon does nothing while no process looks
s=$S/i$mark
mkdir "$s"
echo 'syscall:*' >"$s/kernel/events"
echo start >"$s/control"
daemon=$(daemon_pids)
ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }
before=$(ticks)
"$calls" $many getpgrp >/dev/null
idle=$(($(ticks) - before))
# (status asks for all of them.)
before=$(ticks)
key events_recorded "$s/status" >/dev/null
asked=$(($(ticks) - before))
[ $idle -le 10 ] || [ $((2 * idle)) -lt $asked ] ||
	fail "the daemon worked for $idle ticks although no process looks, and for $asked when one" \
		"does"
rmdir "$s"

# --- a killed daemon: the kernel continues recording, the next daemon finds it
s=$S/k$mark
mkdir "$s" "$S/l$mark"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo 'sched_switch' >"$S/l$mark/kernel/events"
echo start >"$s/control"
echo start >"$S/l$mark/control"
before=$("$calls" 100)
cat "$s/text" >/dev/null
kill -9 $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT"
during=$("$calls" 200)
rm -rf "$work/state/sessions/l$mark"
mount_tree
is "instances without a session are removed" 1 "$(instances)"
after=$("$calls" 300)
echo stop >"$s/control"
same_text "$s"
is "before the kill" 100 "$(grep -c "{ tid = $before }" "$work/text")"
is "without a daemon" 200 "$(grep -c "{ tid = $during }" "$work/text")"
is "with the next one" 300 "$(grep -c "{ tid = $after }" "$work/text")"
fusermount3 -u "$MNT" 2>/dev/null || umount "$MNT"
within 15 daemon_ended
is "a clean unmount leaves nothing" 0 "$(instances)"

echo "$checks checks"
