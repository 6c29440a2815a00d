#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A map and a trigger whose events no application has are removed without a complaint in the
# daemon's log.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
"$TRAILFS" "$MNT" -f >"$work/daemon.log" 2>&1 &
serves() { [ -e "$MNT/version" ] || daemon_ended; }
within 60 serves
[ -e "$MNT/version" ] || skip "cannot mount here: $(tail -n 1 "$work/daemon.log")"
s=$S/s
mkdir "$s" "$s/user/maps/m" && echo 'nobody:has by $ctx.vpid count' >"$s/user/maps/m/rules" &&
	echo start >"$s/control" || fail "the map"
mkdir "$MNT/triggers/t" && echo 'event user nobody:has' >"$MNT/triggers/t/condition" &&
	echo notify >"$MNT/triggers/t/actions" && echo 1 >"$MNT/triggers/t/enabled" ||
	fail "the trigger"
rmdir "$MNT/triggers/t" "$s/user/maps/m" "$s" || fail rmdir
fusermount3 -u "$MNT" || fail unmount
within 60 daemon_ended || fail "the daemon does not end"
is "complaints" "" "$(grep 'cannot be removed' "$work/daemon.log")"
echo "$checks checks"
