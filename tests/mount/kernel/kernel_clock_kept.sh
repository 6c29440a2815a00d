#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon whose clock is another one than that of the daemon before it, as when the kernel has
# found its TSC unstable meanwhile: a recording keeps its clock. No event of it is lost, times stay
# in order, and a new session has the new clock.
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel
grep -q '^clock tsc' "$MNT/version" || skip "the clock of this machine is not the TSC"
by_module && skip "a ring of trail.ko has one clock: tests/vm/module_nest.sh"
start_caller
s=$S/kept
mkdir "$s"
echo "$mine" >"$s/kernel/events" && echo start >"$s/control" || fail "start"
call 100
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
call 200
TRAILFS_CLOCK=monotonic
export TRAILFS_CLOCK
mount_tree
has "$(cat "$MNT/version")" '^clock monotonic'
call 300
before=$(date +%s)
echo stop >"$s/control"
is "no other program is blamed" "" "$(grep 'another program' "$s/status" "$s/error")"
same_text "$s"
is "calls" 600 "$(grep -c ' syscall_entry_getppid: ' "$work/text")"
is "lost" 0 "$(key events_discarded "$s/status")"
is "times" "" "$(awk '{ if ($1 < last) print; last = $1 }' "$work/text")"
# The last one is of these seconds.
last=$(TZ=UTC babeltrace2 --clock-gmt --clock-seconds "$s/trace" | tail -n 1 |
	sed 's/^\[\([0-9]*\).*/\1/')
[ $((before - last)) -le 300 ] && [ $((last - before)) -le 300 ] || fail "$last is not $before"
rmdir "$s"

# --- a new session, and one that begins again
mkdir "$S/new"
echo "$mine" >"$S/new/kernel/events" && echo start >"$S/new/control" || fail "start"
call 50
echo stop >"$S/new/control"
same_text "$S/new"
is "calls" 50 "$(grep -c ' syscall_entry_getppid: ' "$work/text")"
rmdir "$S/new"
echo "$checks checks"
