#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that stands still (SIGSTOP): applications continue, none waits; a process that reads
# waits and gets all; what did not fit is counted, to the event; a program that came meanwhile is
# traced afterwards.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
# No request here may wait for an answer that does not come.
TRAIL_ATTACH_TIMEOUT=10
mount_tree
pid=$(daemon_pids)
mkdir "$S/s" "$S/s/user/channels/c" && echo 4096 >"$S/s/user/channels/c/subbuf_size" &&
	echo 8 >"$S/s/user/channels/c/subbuf_count" &&
	echo discard >"$S/s/user/channels/c/loss_mode" &&
		echo 'tick:*' >"$S/s/user/channels/c/events" && echo start >"$S/s/control" ||
	fail "session"
sum() { awk '/^events_(recorded|discarded)/ { n += $2 } END { print n + 0 }' "$S/s/status"; }

# Attached before: more than the rings hold
"$ticker" 20000 100 &
app=$!
attached() { [ "$(sum)" -gt 0 ]; }
within 20 attached || fail "nothing is recorded"
stop_process "$pid"
cat "$S/s/text" >"$work/text" &
reader=$!
# It ends while the daemon stands: 20000 events, each with its pause, need some seconds.
begin=$(date +%s)
wait $app || fail "the program ended with status $?"
# … and one that began now cannot attach: it does not wait for that, either, and is there when the
# daemon is again
"$ticker" 1000 5000 &
app=$!
# … nor does one that begins and ends
timeout 200 "$ticker" 500 0 || fail "a program that came and went: $?"
sleep 1
end=$(date +%s)
kill -0 $reader 2>/dev/null || fail "text was read from a daemon that stands"
echo "stood for $((end - begin)) s"
kill -CONT "$pid"
wait $reader || fail "text"
wait $app || fail "a program that began meanwhile: $?"
[ -s "$work/text" ] || fail "text is empty"
all() { [ "$(sum)" = 21500 ]; }
within 20 all || fail "$(sum) events are known of 21500: $(cat "$S/s/status")"
[ "$(key events_discarded "$S/s/status")" -gt 1000 ] || fail "all fitted: $(cat "$S/s/status")"
is "text has what is recorded" "$(key events_recorded "$S/s/status")" \
	"$(grep -vc "^WARNING: Tracer " "$S/s/text")"
echo clear >"$S/s/control" || fail clear
TRAIL_ATTACH_TIMEOUT=60000 "$ticker" 100 0 || fail "ticker"
is "afterwards" 100 "$(key events_recorded "$S/s/status")"
echo stop >"$S/s/control" && rmdir "$S/s" || fail "stop, rmdir"

# Larger buffers would not have helped
mkdir "$S/t" && echo 'tick:*' >"$S/t/user/events" && echo start >"$S/t/control" || fail "session t"
stop_process "$pid"
"$ticker" 20 0 || fail "ticker"
kill -CONT "$pid"
counted() { [ "$(key events_discarded "$S/t/status")" = 20 ]; }
within 20 counted || fail "not counted: $(cat "$S/t/status")"
is "advice" TRAIL_ATTACH_TIMEOUT: "$(key advice "$S/t/status" | cut -d ' ' -f 1)"
rmdir "$S/t" || fail "rmdir t"
echo "$checks checks"
