#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The keeper is killed, and as soon as `status` names another one, the daemon, too: the keeper that
# was named holds all buffers.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
channels=250
sessions='a b'
rounds=2

start() {
	"$TRAILFS" "$MNT" -f >"$work/daemon.log" 2>&1 &
	daemon=$!
	within 10 test -s "$MNT/README" || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(cat "$work/daemon.log")"
		fail "no mount"
	}
}

start
seq -f '[user channel]
name = c%g
subbuf_size = 4096
events = trail:log' $channels >"$work/ini"
for s in $sessions; do
	mkdir "$S/$s"
	cat "$work/ini" >"$S/$s/config" || fail "config: $(cat "$S/$s/error")"
	echo start >"$S/$s/control" || fail start
done
echo one >"$MNT/log"
is "buffers" $((2 * channels)) "$(key buffers "$MNT/status")"

# (Without a process in between: the moment is what matters.)
named() {
	while read -r name value; do
		[ "$name" != keeper ] || break
	done <"$MNT/status"
	[ "$value" != "$keeper" ] && [ "$value" != none ]
}
for round in $(seq $rounds); do
	keeper=$(key keeper "$MNT/status")
	kill -9 "$keeper"
	until named; do :; done
	kill -9 $daemon
	wait $daemon 2>/dev/null
	start
	for s in $sessions; do
		is "lost of $s, round $round" 0 "$(key buffers_lost "$S/$s/status")"
		is "lines of $s, round $round" $channels "$(wc -l <"$S/$s/text")"
	done
done
echo "$checks checks"
