#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# kill -9 of the daemon at any moment: applications continue undisturbed; the next mount finds the
# session, its rules, its buffers, and what was recorded meanwhile. Then the same with all
# applications gone before the next mount: the buffers are still there.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
# (Writers pause so long: to read what they have recorded takes most of the time.) Each moment has
# its round, the last one two.
rounds=${KILL_ROUNDS:-5} pause=100000
[ -z "${SOAK-}" ] || rounds=100 pause=40000

# a_while: up to 0.6 s, any time
a_while() {
	sleep "0.$(od -An -N2 -t u2 /dev/urandom | awk '{ printf "%03d", $1 % 600 }')"
}

mount_tree
# (Room for all that is written, however long this takes.)
make_session kept discard 8M 16
put start "$s/control"
# … and what counts all its hits, recorded or not
ticker=$BUILD/tests/lib/ticker
counted=$mnt/sessions/counted
mkdir "$counted" "$counted/user/channels/c" && put discard "$counted/user/channels/c/loss_mode" &&
	put 'tick:*' "$counted/user/channels/c/events"
put start "$counted/control"
"$ticker" 0 500 2 >"$TMPDIR/ticks1" &
ticks1=$!
"$ticker" 0 700 >"$TMPDIR/ticks2" &
ticks2=$!
"$bin/herd" "$bin/writer" "$slots" 4 2 $pause 1000 none >"$TMPDIR/herd" &
herd=$!
herd_writes

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	# At any moment: idle, while the text is read, while rules change, while another session
	# comes and goes
	case $((round % 4)) in
	1) a_while ;;
	2)
		timeout 20 cat "$s/pipe" >/dev/null 2>&1 &
		a_while
		;;
	3)
		(while echo 'storm:none' >>"$s/user/events" && echo '!storm:none' >>"$s/user/events" &&
			echo 'tick:* if n >= 0' >>"$counted/user/channels/c/events" && echo '!tick:* if n >= 0' >>"$counted/user/channels/c/events"; do
			:
		done) >/dev/null 2>&1 &
		a_while
		;;
	0)
		(while mkdir "$mnt/sessions/other"; do
			echo 'storm:*' >"$mnt/sessions/other/user/events"
			echo start >"$mnt/sessions/other/control"
			rmdir "$mnt/sessions/other"
		done) >/dev/null 2>&1 &
		a_while
		;;
	esac
	kill_daemon
	before=$(sum)
	within 90 have_counted $((before + 100)) || fail "the applications do not continue"
	kill -0 $herd 2>/dev/null || fail "the applications died with the daemon"
	mount_tree
	have "$s/status" || fail "the session is gone"
	expect "the session is active" "$(key state "$s/status")" = active
	expect "the rules are there" "$(grep -v none "$s/user/events")" = 'storm:*'
	expect "no buffer is lost" "$(key buffers_lost "$s/status")" = 0
	echo '!storm:none' >>"$s/user/events" 2>/dev/null
	rmdir "$mnt/sessions/other" 2>/dev/null
	alive
done

# A program that started while there was no daemon is traced, too, once there is one.
kill_daemon
"$bin/writer" "$slots" 1000 1 0 20000 >/dev/null &
late=$!
sleep 0.3
mount_tree
# Its slot has a number when its tracepoint is on.
late_counts() { [ "$(od -An -v -t u8 -j $((1000 * 64)) -N 8 "$slots" | tr -d ' ')" -gt 0 ]; }
within 90 late_counts || fail "a program that started without a daemon is not traced"
kill $late
wait $late || fail "the late writer"

kill $herd
wait $herd || fail "the herd"
put stop "$s/control"
same_text "$s"
tally
nothing_lost "$s"
grep -q 'writer = 1000' "$TMPDIR/text" ||
	fail "a program that started without a daemon is not traced"

cp "$TMPDIR/text" "$TMPDIR/text.before"

# To the event: all hits are there, or counted
kill $ticks1 $ticks2
wait $ticks1 && wait $ticks2 || fail "a ticker"
put stop "$counted/control"
same_text "$counted"
there=$(wc -l <"$TMPDIR/text")
expect "recorded" "$there" -eq "$(key events_recorded "$counted/status")"
expect "recorded or discarded" $((there + $(key events_discarded "$counted/status"))) -eq \
	$(($(cat "$TMPDIR/ticks1") + $(cat "$TMPDIR/ticks2")))
echo "$there recorded, $(key events_discarded "$counted/status") discarded"
rmdir "$counted"

# No process has the buffers any more but the keeper.
kill_daemon
mount_tree
have "$s/status" || fail "the session is gone"
expect "the session is inactive" "$(key state "$s/status")" = inactive
same_text "$s"
cmp "$TMPDIR/text" "$TMPDIR/text.before" || fail "what was recorded is not what it was"
rmdir "$s" || fail "rmdir"
umount_tree

# A clean unmount destroys the sessions.
mount_tree
[ -z "$(ls "$mnt/sessions")" ] || fail "sessions outlive a clean unmount: $(ls "$mnt/sessions")"
umount_tree
