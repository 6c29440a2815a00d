#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# A relay that is absent, killed by -9 under load again and again, stopped for a while, or without
# room on its disk; a daemon that is killed. Each event that was emitted is on the relay or was
# counted as discarded, and the files are readable but for the packet that the relay was writing.
# SOAK=1: 50 kills of the relay, 20 of the daemon, stopped for 30 s.
. "$(dirname "$0")/../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay
trap 'code=$?; stop_relay; umount -l "$relay_out/$(hostname)" 2>/dev/null; (exit $code); clean_up' EXIT
kills=4 daemons=2 stall=1
[ -z "${SOAK-}" ] || kills=50 daemons=20 stall=30

connected() { grep -q '^relay connected' "$S/$1/status"; }
drained() { [ "$(key pending_bytes "$S/$1/status")" = 0 ] && connected "$1"; }

# The numbers n of all events in the relay's directories of a session, each once. What a killed
# relay has of the packet that it was writing is cut off, as the index says.
numbers() { # SESSION
	for trace in "$relay_out/$(hostname)/$1"-*/; do
		"$BUILD/tools/trail-recover" -c "$trace" >>"$work/cut" || fail "trail-recover -c $trace"
		[ -z "$(find "$trace" -name metadata)" ] || read_relay "$trace"
	done | sed 's/.* n = \([0-9]*\) .*/\1/' | sort -un
}

emit() { # until stop_emitting
	"$ticker" 0 "$1" >"$work/emitted" &
	emitter=$!
}
stop_emitting() {
	kill -TERM $emitter
	wait $emitter
	emitted=$(cat "$work/emitted")
}

check_all() { # SESSION: what was emitted is there, or counted
	within 60 drained "$1" || fail "not all is on the relay: $(cat "$S/$1/status")"
	lost=$(key events_discarded "$S/$1/status") \
		connections=$(key relay_connections "$S/$1/status")
	resent=$(key relay_resent_packets "$S/$1/status")
	rmdir "$S/$1"
	got=$(numbers "$1" | wc -l)
	is "$1: events on the relay, and discarded ones ($lost)" "$emitted" $((got + lost))
	echo "$1: $emitted emitted, $got on the relay, $lost discarded; $connections connections, $resent packets sent again"
}

# Of a whole trace trail-recover -c cuts nothing; of half a packet, of half an index entry and of
# metadata in the middle of its packet, exactly that.
check_cut() { # TRACE
	stream=$(find "$1" -name 'channel0_*' ! -name '*.idx' -size +0 | head -n 1)
	before=$(read_relay "$1" | md5sum)
	is "cut of a whole trace" "" "$("$BUILD/tools/trail-recover" -c "$1")"
	head -c 100 "$stream" >"$work/half" && cat "$work/half" >>"$stream"
	idx=${stream%/*}/index/${stream##*/}.idx
	head -c 40 "$idx" >"$work/half" && cat "$work/half" >>"$idx"
	head -c 50 "${stream%/*}/metadata" >"$work/half" && cat "$work/half" >>"${stream%/*}/metadata"
	is "cuts of a damaged trace" 3 "$("$BUILD/tools/trail-recover" -c "$1" | grep -c ' bytes cut, ')"
	is "the trace after the cuts" "$before" "$(read_relay "$1" | md5sum)"
}

start_relay
mount_tree -o tz=UTC

# Absent at the start: nothing waits, and what the buffers hold comes when the relay does.
kill_relay
relay_session absent
put start "$S/absent/control"
"$ticker" 1000 0 || fail ticker
is "stop without a relay" EIO "$(tool open "$S/absent/control" wt write "stop\n")"
has "$(cat "$S/absent/status")" '^relay not connected yet'
has "$(cat "$S/absent/status")" '^output_error Connection refused'
has "$(cat "$S/absent/error")" 'Connection refused'
[ "$(key pending_bytes "$S/absent/status")" != 0 ] || fail "nothing is pending without a relay"
start_relay
emitted=1000
check_all absent
check_cut "$(echo "$relay_out/$(hostname)"/absent-*)"

# Killed under load
relay_session killed
put 4096 "$c/subbuf_size"
put start "$S/killed/control"
emit 20
i=0
while [ $i -lt $kills ]; do
	i=$((i + 1))
	within 60 connected killed ||
		fail "the relay was not found again: $(cat "$S/killed/status")"
	sleep 0.2
	kill_relay
	start_relay
done
within 60 connected killed || fail "the relay was not found again"
stop_emitting
put stop "$S/killed/control"
[ "$(key relay_connections "$S/killed/status")" -gt $kills ] ||
	fail "relay_connections: $(cat "$S/killed/status")"
check_all killed

# again OPTIONS: another daemon, for another session
again() {
	fusermount3 -u "$MNT" || fail "unmount"
	within 60 daemon_ended || fail "the daemon does not end"
	mount_tree -o "$1"
}

# Stopped for a while: the buffers fill, the losses are counted, and stop does not wait for the
# relay.
again tz=UTC,wait=800
relay_session stalled
put 4096 "$c/subbuf_size"
put start "$S/stalled/control"
emit 20
within 20 connected stalled || fail "not connected"
stop_process "$relay_pid"
sleep $stall
# The relay continues only after this: a stop that waited for it would not come to an end.
(timeout 200 sh -c "echo stop >'$S/stalled/control'") 2>/dev/null
[ $? != 124 ] || fail "stop waits for the relay"
put start "$S/stalled/control"
kill -CONT "$relay_pid"
sleep 0.2
stop_emitting
put stop "$S/stalled/control"
within 20 drained stalled || fail "stalled for ever: $(cat "$S/stalled/status")"
echo "stalled: $emitted emitted, $(key events_discarded "$S/stalled/status") discarded"
# The ticker went on while the session was stopped.
rmdir "$S/stalled"
[ "$(numbers stalled | wc -l)" -gt 0 ] || fail "no events"

# The daemon killed: the next one continues with what the relay had not confirmed.
again tz=UTC
relay_session daemon
put 4096 "$c/subbuf_size"
put start "$S/daemon/control"
emit 20
i=0
while [ $i -lt $daemons ]; do
	i=$((i + 1))
	within 60 connected daemon || fail "not connected: $(cat "$S/daemon/status")"
	sleep 0.2
	kill -KILL $(daemon_pids)
	within 10 daemon_ended
	umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
	mount_tree -o tz=UTC
done
stop_emitting
put stop "$S/daemon/control"
check_all daemon

# The relay's disk is full: the relay closes the connection, and the buffers hold what it did not
# confirm. Once the disk has room again, nothing is missing.
mount -t tmpfs -o size=128k none "$relay_out/$(hostname)" || fail "mount"
relay_session full
put 16384 "$c/subbuf_size"
put start "$S/full/control"
"$ticker" 10000 0 || fail ticker
emitted=10000
within 60 grep -q '^output_error' "$S/full/status" ||
	fail "the disk is not full: $(cat "$S/full/status")"
mount -o remount,size=64M "$relay_out/$(hostname)"
within 60 connected full || fail "the relay was not found again"
put stop "$S/full/control"
check_all full
is "discarded while the relay's disk was full" 0 "$lost"
umount "$relay_out/$(hostname)"
echo "$checks checks"
