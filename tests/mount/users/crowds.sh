#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Two users who together have all the connections that the daemon allows keep no program of a third
# from attaching.
. "$(dirname "$0")/../../lib/mount.sh"
silent=$BUILD/tests/mount/users/silent
burst=$BUILD/tests/mount/programs/burst
[ "$(id -u)" = 0 ] || skip "only root can be two users"
[ -x "$silent" ] && [ -x "$burst" ] || skip "there are no test programs"
command -v setpriv >/dev/null || skip "there is no setpriv"
mount_tree
limit=$(awk '/^Max open files/ { print $5 }' "/proc/$(daemon_pids)/limits")
[ "$limit" -ge 17000 ] || skip "the daemon may have only $limit descriptors"
mkdir "$S/s" && echo 'burst:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail session
mkfifo "$work/in" "$work/out" || fail mkfifo
pids=
for user in 65533 65534; do
	setpriv --reuid $user --regid $user --clear-groups "$silent" 8192 \
		<"$work/in" >"$work/out" 7<&- 8>&- &
	pids="$pids $!"
	[ $user != 65533 ] || exec 8>"$work/in" 7<"$work/out"
	read -r ready <&7 || {
		wait $!
		[ $? != 77 ] || skip "8192 descriptors cannot be had"
		fail "no connections"
	}
done
for i in 1 2 3; do
	"$burst" 1 100 || fail "burst: $?"
done
exec 8>&-
for pid in $pids; do
	wait "$pid" || fail "silent: $?"
done
is "discarded" 0 "$(key events_discarded "$S/s/status")"
is "recorded" 300 "$(key events_recorded "$S/s/status")"
echo "$checks checks"
