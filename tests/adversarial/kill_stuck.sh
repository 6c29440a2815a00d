#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# kill -9 of a daemon of which a thread waits in the kernel, here for a disk that hangs: the process
# cannot end, so /dev/fuse stays open, and all who use the tree would wait for ever. The keeper
# aborts the connection; without the keeper the next daemon does, and says what holds the state
# directory. A daemon that lives keeps its connection.
. "$(dirname "$0")/../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
ticker=$BUILD/tests/lib/ticker

# (The mount namespace is the test's own.)
fusectl=/sys/fs/fuse/connections
[ -e "$fusectl/$(ls "$fusectl" | head -n 1)/abort" ] || mount -t fusectl fusectl "$fusectl" ||
	skip "cannot mount fusectl"
faulty_disk
# Whatever happens, no process stays in the kernel.
device=
free_all() {
	: >"$control"
	# (The number of a connection that has ended may be that of another mount's now: an abort of that
	# would end the daemon of another test. So abort only while our daemon is stuck.)
	[ -z "$device" ] || ! dead || ! waits_for_disk || echo 1 >"$fusectl/$device/abort"
} 2>/dev/null
end() {
	code=$?
	free_all
	umount -l "$MNT" 2>/dev/null
	umount -l "$disk"
	(exit $code)
	clean_up
}
trap end EXIT

dead() { [ "$(awk '{ print $3 }' "/proc/$daemon/stat" 2>/dev/null)" = Z ]; }
waits_for_disk() { grep -qs 'request_wait_answer\|fuse_simple_request' /proc/"$daemon"/task/*/wchan; }
connection() {
	awk -v m="$MNT" '$5 == m { sub(/.*:/, "", $3); d = $3 } END { print d }' /proc/self/mountinfo
}
# get_stuck SESSION: its output hangs in a write. Sets daemon, device, keeper.
get_stuck() {
	s=$S/$1
	mount_tree -o wait=800
	daemon=$(daemon_pids) device=$(connection) keeper=$(key keeper "$MNT/status")
	echo 'write hang' >"$control"
	mkdir "$s" || fail mkdir
	put "$disk/$1" "$s/output"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
	"$ticker" 1000 0 >/dev/null || fail ticker
	timeout 100 sh -c 'echo stop >"$1"' sh "$s/control" 2>/dev/null
	within 60 waits_for_disk || fail "no thread waits for the disk"
}
kill_stuck() {
	kill -9 "$daemon"
	within 60 dead || fail "the daemon did not get stuck"
	kill -0 "$daemon" || fail "the daemon has ended"
}
aborted() { timeout 5 stat "$MNT" 2>&1 | grep -q 'not connected\|connection abort'; }
ended() { ! kill -0 "$daemon" 2>/dev/null; }

get_stuck one
# The daemon lives: a look of another daemon changes nothing.
"$TRAILFS" "$MNT" >"$work/second" 2>&1 && fail "a second daemon has mounted"
has "$(cat "$work/second")" "process $daemon, another trailfs daemon"
timeout 100 cat "$MNT/version" >/dev/null || fail "the daemon does not answer"

kill_stuck
within 60 aborted || fail "those who use the tree wait for ever"
: >"$control"
within 60 ended || fail "the daemon does not end"

# A keeper that does nothing
get_stuck two
stop_process "$keeper"
kill_stuck
timeout 100 "$TRAILFS" "$MNT" >"$work/second" 2>&1 && fail "two daemons use the state directory"
killed="the killed trailfs daemon $daemon"
has "$(cat "$work/second")" "$killed was stuck: aborted its FUSE connection"
has "$(cat "$work/second")" "$killed uses this state directory and cannot end"
! mounted || fail "the dead mount stays"
# Another file system has the connection's number now, if no other test was quicker: no daemon
# aborts that.
mkdir "$work/other"
"$TRAILFS" -o keeper=0,state="$work/other.state" "$work/other" || fail "another mount"
other=$(MNT=$work/other connection)
timeout 100 "$TRAILFS" "$MNT" >"$work/second" 2>&1 && fail "two daemons use the state directory"
has "$(cat "$work/second")" "$killed uses this state directory and cannot end"
timeout 100 cat "$work/other/version" >/dev/null ||
	fail "the connection $other of another file system was aborted (the dead one was $device)"
umount "$work/other" || fail umount
kill -CONT "$keeper"
: >"$control"
within 60 ended || fail "the daemon does not end"
mount_tree
is "the sessions" "one two" "$(ls "$S" | tr '\n' ' ' | sed 's/ $//')"
rmdir "$S/one" "$S/two" || fail "rmdir: $(cat "$MNT/error")"
echo "$checks checks"
