#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A crowd of one user's questions delays no other user's: the users take turns. While one user
# connects as fast as the daemon accepts, beyond the limit of connections, a program of another user
# is traced.
. "$(dirname "$0")/../../lib/mount.sh"
flood=$BUILD/tests/mount/users/flood
turns=$BUILD/tests/mount/users/turns
burst=$BUILD/tests/mount/programs/burst
ticker=$BUILD/tests/lib/ticker
[ "$(id -u)" = 0 ] || skip "only root can be two users"
[ -x "$flood" ] && [ -x "$turns" ] && [ -x "$burst" ] && [ -x "$ticker" ] ||
	skip "there are no test programs"
mount_tree
limit=$(awk '/^Max open files/ { print $5 }' "/proc/$(daemon_pids)/limits")
[ "$limit" -ge 10000 ] || skip "the daemon may have only $limit descriptors"
mkdir "$S/s" && echo 'tick:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail session
# Root gets a socket of its own with its first application.
"$burst" 1 1 || fail "burst: $?"
[ ! -d "$TRAIL_RUNTIME_DIR/sockets" ] || within 20 test -S "$TRAIL_RUNTIME_DIR/sockets/0" ||
	fail "root has no socket"
"$turns" "$(daemon_pids)" 65534 >"$work/turns"
status=$?
if [ $status != 77 ]; then
	read -r before all <"$work/turns"
	[ $status = 0 ] && [ "$before" -lt $((all / 2)) ] ||
		fail "$before of one user's $all questions were answered before another user's one"
	checks=$((checks + 1))
fi
mkfifo "$work/in" "$work/out" || fail mkfifo
"$flood" 65534 <"$work/in" >"$work/out" &
pid=$!
exec 8>"$work/in" 7<"$work/out"
read -r ready <&7 || {
	wait $pid
	[ $? != 77 ] || skip "the descriptors cannot be had"
	fail "no connections"
}
# It hits its tracepoint until the events arrive: how fast that is depends on the machine.
"$ticker" 0 1000 >"$work/ticks" &
app=$!
recorded() {
	[ "$(key events_recorded "$S/s/status")" -gt 0 ]
}
within 60 recorded || {
	kill $app
	exec 8>&-
	fail "nothing is recorded of a program beside a flood"
}
kill $app
wait $app || fail "ticker: $?"
exec 8>&-
wait $pid || fail "flood: $?"
accounted() {
	sum=$(($(key events_recorded "$S/s/status") + $(key events_discarded "$S/s/status")))
	[ $sum = "$(cat "$work/ticks")" ]
}
within 20 accounted || fail "recorded and discarded are $sum of $(cat "$work/ticks") events"
checks=$((checks + 2))
echo "$checks checks"
