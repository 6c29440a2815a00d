#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Half-open connections. The relay's host, a network namespace, is gone without a word: nothing
# answers, not even with a reset. The daemon notices by itself, also if it has nothing to send. When
# the host is there again, a new connection gets all events.
[ "$(id -u)" = 0 ] || { echo "only root makes network namespaces"; exit 77; }
for command in ip nsenter unshare; do
	command -v $command >/dev/null || { echo "there is no $command"; exit 77; }
done
# All of it in a namespace of its own: the machine's network stays as it is.
if [ -z "${OWN_NET-}" ]; then
	unshare -n true 2>/dev/null || { echo "no network namespace can be had"; exit 77; }
	OWN_NET=1 exec unshare -n "$0"
fi
relay_host=10.77.0.2
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay

unshare -n sleep 1000 &
relay_net=$!
own=$(readlink /proc/self/ns/net)
apart() { [ "$(readlink "/proc/$relay_net/ns/net")" != "$own" ]; }
within 20 apart || fail "no second namespace"
trap 'code=$?; kill $relay_net; stop_relay; (exit $code); clean_up' EXIT
on_host() { nsenter -t $relay_net -n -- "$@"; }
ip link set lo up
ip link add name here type veth peer name there netns $relay_net ||
	skip "the kernel has no veth"
ip addr add 10.77.0.1/24 dev here && ip link set here up &&
	on_host ip link set there up && on_host ip addr add $relay_host/24 dev there ||
	fail "no network"

# Packets are dropped, and nothing says so.
vanish() { on_host ip addr del $relay_host/24 dev there || fail "ip addr del"; }
return_host() { on_host ip addr add $relay_host/24 dev there || fail "ip addr add"; }
connected() { grep -q '^relay connected' "$S/$1/status"; }
given_up() { grep -q '^relay disconnected' "$S/$1/status"; }
confirmed() { connected "$1" && [ "$(key pending_bytes "$S/$1/status")" = 0 ]; }

start_relay
mount_tree -o tz=UTC,relay_timeout=1s
relay_session busy
relay_session idle
put 4096 "$S/busy/user/channels/channel0/subbuf_size"
put start "$S/busy/control"
put start "$S/idle/control"
for s in busy idle; do within 60 connected $s || fail "$s: $(cat "$S/$s/status")"; done
put 'none:*' "$S/idle/user/events"

vanish
"$ticker" 1000 0 || fail ticker
for s in busy idle; do
	within 60 given_up $s || fail "$s: the dead connection is not noticed: $(cat "$S/$s/status")"
done
has "$(cat "$S/busy/status")" '^output_error '
[ "$(key pending_bytes "$S/busy/status")" != 0 ] || fail "nothing is pending"
is "text meanwhile" 1000 "$(wc -l <"$S/busy/text")"
return_host
for s in busy idle; do within 60 connected $s || fail "$s: $(cat "$S/$s/status")"; done
"$ticker" 1000 0 || fail ticker
put stop "$S/busy/control"
within 60 confirmed busy || fail "busy: $(cat "$S/busy/status")"
is "discarded" 0 "$(key events_discarded "$S/busy/status")"
[ "$(key relay_connections "$S/busy/status")" -gt 1 ] || fail "still the old connection"
rmdir "$S/busy" || fail rmdir
is "events on the relay" 2000 "$(for d in "$relay_out/$(hostname)"/busy-*; do
	TZ=UTC timeout 60 babeltrace2 --clock-gmt "$d" 2>/dev/null
done | sed 's/(+[^)]*)//' | sort -u | wc -l | tr -d ' ')"
echo "$checks checks"
