#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# `counts` of a session, and `rules` of its user domain: what they say is what babeltrace2 counts in
# the trace, what the programs emitted, and what `status` says; with filters, clear, overwriting,
# losses, an output with rotations, and after kill -9 of the daemon.
. "$(dirname "$0")/../../lib/mount.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
mount_tree

# named SESSION: lines `CHANNEL EVENT RECORDED` of the events with a name; of a channel for others
named() {
	awk '/^#/ { next } $3 != "*" && $3 != "?" { print $2, $3, $4 }' "$1/counts"
}
# column SESSION EVENT N
column() {
	awk -v e="$2" -v n="$3" '$3 == e { s = $n ~ /-/ ? $n : s + $n } END { print s }' "$1/counts"
}
# by_babeltrace TRACE: lines `EVENT RECORDED`
by_babeltrace() {
	babeltrace2 "$1" 2>"$work/bt.err" >"$work/bt" || fail "babeltrace2: $(cat "$work/bt.err")"
	awk '{ for (i = 1; $i !~ /:$/; i++); sub(/:$/, "", $i); n[$i]++ } END { for (e in n) print e, n[e] }' "$work/bt" | sort
}
# agree SESSION: with status
agree() {
	is "$1: recorded" "$(key events_recorded "$1/status")" "$(column "$1" '*' 4)"
	is "$1: discarded" "$(key events_discarded "$1/status")" "$(column "$1" '*' 5)"
	is "$1: overwritten" "$(key events_overwritten "$1/status")" "$(column "$1" '*' 6)"
	is "$1: the sum" "$(column "$1" '*' 4)" "$(awk '/^#/ { next } $3 != "*" { s += $4 } END { print s + 0 }' "$1/counts")"
}
ticks() {
	"$TICKER" "$@" || fail "ticker $*"
}

# --- nothing is lost: each event, again and again
s=$S/all
mkdir "$s"
is "before rules" "# domain channel event recorded discarded overwritten rejected" "$(cat "$s/counts")"
is "rules before rules" "# channel tracepoints hits rule" "$(cat "$s/user/rules")"
printf '%s\n' 'tick:tock' 'trail:*' 'tick:tok' >"$s/user/events"
mkdir "$s/user/channels/two"
put 'tick:* if n < 10' "$s/user/channels/two/events"
put start "$s/control"
ticks 1000 0 2
printf 'one\ntwo\n' >"$MNT/log"
is "two channels" "channel0 tick:tock 2000
channel0 trail:log 2
two tick:tock 20" "$(named "$s")"
is "a channel without filters" "user channel0 tick:tock 2000 0 0 0" "$(grep 'channel0 tick:tock' "$s/counts")"
is "a channel with a filter" "user two tick:tock 20 0 0 -" "$(grep 'two tick:tock' "$s/counts")"
agree "$s"
by_babeltrace "$s/trace" >"$work/sums"
is "as babeltrace2" "$(cat "$work/sums")" "tick:tock 2020
trail:log 2"
ticks 500
is "more" "channel0 tick:tock 2500" "$(named "$s" | head -n 1)"
rules_say() {
	rules=$(sed 1d "$s/user/rules" | paste -sd '|')
	[ "$rules" = "$1" ]
}
within 20 rules_say "channel0 0 2500 tick:tock|channel0 1 2 trail:*|channel0 0 0 tick:tok|two 0 30 tick:* if n < 10" ||
	fail "rules without a program: $rules"
"$TICKER" 0 1000 >"$work/ticks" &
app=$!
rules_match() {
	[ "$(sed 1d "$s/user/rules" | awk '{ print $2 }' | paste -sd ' ')" = "1 1 0 1" ]
}
within 20 rules_match || fail "with the program: $(cat "$s/user/rules")"
kill $app
wait $app
put stop "$s/control"
agree "$s"

# Two rules with filters: which of them an event passed is not known.
put 'tick:tock if n > 5' "$s/user/channels/two/events"
echo 'tick:tock if n < 3' >>"$s/user/channels/two/events"
is "two filters on one event" "- -" "$(awk '$1 == "two" { print $3 }' "$s/user/rules" | paste -sd ' ')"
put clear "$s/control"
within 20 eval '[ -z "$(named "$s")" ]' || fail "after clear: $(cat "$s/counts")"
put start "$s/control"
ticks 70
is "after clear" "channel0 tick:tock 70" "$(named "$s" | head -n 1)"
agree "$s"

# --- kill -9: of the daemon, and of a program that records
"$TICKER" 0 0 >/dev/null &
app=$!
more_than_70() {
	[ "$(column "$s" 'tick:tock' 4)" -gt 1000 ]
}
within 20 more_than_70 || fail "the program records nothing"
kill -9 $app
wait $app 2>/dev/null
put stop "$s/control"
agree "$s"
before=$(named "$s")
kill -9 $(daemon_pids)
within 20 daemon_ended || fail "the daemon lives"
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
agree "$s"
if [ "$(column "$s" '?' 4)" ]; then
	by_babeltrace "$s/trace" >"$work/sums"
	is "held, after the daemon" "$(cat "$work/sums")" "$(named "$s" | awk '{ n[$2] += $3 } END { for (e in n) print e, n[e] }' | sort)"
else
	is "after the daemon" "$before" "$(named "$s")"
fi
rmdir "$s"

# --- overwriting and losses: 4000 events of some 20 bytes in two sub-buffers of 4096 bytes
for mode in overwrite discard; do
	s=$S/$mode
	mkdir "$s" "$s/user/channels/channel0"
	echo 4096 >"$s/user/channels/channel0/subbuf_size"
	echo 2 >"$s/user/channels/channel0/subbuf_count"
	echo $mode >"$s/user/channels/channel0/loss_mode"
	echo '*' >"$s/user/events"
	put start "$s/control"
	ticks 4000
	agree "$s"
	is "all, $mode" 4000 "$(($(column "$s" '*' 4) + $(column "$s" '*' 5)))"
	by_babeltrace "$s/trace" >"$work/sums"
	is "held, $mode" "$(cat "$work/sums")" "tick:tock $(column "$s" tick:tock 4)"
	if [ $mode = discard ]; then
		[ "$(column "$s" '*' 5)" -gt 0 ] || fail "nothing was lost"
		is "of one event" "- 0 0" "$(awk '$3 == "tick:tock" { print $5, $6, $7 }' "$s/counts")"
	else
		[ "$(column "$s" '?' 4)" -gt 0 ] || fail "nothing was overwritten"
		is "of one event" "0 - 0" "$(awk '$3 == "tick:tock" { print $5, $6, $7 }' "$s/counts")"
		# What was counted keeps its name when it is overwritten.
		seen=$(column "$s" tick:tock 4) unnamed=$(column "$s" '?' 4)
		for i in 1 2 3 4 5 6 7 8; do
			ticks 100
			cat "$s/counts" >/dev/null
		done
		is "counted in time" "$((seen + 800)) $unnamed" "$(column "$s" tick:tock 4) $(column "$s" '?' 4)"
		agree "$s"
	fi
	rmdir "$s"
done

# --- an output, and chunks that leave the session for the archives
s=$S/written
mkdir "$s" "$work/out"
echo '*' >"$s/user/events"
put "$work/out" "$s/output"
put start "$s/control"
ticks 300
put rotate "$s/control"
ticks 400
is "through a rotation" "channel0 tick:tock 700" "$(named "$s")"
put rotate "$s/control"
within 20 eval '[ "$(key archives "$s/status")" = 2 ]' || fail "no archives: $(cat "$s/status")"
ticks 50
put stop "$s/control"
is "through another" "channel0 tick:tock 750" "$(named "$s")"
agree "$s"
is "the files have them all" "tick:tock 750" "$(by_babeltrace "$work/out")"
rmdir "$s"
echo "$checks checks"
