#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Applications wake the daemon for hits of triggers: once for a burst, and not for other events or
# when no action can be due; the daemon sleeps meanwhile. After trail_seal() and where a bell is
# ignored, hits are found all the same.
. "$(dirname "$0")/../../lib/mount.sh"
T=$MNT/triggers
waker=$BUILD/tests/mount/triggers/waker
mount_tree -o tz=UTC

hits() { # NAME N
	[ "$(key hits "$T/$1/status")" = "$2" ]
}
# Threads of the daemon went to sleep this often.
sleeps() {
	cat /proc/"$(daemon_pids)"/task/*/status |
		awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'
}

mkdir "$T/a" "$S/s"
echo 'event user wake:hit' >"$T/a/condition"
echo notify >"$T/a/actions"
echo 'wake:*' >"$S/s/user/events"
echo start >"$S/s/control"

# --- an event wakes the daemon. A daemon that looks all the time would also find it.
total=0
woken() {
	n=$("$waker" 20 2000) && total=$((total + n))
	[ "$total" -gt 0 ]
}
within 20 woken || fail "no event woke the daemon"

# --- nothing happens: the daemon sleeps, where one that looks each millisecond wakes 2,000 times
idle() {
	before=$(sleeps)
	sleep 2
	after=$(sleeps)
	[ $((after - before)) -lt 600 ] || fail "$((after - before)) wake-ups of an idle daemon $1"
}
within 10 hits a "$(key hits "$T/a/status")"
idle "after a program"

# --- a bell that rings long after its event: the daemon had found the event, and looked for others
# each millisecond, and sleeps again
count=$(key hits "$T/a/status")
"$waker" 1 0 400000 >/dev/null
within 20 hits a $((count + 1)) || fail "an event whose bell is late: $(cat "$T/a/status")"
idle "after a late bell"

# --- a burst: far fewer wake-ups than events, and each hit is counted
count=$(key hits "$T/a/status")
n=$("$waker" 400000 0)
[ "$n" -lt 40000 ] || fail "$n wake-ups for 400000 events"
within 20 hits a $((count + 400000)) || fail "hits: $(cat "$T/a/status")"

# --- no action can be due any more: no wake-up, and the hits are counted
echo 'notify once-after 1' >"$T/a/actions"
count=$(key hits "$T/a/status")
"$waker" 1 0 >/dev/null
within 10 hits a $((count + 1)) || fail "hits: $(cat "$T/a/status")"
quiet() {
	count=$(key hits "$T/a/status")
	n=$("$waker" 50 1000)
	within 10 hits a $((count + 50)) || fail "hits: $(cat "$T/a/status")"
	[ "$n" = 0 ]
}
within 20 quiet || fail "$n wake-ups for nothing"

# --- other events of the same application: never a wake-up
echo 'event user wake:third' >"$T/a/condition"
is "wake-ups without a trigger" 0 "$("$waker" 1000 0)"
echo "$checks checks"
