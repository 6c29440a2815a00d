#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The keeper is killed while the daemon lives: another one takes its place and gets everything. The
# keeper is stopped: sessions are made and removed nevertheless, and it catches up when it
# continues.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount

start() {
	"$TRAILFS" "$MNT" -f >"$work/daemon.log" 2>&1 &
	daemon=$!
	within 10 test -s "$MNT/README" || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(cat "$work/daemon.log")"
		fail "no mount"
	}
}

kill_daemon() {
	kill -9 $daemon
	wait $daemon 2>/dev/null
}

start
mkdir "$S/s" "$S/s/user/channels/second"
echo 'trail:log' >"$S/s/user/events"
echo 'trail:log' >"$S/s/user/channels/second/events"
echo start >"$S/s/control"
seq -f 'message %g' 500 >"$MNT/log"
mkdir "$S/s/snapshots/old"
seq -f 'message %g' 501 600 >"$MNT/log"
cat "$S/s/text" >"$work/text"
find "$S/s/snapshots/old" -type f -size +0 -exec cksum {} + | sort >"$work/old"
is "lines" 1200 "$(wc -l <"$work/text")"

first=$(key keeper "$MNT/status")
kill -9 "$first"
replaced() {
	[ "$(key keepers_replaced "$MNT/status")" = "$1" ]
}
within 20 replaced 1 ||
	fail "the keeper was killed, and no other took its place: $(grep keeper "$MNT/status")"
second=$(key keeper "$MNT/status")
[ "$first" != "$second" ] || fail "status shows the dead keeper"
kill -0 "$second" || fail "no such process: keeper $second"
has "$(cat "$work/daemon.log")" "keeper, process $first, has ended. Process $second takes its place and has got 2 buffers and 1 snapshots"
# Again, and then the daemon: nothing is lost
kill -9 "$second"
within 20 replaced 2 || fail "the second keeper is not replaced"
kill_daemon
start
is "buffers that were lost" 0 "$(key buffers_lost "$S/s/status")"
cmp "$S/s/text" "$work/text" || fail "the text is another one after keeper and daemon were killed"
find "$S/s/snapshots/old" -type f -size +0 -exec cksum {} + | sort >"$work/new"
cmp "$work/new" "$work/old" ||
	fail "the snapshot is another one after keeper and daemon were killed"
kill_daemon
start
is "buffers that were lost (2)" 0 "$(key buffers_lost "$S/s/status")"

# A keeper that is stopped delays what needs it once, not once per buffer
keeper=$(key keeper "$MNT/status")
mkdir "$S/many"
# (Many, so that the sum of delays would be long also on a machine that is slow without them)
channels=64
for i in $(seq $channels); do
	mkdir "$S/many/user/channels/c$i"
	echo 4k >"$S/many/user/channels/c$i/subbuf_size"
	echo trail:log >"$S/many/user/channels/c$i/events"
done
echo start >"$S/many/control"
echo first >"$MNT/log"
stop_process "$keeper"
mkdir "$S/new" "$S/new/user/channels/c"
echo trail:log >"$S/new/user/channels/c/events"
echo start >"$S/new/control"
echo second >"$MNT/log"
before=$(date +%s)
rmdir "$S/many" || fail "rmdir"
took=$(($(date +%s) - before))
[ $took -lt $((channels / 2)) ] || fail "rmdir took $took seconds"
checks=$((checks + 1))
kill -CONT "$keeper"
cat "$S/new/text" >"$work/text"
has "$(cat "$work/text")" 'msg = "second"'
# (It answers requests in order: when this one is answered, it has caught up.)
mkdir "$S/new/snapshots/last" || fail "mkdir snapshots/last"
is "the keeper" "$keeper" "$(key keeper "$MNT/status")"
is "keepers" 0 "$(key keepers_replaced "$MNT/status")"
kill_daemon
start
cmp "$S/new/text" "$work/text" || fail "what was recorded while the keeper was stopped is lost"
is "sessions" "new s" "$(echo $(ls "$S"))"
echo "$checks checks"
