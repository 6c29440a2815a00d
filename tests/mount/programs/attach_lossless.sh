#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# What other sessions do costs a session nothing: while their rules change all the time, each event
# of its programs is recorded, once. And what a program hits while the daemon is dead is counted by
# the next one, so that recorded and discarded are always what was hit.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
mount_tree

session() { # NAME
	mkdir "$S/$1" "$S/$1/user/channels/c" && echo 4M >"$S/$1/user/channels/c/subbuf_size" &&
		echo 16 >"$S/$1/user/channels/c/subbuf_count" &&
		echo discard >"$S/$1/user/channels/c/loss_mode" &&
		echo 'tick:*' >"$S/$1/user/channels/c/events" || fail "session $1"
}
sum() { awk '/^events_(recorded|discarded)/ { n += $2 } END { print n + 0 }' "$S/$1/status"; }
some() { [ "$(sum "$1")" -gt 0 ]; }

session quiet
session restless
echo start >"$S/quiet/control" || fail start
# (With room for all, however long the changes take)
"$ticker" 0 200 4 >"$work/count" &
app=$!
within 20 some quiet || fail "nothing is recorded"
for i in $(seq 60); do
	echo start >"$S/restless/control" || fail "start $i"
	echo "tick:* if n > $i" >"$S/restless/user/channels/c/events" || fail "rule $i"
	echo stop >"$S/restless/control" || fail "stop $i"
done
kill -TERM $app
wait $app || fail "ticker: $?"
is "discarded" 0 "$(key events_discarded "$S/quiet/status")"
is "recorded" "$(cat "$work/count")" "$(key events_recorded "$S/quiet/status")"
rmdir "$S/restless" "$S/quiet" || fail rmdir

# A program that begins while the daemon is dead, and continues when the next one is there
session dead
echo start >"$S/dead/control" || fail start
kill -9 $(daemon_pids) || fail kill
within 10 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
"$ticker" 0 1000 2 >"$work/count" &
app=$!
"$ticker" 50 0 || fail "a program that came and went: $?"
sleep 0.5
mount_tree
recorded() { [ "$(key events_recorded "$S/dead/status")" -gt 100 ]; }
within 20 recorded || fail "it is not recorded: $(cat "$S/dead/status")"
kill -TERM $app
wait $app || fail "ticker: $?"
want=$(($(cat "$work/count") + 50))
all() { [ "$(sum dead)" = $want ]; }
within 20 all || fail "$(sum dead) are known of $want"
rmdir "$S/dead" || fail "rmdir dead"
echo "$checks checks"
