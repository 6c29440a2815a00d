#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# A relay under load: a session with user and kernel events at full speed, rotated every 200 ms.
# Each event is in one chunk or counted as discarded, and babeltrace2 reports these. A clear under
# load: what was emitted after it is on the relay or was counted, and nothing from before it.
# Buffers per process.
# SOAK=1: for 30 s.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker calls=$BUILD/tests/lib/calls
need_relay
seconds=1
[ -z "${SOAK-}" ] || seconds=30

# A load until stop_load: two threads of a program, system calls of another one.
load() { # MICROSECONDS
	"$ticker" 0 "$1" 2 >"$work/emitted" &
	emitter=$!
	{ [ -z "$kernel" ] || while [ ! -e "$work/enough" ]; do "$calls" 20000; done; } >/dev/null &
	caller=$!
}
stop_load() {
	kill -TERM $emitter
	wait $emitter
	: >"$work/enough"
	wait $caller
	rm "$work/enough"
}
drained() { [ "$(key pending_bytes "$S/$1/status")" = 0 ]; }
idle() { ! grep -q '^pending [rc]\|^rotation [^i]' "$S/$1/status"; }
connected() { grep -q "^relay connected" "$S/$1/status"; }
recorded() { [ "$(key events_recorded "$S/$1/status")" -gt 100 ]; }
archived() { [ "$(key archives "$S/$1/status")" -ge "$2" ]; }

start_relay
mount_tree -o tz=UTC
kernel=
[ "$(id -u)" != 0 ] || grep -q '^kernel none' "$MNT/version" || kernel=yes

s=$S/turn
relay_session turn
put 4096 "$c/subbuf_size"
put 4 "$c/subbuf_count"
[ -z "$kernel" ] || put 'syscall:getppid' "$s/kernel/events"
put 200ms "$s/rotate_period"
put start "$s/control"
load 0
sleep $seconds
within 60 archived turn 3 || fail "no rotations: $(cat "$s/status")"
stop_load
put 0 "$s/rotate_period"
put stop "$s/control"
within 60 drained turn || fail "not all is sent: $(cat "$s/status")"
within 60 idle turn || fail "a rotation does not end"
recorded=$(key events_recorded "$s/status") lost=$(key events_discarded "$s/status")
archives=$(key archives "$s/status")
is "an error" "" "$(cat "$s/error")"
is "one connection" 1 "$(key relay_connections "$s/status")"
rmdir "$s"
d=$(relay_dir turn)
: >"$work/all"
discarded=0 n=0
for chunk in "$d"/archives/*; do
	read_relay "$chunk" >>"$work/all"
	discarded=$((discarded + $(reported)))
	n=$((n + 1))
done
is "chunks" $((archives + 1)) $n
is "events in all chunks" "$recorded" "$(wc -l <"$work/all")"
is "discarded events that the chunks report" "$lost" "$discarded"
[ -z "$kernel" ] || [ "$(grep -c syscall_e "$work/all")" -gt 1000 ] ||
	fail "hardly any kernel events"
[ -n "$kernel" ] || is "emitted" "$(cat "$work/emitted")" $((recorded + lost))
is "an event twice" "" "$(grep -o 'thread = .*' "$work/all" | sort | uniq -d | head -n 3)"
echo "rotations: $archives; $recorded events, $lost discarded"

# Cleared under load: the numbers n of each thread that are on the relay, and those that were
# discarded, are all from some number on, which is not one of before the last clear.
s=$S/wipe
relay_session wipe
put 4096 "$c/subbuf_size"
put 4 "$c/subbuf_count"
put start "$s/control"
load 20
within 60 connected wipe || fail "not connected: $(cat "$s/status")"
i=0
while [ $i -lt 4 ]; do
	i=$((i + 1))
	put clear "$s/control"
	within 60 idle wipe || fail "the clear does not end"
	within 60 recorded wipe || fail "nothing is recorded"
	[ $i != 2 ] || put rotate "$s/control"
done
within 60 idle wipe || fail "the rotation does not end"
newest() { sed -n "s/.*thread = $1, n = \([0-9]*\) .*/\1/p" | tail -n 1; }
timeout 200 cat "$s/text" >"$work/before"
put clear "$s/control"
within 60 idle wipe || fail "the clear does not end"
within 60 recorded wipe || fail "nothing is recorded"
stop_load
put stop "$s/control"
within 60 drained wipe || fail "not all is sent: $(cat "$s/status")"
lost=$(key events_discarded "$s/status") recorded=$(key events_recorded "$s/status")
rmdir "$s"
d=$(relay_dir wipe)
newest_chunk() { for chunk in "$d"/archives/*; do echo "${chunk##*-} $chunk"; done | sort -n |
	tail -n 1; }
set -- $(newest_chunk)
read_relay "$2" >"$work/files"
is "recorded after the clear" "$recorded" "$(wc -l <"$work/files")"
missing=0
for t in 0 1; do
	old=$(newest $t <"$work/before")
	set -- $(sed -n "s/.*thread = $t, n = \([0-9]*\) .*/\1/p" "$work/files" |
		awk 'NR == 1 { a = $1 } { b = $1 } END { print a, b, NR }')
	[ "$1" -gt "${old:--1}" ] ||
		fail "event $1 of thread $t from before the clear, which was $old"
	missing=$((missing + $2 - $1 + 1 - $3))
done
[ $missing -le "$lost" ] || fail "$missing events are missing, and $lost were counted"
echo "clear: $recorded recorded, $missing missing, $lost discarded"

# Buffers per process, of which some have ended.
relay_session own
put process "$c/buffering"
put 64k "$c/subbuf_size"
put start "$S/own/control"
"$ticker" 300 0 2 &
first=$!
"$ticker" 200 0 1 fork &
second=$!
"$ticker" 100 0 && wait $first && wait $second || fail ticker
put stop "$S/own/control"
d=$(relay_dir own)
same_as_trace own "$d"
is "events" 1300 "$(wc -l <"$work/files")"
is "traces" 4 "$(find "$d/ust/pid" -name metadata | wc -l)"
rmdir "$S/own"

# Discarded events of a program
relay_session loses
put 4096 "$c/subbuf_size"
put 2 "$c/subbuf_count"
put start "$S/loses/control"
stop_process "$relay_pid"
"$ticker" 20000 0 || fail ticker
kill -CONT "$relay_pid"
put stop "$S/loses/control"
within 60 drained loses || fail "not all is sent"
lost=$(key events_discarded "$S/loses/status")
d=$(relay_dir loses)
read_relay "$d" >"$work/files"
is "emitted" 20000 $(($(wc -l <"$work/files") + lost))
is "losses that babeltrace2 reports" "$lost" "$(reported)"
same_as_trace loses "$d"
is "losses that babeltrace2 reports of trace/" "$lost" "$(reported)"
rmdir "$S/loses"
echo "$checks checks"
