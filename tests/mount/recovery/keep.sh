#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# -o keep: a daemon that a signal ends leaves its sessions, buffers, snapshots and triggers to the
# next one, as a killed daemon does; its output has all that was recorded. An unmount ends them.
# A saved `config` starts its session again at the mount, if it was active.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
gone() { ! mounted && daemon_ended; }
end_by() { # SIGNAL
	kill "-$1" "$(daemon_pids)"
	within 10 gone || fail "SIG$1 does not end the daemon, or it stays mounted"
}

mount_tree -o keep,tz=UTC
mkdir "$S/s" "$S/idle" "$S/out" "$MNT/triggers/t" || fail mkdir
put 'tick:*' "$S/s/user/events"
put 'tick:*' "$S/out/user/events"
put "$work/out" "$S/out/output"
put start "$S/s/control"
put start "$S/out/control"
"$ticker" 100 0 || fail ticker
mkdir "$S/s/snapshots/before" || fail snapshot
cat "$S/s/text" >"$work/text"
# One that lives on
"$ticker" 0 1000 >"$work/ticks" &
alive=$!
trap 'code=$?; kill $alive 2>/dev/null; (exit $code); clean_up' EXIT
more() { [ "$(wc -l <"$S/s/text")" -gt 200 ]; }
within 20 more || fail "the second program is not recorded"
end_by TERM
keeper_ended && fail "the keeper ended, too"
# What the output has is complete: a reboot leaves that
if command -v babeltrace2 >/dev/null; then
	babeltrace2 "$work/out" >"$work/written" 2>"$work/err" || fail "$(cat "$work/err")"
	[ "$(wc -l <"$work/written")" -gt 200 ] ||
		fail "the output has $(wc -l <"$work/written") events"
fi
# The program continues without a daemon, which the next one sees
sleep 0.2
kill $alive
wait $alive

mount_tree -o keep,tz=UTC
is "sessions" "idle out s" "$(echo $(ls "$S"))"
is "triggers" t "$(ls "$MNT/triggers")"
is "snapshots" before "$(ls "$S/s/snapshots")"
ticks=$(($(tr -dc 0-9 <"$work/ticks") + 100))
for s in s out; do
	is "state of $s" active "$(key state "$S/$s/status")"
	is "events of $s" "$ticks" "$(wc -l <"$S/$s/text" | tr -d ' ')"
	is "lost by $s" 0 "$(key events_discarded "$S/$s/status")"
done
is "state of idle" inactive "$(key state "$S/idle/status")"
head -n 100 "$S/s/text" | cmp - "$work/text" || fail "the first events are other ones"
"$ticker" 100 0 || fail ticker
is "recorded by both daemons" $((ticks + 100)) "$(wc -l <"$S/s/text" | tr -d ' ')"

# A configuration that was saved while the session was active
cp "$S/s/config" "$work/s.ini" && cp "$S/idle/config" "$work/idle.ini" || fail "copies of config"

# The other signals; then an unmount, which ends all
end_by INT
mount_tree -o keep
end_by HUP
mount_tree -o keep
is "sessions" "idle out s" "$(echo $(ls "$S"))"
fusermount3 -u "$MNT" || fail unmount
within 10 gone || fail "the daemon stays after an unmount"
within 10 keeper_ended || fail "the keeper stays after an unmount"

# As after a reboot: sessions of the configuration are there, and start again if they were active
mkdir -p "$XDG_CONFIG_HOME/trailfs/sessions.d"
cp "$work/s.ini" "$work/idle.ini" "$XDG_CONFIG_HOME/trailfs/sessions.d/" || fail cp
mount_tree -o keep
is "sessions" "idle s" "$(echo $(ls "$S"))"
is "state" "active inactive" "$(key state "$S/s/status") $(key state "$S/idle/status")"
rm "$XDG_CONFIG_HOME/trailfs/sessions.d/idle.ini" && rmdir "$S/idle"
"$ticker" 100 0 || fail ticker
is "recorded" 100 "$(wc -l <"$S/s/text" | tr -d ' ')"
# A session that was left is not made a second time.
end_by TERM
mount_tree -o keep
is "kept" 100 "$(wc -l <"$S/s/text" | tr -d ' ')"
rm "$XDG_CONFIG_HOME/trailfs/sessions.d/s.ini"
rmdir "$S/s"

# With nothing to leave, nothing stays
end_by TERM
within 10 keeper_ended || fail "a keeper that holds nothing stays"
echo "$checks checks"
