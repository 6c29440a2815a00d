#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A relay that accepts connections and never answers: rmdir of a session with events refuses and
# says why, other users of the mount continue, and an empty session can be removed.
#
# A relay that is always behind: while it has not read all that was sent, it gets new packets. The
# daemon repeats its question about a packet until the relay has it. (The newest packet is always
# missing: no buffer would be free before the applications have filled all of them.)
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker false_relay=$BUILD/tests/lib/false_relay

# Leaves its process in $relay and its address in $url.
start_false_relay() {
	: >"$work/ports"
	"$false_relay" "$1" >"$work/ports" &
	relay=$!
	within 10 has_ports || fail "the false relay has no ports"
	url=net://127.0.0.1:$(tr '\n' ':' <"$work/ports" | sed 's/:$//')
}
has_ports() { [ "$(wc -l <"$work/ports")" = 2 ]; }
drained() { [ "$(key pending_bytes "$S/$1/status")" = 0 ]; }

start_false_relay silent
mount_tree -o wait=800
for name in full empty; do
	mkdir "$S/$name" || fail "mkdir $name"
	put "$url" "$S/$name/output"
	put 'tick:*' "$S/$name/user/events"
done
put start "$S/empty/control"
rmdir "$S/empty" || fail "rmdir of an empty session"

put start "$S/full/control"
"$ticker" 20 0 || fail ticker
is "recorded" 20 "$(key events_recorded "$S/full/status")"
rmdir "$S/full" 2>"$work/rmdir" && fail "rmdir succeeds, and the events are lost"
has "$(cat "$work/rmdir")" 'Input/output error'
has "$(cat "$MNT/error")" 'cannot be written'
is "the events are still there" 20 "$(wc -l <"$S/full/text")"
rmdir "$S/full/user/channels/channel0" 2>"$work/rmdir" && fail "rmdir of the channel"
has "$(cat "$work/rmdir")" 'Input/output error'

put clear "$S/full/control"
within 20 drained full || fail "not cleared: $(cat "$S/full/status")"
rmdir "$S/full" || fail "rmdir after clear"
kill $relay

start_false_relay behind
mkdir "$S/behind" "$S/behind/user/channels/channel0" || fail mkdir
put "$url" "$S/behind/output"
put 'tick:*' "$S/behind/user/events"
put 4096 "$S/behind/user/channels/channel0/subbuf_size"
put 64 "$S/behind/user/channels/channel0/subbuf_count"
put start "$S/behind/control"
"$ticker" 4000 100 2 || fail ticker
put stop "$S/behind/control"
within 60 drained behind || fail "not all is sent: $(cat "$S/behind/status")"
packets=$(key output_packets "$S/behind/status")
[ "$packets" -gt 10 ] || fail "only $packets packets"
rmdir "$S/behind" || fail "rmdir of what the relay has"
kill $relay
wait $relay
is "received, confirmed, asked about later ones too early" "$packets $packets 0" \
	"$(tail -n 1 "$work/ports")"
echo "$checks checks"
