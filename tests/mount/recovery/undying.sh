#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# kill -9 of the daemon, again and again, while programs record and read: the next daemon goes on
# with the mount. No reader gets an error, and none a wrong, missing or doubled line: followers of
# text, readers of pipe, a shell in the mount, files that stay open, listings and copies. What an
# output and a relay have, and what was counted as lost, is all that was recorded.
#
#   KILLS    how often; SOAK: 1000
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/undying.sh"
can_mount
kills=${KILLS:-12}
[ -z "${SOAK-}" ] || kills=${KILLS:-1000}
daemon=

start() {
	"$TRAILFS" "$MNT" -f -o wait=100000 >>"$work/daemon.log" 2>&1 4<&- 5<&- 6<&- &
	daemon=$!
}
answers() { timeout 60 cat "$MNT/version" >/dev/null 2>&1; }
# a_while: up to 0.3 s, any time
a_while() {
	sleep "0.$(od -An -N2 -t u2 /dev/urandom | awk '{ printf "%03d", $1 % 300 }')"
}
kill_daemon() {
	mark
	kill -9 "$daemon" || fail "the daemon has ended by itself"
	wait "$daemon" 2>/dev/null
}
trap 'code=$?; kill_load; (exit $code); clean_up' EXIT

start
within 20 answers || {
	[ "$(id -u)" = 0 ] ||
		skip "an ordinary user cannot mount here: $(cat "$work/daemon.log")"
	fail "no mount"
}
begin_load
killed=0
while [ $killed -lt "$kills" ]; do
	a_while
	kill_daemon
	killed=$((killed + 1))
	[ $((killed % 4)) != 0 ] || a_while
	start
	[ $((killed % 3)) != 0 ] || within 60 answers || fail "the daemon does not answer"
	check_load "after $killed kills"
done
within 60 answers || fail "the daemon does not answer"
end_load
# (One of `once`, if its daemon was killed before the keeper had it.)
is "buffers that are lost" "" \
	"$(grep 'events are lost' "$work/daemon.log" | grep -v 'session once' | head -n 3)"
is "sessions" "fast idle s written" "$(ls "$S" | tr '\n' ' ' | sed 's/ $//')"
echo "$killed kills, $(wc -l <"$work/text") lines, $checks checks$(summary)"
