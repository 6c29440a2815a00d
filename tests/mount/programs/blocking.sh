#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A full ring in discard mode: waiting for room where application and channel allow it, and never
# longer than a process can make room: `clear`, `stop`, a disabled rule and a daemon that is gone
# let go.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
mount_tree

begin() { # NAME TIMEOUT
	mkdir "$S/$1" && mkdir "$S/$1/user/channels/c" &&
		echo 4096 >"$S/$1/user/channels/c/subbuf_size" &&
		echo 2 >"$S/$1/user/channels/c/subbuf_count" &&
			echo discard >"$S/$1/user/channels/c/loss_mode" &&
		echo "$2" >"$S/$1/user/channels/c/blocking_timeout" &&
			echo '*' >"$S/$1/user/channels/c/events" &&
		echo start >"$S/$1/control" || fail "session $1: $(cat "$S/$1/error")"
}
discarded() { sed -n 's/^events_discarded //p' "$S/$1/status"; }
alive() { kill -0 "$1" 2>/dev/null && [ "$(awk '{ print $3 }' "/proc/$1/stat")" != Z ]; }
gone() { ! alive "$1"; }
# Its counter stands still: what it recorded does not change any more
stands_still() { a=$(key events_recorded "$S/says/status"); sleep 0.2; [ "$a" -gt 0 ] &&
	[ "$a" = "$(key events_recorded "$S/says/status")" ]; }

# Who did not say so is never kept waiting.
begin never inf
timeout 200 "$ticker" 20000 0 || fail "an application waits that did not allow it"
[ "$(discarded never)" -gt 0 ] || fail "nothing was discarded"
rmdir "$S/never"

TRAIL_ALLOW_BLOCKING=1
export TRAIL_ALLOW_BLOCKING

# A short time each: then it is discarded. 20000 times a time would be more than this test has.
begin short 1ms
"$ticker" 1500 0 &
pid=$!
within 60 gone $pid || fail "waits longer than it was told"
[ "$(discarded short)" -gt 0 ] || fail "short: nothing was discarded"
rmdir "$S/short"

# As long as it takes: nothing is discarded while room is made now and then.
begin ever inf
"$ticker" 5000 0 &
pid=$!
sleep 0.5
alive $pid || fail "does not wait"
[ "$(discarded ever)" = 0 ] || fail "discards although it may wait"
end=$(($(date +%s) + 200))
while alive $pid; do
	echo clear >"$S/ever/control" || fail "clear"
	sleep 0.03
	[ "$(discarded ever)" = 0 ] || fail "discards although it may wait"
	[ "$(date +%s)" -lt $end ] || fail "does not continue"
done
wait $pid || fail "exit status $?"
rmdir "$S/ever"

# status says what has to be done so that a thread waits.
begin says inf
has "$(cat "$S/says/status")" '^blocking c: .*TRAIL_ALLOW_BLOCKING'
has "$(cat "$S/says/user/channels/c/status")" '^blocking only .*TRAIL_ALLOW_BLOCKING'
# A program that catches SIGTERM, to end in its own way, comes back from a wait without end.
"$BUILD/tests/mount/programs/polite" >"$work/polite" &
pid=$!
within 20 grep -q begins "$work/polite" || fail "polite does not begin"
within 20 stands_still $pid || fail "polite does not wait"
kill -TERM $pid
within 20 gone $pid || fail "SIGTERM does not end a wait"
wait $pid || fail "polite: exit status $?"
rmdir "$S/says"

for how in stop disable rmdir kill; do
	begin w$how inf
	"$ticker" 5000 0 &
	pid=$!
	sleep 0.3
	alive $pid || fail "$how: does not wait"
	case $how in
	stop) echo stop >"$S/wstop/control" ;;
	disable) echo '~*' >"$S/wdisable/user/channels/c/events" ;;
	rmdir) rmdir "$S/wrmdir" ;;
	kill) kill -9 $(daemon_pids) ;;
	esac
	within 10 gone $pid || fail "$how: still waits"
	wait $pid || fail "$how: exit status $?"
	[ $how = kill ] || [ ! -d "$S/w$how" ] || rmdir "$S/w$how"
done
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
