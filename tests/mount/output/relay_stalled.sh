#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A relay that is stopped, or gone: rmdir of a session that holds events refuses soon and says why,
# `clear` drops what the buffers hold at once, also if the relay allows no clear, and then rmdir
# removes the session without waiting for the relay. When the relay runs again before it is given
# up, it deletes what was cleared.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay

confirmed() { grep -q '^relay connected' "$S/$1/status" && is_empty "$1"; }
is_empty() { [ "$(key pending_bytes "$S/$1/status")" = 0 ]; }
is_silent() { grep -q '^relay_silent' "$S/$1/status"; }
explains() { grep -q "$2" "$S/$1/error"; }

# recording NAME: a session of which the relay has 100 events
recording() {
	relay_session "$1"
	put 10ms "$c/switch_period"
	put start "$S/$1/control"
	"$ticker" 100 0 || fail ticker
	within 60 confirmed "$1" || fail "not confirmed: $(cat "$S/$1/status")"
}

# removed NAME: rmdir of a session without pending events does not wait until a relay is given up
removed() {
	timeout 60 rmdir "$S/$1" || fail "rmdir: $? $(cat "$S/$1/status")"
}

refuses() {
	timeout 60 rmdir "$S/$1" 2>"$work/rmdir"
	is "rmdir of $1" 1 $?
	has "$(cat "$work/rmdir")" 'Input/output error'
	has "$(cat "$MNT/error")" "buffers hold cannot be written: $2; 'clear' discards it"
}

start_relay
# Without -o relay_timeout a connection is given up after a minute, and all would work then.
mount_tree -o tz=UTC,wait=800,relay_timeout=1000s

recording stuck
stop_process $relay_pid
"$ticker" 1000 0 || fail ticker
within 20 is_silent stuck || fail "status does not say it: $(cat "$S/stuck/status")"
refuses stuck 'the relay does not answer'
within 20 explains stuck 'the relay does not answer' || fail "error: $(cat "$S/stuck/error")"
is "the events are still there" 1100 "$(wc -l <"$S/stuck/text")"
put clear "$S/stuck/control"
within 20 is_empty stuck || fail "not cleared: $(cat "$S/stuck/status")"
is "events after clear" 0 "$(wc -l <"$S/stuck/text")"
put clear "$S/stuck/control"
removed stuck

# It runs again: what was recorded before the clear is deleted there, too.
kill -CONT $relay_pid
recording later
stop_process $relay_pid
"$ticker" 500 0 || fail ticker
put clear "$S/later/control"
within 20 is_empty later || fail "not cleared: $(cat "$S/later/status")"
"$ticker" 300 0 || fail ticker
kill -CONT $relay_pid
within 60 confirmed later || fail "not confirmed: $(cat "$S/later/status")"
same_as_trace later "$(relay_dir later)"
is "events after clear" 300 "$(wc -l <"$work/files")"
removed later

# A relay that allows no clear, while it answers.
kill_relay
start_relay --disallow-clear
recording forbids
is "clear" EPERM "$(tool open "$S/forbids/control" w write "clear\n")"
stop_process $relay_pid
"$ticker" 500 0 || fail ticker
within 20 is_silent forbids || fail "status does not say it: $(cat "$S/forbids/status")"
put clear "$S/forbids/control"
within 20 is_empty forbids || fail "not cleared: $(cat "$S/forbids/status")"
removed forbids

# A relay that is gone
kill -CONT $relay_pid
recording orphan
kill_relay
"$ticker" 500 0 || fail ticker
refuses orphan '.*'
put clear "$S/orphan/control"
within 20 is_empty orphan || fail "not cleared: $(cat "$S/orphan/status")"
removed orphan
echo "$checks checks"
