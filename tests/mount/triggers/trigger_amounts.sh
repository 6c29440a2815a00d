#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Conditions about amounts: buffer, consumed, discarded. True once, and again after they were false;
# monitor_period drives them, and a channel whose period is 0 does not count.
. "$(dirname "$0")/../../lib/mount.sh"
T=$MNT/triggers
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC

# trigger NAME CONDITION
trigger() {
	mkdir "$T/$1" && echo "$2" >"$T/$1/condition" && echo notify >"$T/$1/actions" ||
		fail "trigger $1: $2"
}
hits() { # NAME N
	[ "$(key hits "$T/$1/status")" = "$2" ]
}
at_least() { # NAME N
	[ "$(key hits "$T/$1/status")" -ge "$2" ]
}
looks() { # the engine looks at a channel with a period of 1 ms meanwhile, if the machine lets it
	sleep 0.3
}

mkdir "$S/w" "$S/w/user/channels/c" "$S/w/user/channels/quiet" || fail mkdir
cd "$S/w/user/channels" || fail cd
is "monitor_period" 1000000 "$(cat c/monitor_period)"
for c in c quiet; do
	echo 64k >$c/subbuf_size
	echo 2 >$c/subbuf_count
	echo discard >$c/loss_mode
	echo 'tick:*' >$c/events
done
echo 10us >c/monitor_period
is "not less than 1 ms" 1000 "$(cat c/monitor_period)"
echo 0 >quiet/monitor_period
trigger share 'buffer w/user/c > 0.5%'
trigger bytes 'buffer w/user/c > 100'
trigger less 'buffer w/user/c < 64k'
trigger quiet 'buffer w/user/quiet > 1'
trigger consumed 'consumed w > 1000'
trigger discarded 'discarded w > 0'
trigger one 'discarded w/user/c > 0'
trigger none 'discarded w/user/quiet > 0'
trigger later 'buffer later/user/channel0 > 0'
trigger misspelt 'buffer w/user/d > 0'
has "$(cat "$T/later/status")" '^no_session later$'
has "$(cat "$T/misspelt/status")" '^no_channel w/user/d$'
has "$(cat "$T/quiet/status")" '^not_monitored '
is "conditions that can be true" 0 "$(grep -c '^no_\|^not_' "$T/bytes/status")"
rmdir "$T/misspelt"
looks
for t in share bytes less consumed; do hits $t 0 || fail "$t before the start"; done
timeout 200 cat "$T/bytes/notifications" >"$work/lines" &
reader=$!
within 10 grep -q '^readers 1' "$T/bytes/status" || fail "no reader"
echo start >../../control
# A ring that never had an event is no stream.
"$ticker" 1 0
within 10 hits less 1 || fail "less: $(cat "$T/less/status")"
"$ticker" 200 0
within 10 hits share 1 || fail "share: $(cat "$T/share/status")"
within 10 hits bytes 1 || fail "bytes: $(cat "$T/bytes/status")"
within 10 hits consumed 1 || fail "consumed: $(cat "$T/consumed/status")"
looks
for t in share bytes less consumed; do hits $t 1 || fail "$t: more than once"; done
within 10 grep -q . "$work/lines" || fail "no line"
has "$(cat "$work/lines")" '\] bytes { bytes = [0-9]*, percent = [0-9]*\.[0-9][0-9] }$'
kill $reader
# False after a clear, and true again: if the engine has not looked in between, once more
share_again() {
	echo clear >../../control
	looks
	[ $1 = 2 ] || hits share 1 || fail "share after clear"
	"$ticker" 200 0
	looks
	at_least share 2
}
share_again 1 || within 10 share_again 2 || fail "share again: $(cat "$T/share/status")"
# Full
"$ticker" 20000 0
[ "$(key events_discarded ../../status)" -gt 0 ] || fail "nothing is discarded"
within 10 hits discarded 1 || fail "discarded: $(cat "$T/discarded/status")"
within 10 hits one 1 || fail "of a channel: $(cat "$T/one/status")"
looks
hits less 1 || fail "less while it is full: $(cat "$T/less/status")"
less_again() {
	echo clear >../../control
	looks
	at_least less 2 || { "$ticker" 20000 0; looks; false; }
}
within 10 less_again || fail "less after clear: $(cat "$T/less/status")"
"$ticker" 20000 0
is "not monitored" "0 0" "$(key hits "$T/quiet/status") $(key hits "$T/none/status")"
echo 1ms >quiet/monitor_period
within 10 hits quiet 1 || fail "monitored now: $(cat "$T/quiet/status")"
within 10 hits none 1 || fail "monitored now: $(cat "$T/none/status")"
# A session that is made after the trigger
mkdir "$S/later" "$S/later/user/channels/channel0"
echo 'tick:*' >"$S/later/user/events"
echo 1ms >"$S/later/user/channels/channel0/monitor_period"
echo start >"$S/later/control"
"$ticker" 10 0
within 10 hits later 1 || fail "a later session: $(cat "$T/later/status")"
# It is a setting as the others are, and outlives the daemon
has "$(cat "$S/later/config")" '^monitor_period = 1000$'
cd /
kill -9 $(daemon_pids)
within 10 daemon_ended
mount_tree -o tz=UTC
is "kept" 1000 "$(cat "$S/later/user/channels/channel0/monitor_period")"
# --- many conditions with a short period: all are looked at, and most of a CPU is left
for i in $(seq 300); do trigger "many$i" "consumed later > 0"; done
"$ticker" 10 0
within 10 hits many1 1 && within 10 hits many300 1 || fail "many: $(cat "$T/many300/status")"
used() { # hundredths of a second
	awk '{ print $14 + $15 }' /proc/"$(daemon_pids)"/stat
}
before=$(used)
sleep 2
after=$(used)
[ $((after - before)) -lt 100 ] || fail "300 conditions: $((after - before)) of 200 ticks"
echo "$checks checks"
