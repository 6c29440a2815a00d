#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The losses that a snapshot of an interval tells: those between two events of a stream that are not
# both before it, nor both after it. Lines of `log` that no sub-buffer holds are lost, others fill a
# sub-buffer by twos.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
mount_tree -o tz=UTC
s=$S/s
mkdir "$s" "$s/user/channels/c"
echo 4K >"$s/user/channels/c/subbuf_size"
echo 2 >"$s/user/channels/c/subbuf_count"
echo overwrite >"$s/user/channels/c/loss_mode"
echo trail:log >"$s/user/channels/c/events"
put start "$s/control"

line() { # BYTES WORD: a message of that length
	awk -v n="$1" -v w="$2" 'BEGIN { printf "%s ", w; for (i = length(w) + 1; i < n; i++) printf "x"; print "" }'
}
event() { line 1900 "$1" >"$MNT/log" || fail "log"; }
lose() { for i in 1 2 3; do line 4090 big >"$MNT/log" || fail "log"; done; }
now() { date +%s%N; }
# take NAME SINCE: a snapshot of the time since then, and not earlier
take() {
	last=$((($(now) - $2) / 1000))
	put "snapshot $1 last ${last}us" "$s/control"
	from=$(($(stat -c %.9Y "$s/snapshots/$1" | tr -d .) - last * 1000))
	babeltrace2 --clock-seconds --no-delta "$s/snapshots/$1" >"$work/events" 2>"$work/err" ||
		fail "babeltrace2: $(cat "$work/err")"
	told=$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/err" |
		awk '{ n += $1 } END { print n + 0 }')
	words=$(sed -n 's/.*msg = "\([a-z0-9]*\) .*/\1/p' "$work/events" | tr '\n' ' ')
}

# --- lost between sub-buffers 1 and 2; 1 is overwritten, and the interval begins within 2
begin=$(now)
event a1
event a2
lose
event a3
sleep 0.01
middle=$(now)
sleep 0.05
event a4
event a5
event a6
is "lost" 3 "$(key events_discarded "$s/status")"
take within "$middle"
is "losses before the interval" 0 "$told"
take whole "$begin"
is "the newest events" "a3 a4 a5 a6 " "$words"
is "losses of all the time" 3 "$told"

# --- the interval begins between the last event of a sub-buffer and the first of the next one
for try in $(seq 20); do
	put clear "$s/control"
	event b0
	event b1
	middle=$(now)
	lose
	sleep 0.2
	event b2
	take gap$try "$middle"
	time=$(sed -n 's/^\[\([0-9]*\)\.\([0-9]*\)\].*msg = "b2 .*/\1\2/p' "$work/events")
	[ -z "$time" ] || break
	event b3                # fills the sub-buffer
done
is "the event after the losses" "b2 " "$words"
is "losses since the event before" 3 "$told"

# --- it ends before them: the moment is an event's that has others after it in its sub-buffer
T=$MNT/triggers
mkdir "$T/t"
put 'event user trail:log if msg == "go*"' "$T/t/condition"
put 'snapshot s go last 1h' "$T/t/actions"
put clear "$s/control"
{ line 20 go; line 1900 c1; line 4090 big; line 4090 big; line 1900 c2; } >"$MNT/log" || fail "log"
taken() { [ -d "$s/snapshots/go" ]; }
within 20 taken || fail "no snapshot: $(cat "$T/t/status" "$s/error")"
babeltrace2 "$s/snapshots/go" >"$work/events" 2>"$work/err" || fail "babeltrace2"
is "up to the event" 1 "$(wc -l <"$work/events")"
has "$(cat "$work/events")" 'msg = "go '
is "losses after the interval" "" "$(grep 'Tracer discarded' "$work/err")"
echo "$checks checks"
