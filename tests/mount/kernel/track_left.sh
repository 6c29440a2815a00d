#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that is killed while it replaces the set of threads leaves the kernel a set that is not
# the session's. The next daemon sets it again, and blames no other program. The test writes the set
# while no daemon runs, which leaves the same state.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_module && skip "instances of tracefs are not used: trail.ko is loaded"
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"

# next_daemon: kills the daemon, sets LEFT in the kernel, starts another
next_daemon() {
	kill -9 $(daemon_pids)
	within 20 daemon_ended
	end_dead_mount "$MNT"
	echo "$1" >"$set"
	mount_tree
}
# kernel_has PATTERN
kernel_has() { grep -q "$1" "$set"; }
none() { [ -z "$(tr -dc 0-9 <"$set")" ]; }
blames() { cat "$s/status" "$MNT/error" "$work/daemon.log" 2>/dev/null | grep 'another program'; }

s=$S/t$mark
mkdir "$s" "$s/kernel/channels/channel0"
put tracefs "$s/kernel/channels/channel0/backend"
put syscall:entry:getpgid "$s/kernel/events"
put start "$s/control"
set=$(echo "$T/instances/trailfs-t$mark-"*/set_event_pid)
next_daemon $$
within 20 none || fail "all are tracked, the kernel has: $(cat "$set")"
is "all: no other program is blamed" "" "$(blames)"
put $$ "$s/kernel/track/pid"
within 20 kernel_has "^$$\$" || fail "the kernel has: $(cat "$set")"
next_daemon ''
within 20 kernel_has "^$$\$" || fail "$$ is tracked, the kernel has: $(cat "$set")"
is "one: no other program is blamed" "" "$(blames)"
echo "$checks checks"
