#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Programs that have `notifications` open, and do not read or poll it while the daemon is replaced:
# they get what comes after that. What came before is lost, and a line says so first.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
mkdir "$MNT/triggers/t" "$S/web" && put 'tick:*' "$S/web/user/events" || fail "session"
put 'session web started' "$MNT/triggers/t/condition"
put notify "$MNT/triggers/t/actions"
exec 4<"$MNT/triggers/t/notifications" 5<"$MNT/triggers/t/notifications.json"
hit() { put start "$S/web/control" && put stop "$S/web/control"; }
executed() { grep -q "^action .*executed $1 " "$MNT/triggers/t/status"; }

hit
within 20 executed 1 || fail "no hit"
kill -9 $(daemon_pids)
within 10 daemon_ended || fail "the daemon has not ended"
mount_tree
grep -q ' no .*resend\|older than 6.9' "$work/daemon.log" && skip "requests are not sent again here"
hit
within 20 executed 2 || fail "no hit after the kill"
is "readers" "readers 2" "$(grep '^readers' "$MNT/triggers/t/status")"
is "sent, two before the kill" "notifications_sent 4" \
	"$(grep '^notifications_sent' "$MNT/triggers/t/status")"
is "lines" "lost
t" "$(dd bs=65536 count=1 <&4 2>/dev/null | sed 's/^# t: 1 notif.*/lost/; s/^\[.*\] t { }$/t/')"
is "lines of JSON" 1 "$(dd bs=65536 count=1 <&5 2>/dev/null | grep -c '"values"')"
exec 4<&- 5<&-
echo "$checks checks"
