#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# When wait(2) has returned for a program, the session's `status` has all its events, recorded or
# discarded, at once: also if the daemon could not answer it, and has not come to it yet.
. "$(dirname "$0")/../../lib/mount.sh"
ended=$BUILD/tests/mount/programs/ended
[ -x "$ended" ] || skip "there is no test program"
mount_tree
mkdir "$S/s" && echo 'ended:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail session
pid=$(daemon_pids)
i=0
while [ $i -lt 8 ]; do
	for status in "$S/s/status" "$S/s/user/channels/channel0/status"; do
		i=$((i + 1))
		stop_process "$pid"
		got=$("$ended" 100 "$status" "$pid" "$TRAIL_RUNTIME_DIR/apps") || fail "ended: $?"
		is "events in $status" $((i * 100)) "$got"
	done
done

# `stop` counts them, too.
while [ $i -lt 12 ]; do
	i=$((i + 1))
	stop_process "$pid"
	"$ended" 100 "$S/s/control" "$pid" "$TRAIL_RUNTIME_DIR/apps" >"$work/out" &&
		echo stop >"$S/s/control" || fail "stop: $?"
	is "events at stop" $((i * 100)) \
		$(($(key events_recorded "$S/s/status") + $(key events_discarded "$S/s/status")))
	echo start >"$S/s/control" || fail start
done
echo "$checks checks"
