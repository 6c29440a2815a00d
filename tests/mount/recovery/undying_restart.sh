#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# The keeper starts a daemon in the place of one that was killed: the mount goes on, with the options
# that it had. After the third death within a minute it starts no more: the mount answers EIO, and
# sessions record. The next trailfs goes on with both, and an unmount ends both. With keeper=0 nothing is started. A daemon that
# is asked to end, or is unmounted, is not started again.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
ticker=$BUILD/tests/lib/ticker

mount_kept() {
	(cd "$work" && timeout 200 "$TRAILFS" "$MNT" -o tz=UTC,wait=100000 "$@") >"$work/daemon.log" 2>&1 || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
		fail "cannot mount: exit status $?"
	}
}
# other: another daemon than that of kill_daemon, without the process that has started it
other() { new=$(daemon_pids) && [ -n "$new" ] && [ "$new" != "$old" ] && one; }
one() { [ "$(daemon_pids | wc -l)" = 1 ]; }
kill_daemon() {
	within 20 one || fail "not one daemon: $(daemon_pids)"
	old=$(daemon_pids)
	kill -9 "$old" || fail "no daemon"
}

mount_kept
mkdir "$S/s" || fail mkdir
put 'tick:*' "$S/s/user/events"
put start "$S/s/control"
"$ticker" 0 500 >"$work/ticks" &
writer=$!
trap 'code=$?; kill $writer $pipe 2>/dev/null; (exit $code); clean_up' EXIT
cat "$S/s/pipe" >"$work/pipe" 2>"$work/pipe.err" &
pipe=$!
cd "$S/s" || fail cd

kill_daemon
timeout 60 cat "$MNT/version" >"$work/version" || fail "the mount does not answer"
within 20 other || fail "no other daemon"
is "the directory of the shell" "$S/s" "$(pwd -P)"
is "the session" active "$(key state status)"
has "$(ps -o args= -p "$new")" ' -o tz=UTC,wait=100000'

# A second time, after a pause
kill_daemon
timeout 60 cat "$MNT/version" >"$work/version" || fail "the mount does not answer (2)"
within 20 other || fail "no other daemon (2)"
kill -0 "$pipe" || fail "cat pipe has ended: $(cat "$work/pipe.err")"

# The third time
kill_daemon
ended_pipe() { ! kill -0 "$pipe" 2>/dev/null || grep -q "^State:.Z" "/proc/$pipe/status"; }
refuses() { timeout 20 cat "$MNT/version" 2>&1 | grep -q 'Input/output error'; }
within 20 refuses || fail "the mount does not answer EIO: $(timeout 5 cat "$MNT/version" 2>&1)"
is "daemons" "" "$(daemon_pids)"
within 20 ended_pipe || fail "cat pipe waits"
wait "$pipe" && fail "cat pipe took the end for the end of the session"
has "$(cat "$work/pipe.err")" 'Input/output error'

# By hand
mount_kept -o keeper=0
is "the directory of the shell (2)" "$S/s" "$(pwd -P)"
before=$(wc -l <text)
more() { [ "$(wc -l <text)" -gt "$before" ]; }
within 20 more || fail "nothing is recorded any more"
kill "$writer"
wait "$writer"
put stop control
# (While no daemon ran, a full buffer may have discarded some: then these are counted.)
is "events" "$(tr -dc 0-9 <"$work/ticks")" \
	$(($(grep -c 'tick:' text) + $(key events_discarded status)))
# (The last line may be cut: the third death ended its reader.)
head -c "$(wc -c <"$work/pipe")" text | cmp - "$work/pipe" || fail "pipe has other lines than text"

# keeper=0: it waits for the next one, however that is started, but not longer than a minute
kill_daemon
killed=$(cut -d . -f 1 /proc/uptime)
within 20 daemon_ended || fail "the daemon has not ended"
timeout 1 cat "$MNT/version" >/dev/null 2>&1
is "a read without a daemon waits" 124 $?
timeout 60 cat status >"$work/status" &
reader=$!
mount_kept
wait "$reader" || {
	[ $(($(cut -d . -f 1 /proc/uptime) - killed)) -lt 55 ] ||
		skip "this machine takes a minute to start a daemon"
	fail "a read that waited"
}
has "$(cat "$work/status")" '^state inactive'

# Asked to end: it stays so
cd /
kill -TERM "$(daemon_pids)"
gone() { ! mounted && daemon_ended && keeper_ended; }
within 40 gone || fail "SIGTERM does not end the daemon"
mount_kept
[ -z "$(ls "$S")" ] || fail "sessions outlive SIGTERM"
fusermount3 -u "$MNT" || fail unmount
within 40 gone || fail "an unmount does not end the daemon"

# An unmount while no daemon is started any more ends sessions and keeper, as with a daemon.
mount_kept
mkdir "$S/left" || fail mkdir
put 'tick:*' "$S/left/user/events"
put start "$S/left/control"
for i in 1 2 3; do
	kill_daemon
	[ $i = 3 ] || within 20 other || fail "no other daemon (unmount, $i)"
done
within 20 refuses || fail "the mount does not answer EIO (unmount)"
fusermount3 -u "$MNT" || fail "unmount without a daemon"
within 40 gone || fail "an unmount without a daemon leaves a keeper"
mount_kept
is "sessions after an unmount without a daemon" "" "$(ls "$S")"
fusermount3 -u "$MNT" || fail "unmount (last)"
within 40 gone || fail "an unmount does not end the daemon (last)"
echo "$checks checks"
