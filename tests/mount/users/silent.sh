#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Connections that send nothing keep no program of the same user from attaching: at the limit of
# connections, the oldest silent one makes room for the next.
. "$(dirname "$0")/../../lib/mount.sh"
silent=$BUILD/tests/mount/users/silent
burst=$BUILD/tests/mount/programs/burst
[ -x "$silent" ] && [ -x "$burst" ] || skip "there are no test programs"
mount_tree
limit=$(awk '/^Max open files/ { print $5 }' "/proc/$(daemon_pids)/limits")
[ "$limit" -ge 10000 ] || skip "the daemon may have only $limit descriptors"
mkdir "$S/s" && echo 'burst:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail session
mkfifo "$work/in" "$work/out" || fail mkfifo
"$silent" 8192 <"$work/in" >"$work/out" &
pid=$!
exec 8>"$work/in" 7<"$work/out"
read -r ready <&7 || { wait $pid; [ $? != 77 ] ||
	skip "8192 descriptors cannot be had"; fail "no connections"; }
for i in 1 2 3; do
	"$burst" 1 100 || fail "burst: $?"
done
exec 8>&-
wait $pid || fail "silent: $?"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
is "recorded" 300 "$(key events_recorded "$S/s/status")"
echo "$checks checks"
