#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A daemon that is killed after it has made a snapshot, or let it wait for its time, and before it
# has answered the write of the verb: the kernel gives the write to the next daemon, which makes no
# second snapshot and says that all is well. So does an upgrade while a snapshot waits.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/held.sh"
mount_held
s=$S/s
mkdir "$s" && put trail:log "$s/user/events" && put start "$s/control" || fail "session"
seq -f 'message %g' 10 >"$MNT/log"
grep -q ' no .*resend\|older than 6.9' "$work/daemon.log" && skip "requests are not sent again here"

# once VERB COUNT: after it there are COUNT snapshots
once() {
	: >"$HOLD"
	printf '%s\n' "$1" >"$s/control" 2>"$work/said" &
	writer=$!
	within 20 test -e "$HOLD.reached" || fail "$1: the daemon does not save the session"
	kill -9 $(daemon_pids)
	within 10 daemon_ended || fail "the daemon has not ended"
	rm "$HOLD.reached"
	mount_held
	wait $writer || fail "$1: $(cat "$work/said" "$s/error")"
	made() { [ "$(ls "$s/snapshots" | wc -l)" -ge "$2" ]; }
	within 60 made "$1" "$2" || fail "$1: not made: $(cat "$s/status" "$s/error")"
	is "$1: snapshots" "$2" "$(ls "$s/snapshots" | wc -l)"
	is "$1: nothing waits" "" "$(grep '^pending snapshot' "$s/status")"
	is "$1: errors" "" "$(cat "$s/error")"
}
once 'snapshot named' 1
once snapshot 2
once 'snapshot later after 1s' 3
once 'snapshot after 1s' 4
is "taken again, the name is refused" EEXIST "$(tool open "$s/control" w write 'snapshot named\n')"
tool open "$s/control" w write 'snapshot\n' >/dev/null
is "and another write makes another one" 5 "$(ls "$s/snapshots" | wc -l)"

# --- an upgrade
put 'snapshot upgraded after 2s' "$s/control"
put 'snapshot after 2s' "$s/control"
kill -USR2 $(daemon_pids)
all() { [ "$(ls "$s/snapshots" | wc -l)" -ge 7 ]; }
within 60 all || fail "after an upgrade: $(cat "$s/status" "$s/error" "$MNT/error")"
is "after an upgrade" 7 "$(ls "$s/snapshots" | wc -l)"
command -v babeltrace2 >/dev/null &&
	is "its events" 10 "$(babeltrace2 "$s/snapshots/upgraded" | wc -l)"
echo "$checks checks"
