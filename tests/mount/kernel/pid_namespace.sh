#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon in a PID namespace, where processes have other numbers than in the kernel's records:
# track/pid takes the numbers of its /proc, threads that ran before the start have their names, and
# the state dump has the numbers of the records. Where the daemon cannot know them, the write fails
# and says why.
[ -n "${INSIDE-}" ] || {
	unshare --pid --fork --mount-proc true 2>/dev/null || {
		echo "no PID namespaces here"
		exit 77
	}
	INSIDE=1 exec unshare --pid --fork --mount-proc "$0"
}
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel
calls=$BUILD/tests/lib/calls

s=$S/p$mark
mkdir "$s"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo 'pid tid procname' >"$s/kernel/contexts"
mkfifo "$work/numbers"
"$calls" <"$work/numbers" >"$work/own" &
pid=$!
exec 9>"$work/numbers"
is "the process is at work" x "x$(within 30 test -d /proc/$pid || echo none)"

# --- /proc of another namespace
cat >"$work/other.sh" <<'SH'
MNT=$1
mkdir -p "$MNT"
"$TRAILFS" "$MNT" || exit 1
mkdir "$MNT/sessions/x"
"$TOOL" open "$MNT/sessions/x/kernel/track/pid" w write '1\n'
cat "$MNT/sessions/x/error"
echo "and: $(cat "$MNT/sessions/x/kernel/track/pid")"
fusermount3 -u "$MNT"
SH
said=$(TRAIL_RUNTIME_DIR=$work/other unshare --pid --fork sh "$work/other.sh" "$work/mnt2" 2>&1)
has "$said" '^EOPNOTSUPP$'
has "$said" '/proc belongs to another namespace'
has "$said" '^and: \*$'

# --- only this process
echo "$pid" >"$s/kernel/track/pid" || {
	grep -q 'BPF' "$s/error" && skip "$(sed -n 's/^[^:]*: //; 1p' "$s/error")"
	fail "track/pid: $(cat "$s/error")"
}
is "read back" "$pid" "$(cat "$s/kernel/track/pid")"
echo start >"$s/control"
echo 50 >&9
within 30 grep -q . "$work/own" || fail "the process did nothing"
"$calls" 30 >/dev/null
echo stop >"$s/control"
cat "$s/text" >"$work/text"
is "events of the process" 50 "$(grep -c 'getppid: .* procname = "calls" }' "$work/text")"
# (The process starts a shell to find out its number.)
is "of no other one" 50 "$(grep getppid "$work/text" | grep -vc 'procname = "sh" }')"
ids=$(sed -n 's/.*{ \(pid = [0-9]*, tid = [0-9]*\), procname = "calls" }.*/\1/p' "$work/text" |
	sort -u)
number=${ids##* }
is "one process" "pid = $number, tid = $number" "$ids"
[ "$number" != "$pid" ] || fail "the record has the number of the namespace"
rmdir "$s"

# --- the state dump
s=$S/d$mark
mkdir "$s"
echo 'lttng_statedump_process_*' >"$s/kernel/events"
echo start >"$s/control"
within 30 grep -q 'state_dump\|lttng_statedump' "$s/text" || fail "no state dump"
echo stop >"$s/control"
has "$(cat "$s/text")" "process_state: .*tid = $number, pid = $number, .*name = \"calls\""
has "$(cat "$s/text")" "process_pid_ns: .*tid = $number, vtid = $pid, vpid = $pid, "
rmdir "$s"
exec 9>&-
wait $pid
echo "$checks checks"
