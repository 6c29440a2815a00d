#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Daemon and keeper are killed while a program records: the next daemon says what is lost, blames no
# program, and records on. A daemon that only continues a mount makes no session that a user has
# removed.
. "$(dirname "$0")/../../lib/mount.sh"
XDG_CONFIG_HOME=$work/config
export XDG_CONFIG_HOME
mkdir -p "$XDG_CONFIG_HOME/trailfs/sessions.d"
printf '[session]\nname = preset\n' >"$XDG_CONFIG_HOME/trailfs/sessions.d/preset.ini"
can_mount
ticker=$BUILD/tests/lib/ticker
start() {
	(cd / && exec "$TRAILFS" "$MNT" -f -o tz=UTC,wait=100000) >>"$work/daemon.log" 2>&1 &
	daemon=$!
}
answers() { timeout 20 cat "$MNT/version" >/dev/null 2>&1; }
start
within 20 answers || skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
trap 'code=$?; kill $writer 2>/dev/null; (exit $code); clean_up' EXIT
writer=
[ -d "$S/preset" ] || fail "no session of sessions.d: $(cat "$work/daemon.log")"
rmdir "$S/preset"
mkdir "$S/s" || fail mkdir
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
"$ticker" 0 500 >"$work/ticks" &
writer=$!
records() { [ "$(key events_recorded "$S/s/status")" -gt 100 ]; }
within 20 records || fail "nothing is recorded"

# --- the daemon alone
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
start
within 20 answers || fail "no answer"
is "sessions" s "$(ls "$S")"

# --- both; the keeper first, stopped, so that it starts none
keeper=$(key keeper "$MNT/status")
kill -STOP "$keeper"
kill -9 "$daemon" "$keeper"
wait "$daemon" 2>/dev/null
end_dead_mount "$MNT"
start
within 20 answers || fail "no answer: $(tail -n 3 "$work/daemon.log")"
within 20 records || fail "nothing is recorded any more"
has "$(cat "$work/daemon.log")" 'session s: a buffer of channel channel0 and its events are lost'
is "problems" "" "$(grep '^problem' "$S/s/status")"
[ "$(key buffers_lost "$S/s/status")" -gt 0 ] || fail "no buffer is said to be lost"
kill "$writer"
wait "$writer"
writer=
echo "$checks checks"
