#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A daemon that is killed after the effect of a write is in the state directory, and before it has
# answered the write: the kernel gives the write to the next daemon. That one says what the first
# would have said, and executes only those lines that have had no effect.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/held.sh"
mount_held
s=$S/s
mkdir "$s" && put 'tick:*' "$s/user/events" || fail "session"
grep -q ' no .*resend\|older than 6.9' "$work/daemon.log" && skip "requests are not sent again here"

# killed FILE FLAGS TEXT: what the system calls of this write say, if the daemon is killed in it
killed() {
	: >"$HOLD"
	tool open "$1" "$2" write "$3" close >"$work/said" 2>&1 &
	writer=$!
	within 20 test -e "$HOLD.reached" || fail "$3: the daemon does not save the session"
	kill -9 $(daemon_pids)
	within 10 daemon_ended || fail "the daemon has not ended"
	rm "$HOLD.reached"
	mount_held
	wait $writer
	said
}
# (Not how many bytes were written)
said() { sed 's/^[0-9]*$/written/' "$work/said"; }
state() { sed -n 's/^state //p' "$s/status"; }

# What a write says that nothing disturbs
tool open "$s/user/track/vpid" w write '5\n' close >"$work/said"
well=$(said)

is "start and stop in one write" "$well" "$(killed "$s/control" w 'start\nstop\n')"
is "… leave it" inactive "$(state)"
is "start" "$well" "$(killed "$s/control" w 'start\n')"
is "… leaves it" active "$(state)"
is "stop and start in one write" "$well" "$(killed "$s/control" w 'stop\nstart\n')"
is "… leave it" active "$(state)"
is "stop" "$well" "$(killed "$s/control" w 'stop\n')"
is "… leaves it" inactive "$(state)"

put '1 7' "$s/user/track/vpid"
is "a value that is removed" "$well" "$(killed "$s/user/track/vpid" w '!7\n')"
is "… is gone" 1 "$(cat "$s/user/track/vpid")"
echo a:b >>"$s/user/events" || fail "a second rule"
is "a rule that is removed" "$well" "$(killed "$s/user/events" w '!a:b\n')"
is "… is gone" 'tick:*' "$(cat "$s/user/events")"
is "one that is not there" ENOENT "$(tool open "$s/user/events" w write '!a:b\n')"

mkdir "$S/c" || fail mkdir
is "a configuration" "$well" \
	"$(killed "$S/c/config" w '[user channel]\nname = c1\nevents = a:b\n')"
is "… is in effect" "c1" "$(ls "$S/c/user/channels")"
# Files of a trigger
t=$MNT/triggers/t
mkdir "$t" || fail "a trigger"
is "a condition" "$well" "$(killed "$t/condition" w 'session s started\n')"
is "an action" "$well" "$(killed "$t/actions" w 'stop s\n')"
is "… is there once" "stop s" "$(cat "$t/actions")"
is "another one, after it" "$well" "$(killed "$t/actions" wa 'notify\n')"
is "… is there once, too" "stop s
notify" "$(cat "$t/actions")"
is "an action that is removed" "$well" "$(killed "$t/actions" w '!stop s\n')"
is "… is gone" notify "$(cat "$t/actions")"
is "one that is not there" ENOENT "$(tool open "$t/actions" w write '!stop s\n')"
is "its configuration" "$well" \
	"$(killed "$t/config" w '[trigger]\ncondition = session s started\nactions = notify\n')"
is "… is in effect" notify "$(cat "$t/actions")"
echo "$checks checks"
