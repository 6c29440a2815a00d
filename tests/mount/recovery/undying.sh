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
. "$top/tests/lib/next_daemon.sh"
kills=${KILLS:-12}
[ -z "${SOAK-}" ] || kills=${KILLS:-1000}

# a_while: up to 0.3 s, any time
a_while() {
	sleep "0.$(od -An -N2 -t u2 /dev/urandom | awk '{ printf "%03d", $1 % 300 }')"
}
trap 'code=$?; kill_load; (exit $code); clean_up' EXIT

mount_first
begin_load
killed=0
while [ $killed -lt "$kills" ]; do
	a_while
	mark
	kill_daemon
	killed=$((killed + 1))
	[ $((killed % 4)) != 0 ] || a_while
	next_daemon
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
