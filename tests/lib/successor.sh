# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of what takes the place of a daemon that was killed or replaced. The program is a copy at
# $TRAILFS, which `become` replaces; $real is the one that was built. It is tests/lib/mount.sh as
# well.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
real=$TRAILFS
mkdir "$work/bin"
TRAILFS=$work/bin/trailfs
# Not in place: the running program may not be written.
become() {
	cat >"$work/bin/next"
	chmod 755 "$work/bin/next"
	mv "$work/bin/next" "$TRAILFS"
}
# start [OPTION…]: mounts
start() {
	timeout 200 "$TRAILFS" "$MNT" -o tz=UTC "$@" >>"$work/daemon.log" 2>&1 || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
		fail "cannot mount: exit status $?"
	}
}
keeper_pid() { pgrep -f "^trail-keeper --keeper $TRAIL_RUNTIME_DIR\$"; }
ended() { [ -z "$(keeper_pid)" ] && [ -z "$(daemon_pids)" ]; }
sessions() { ls "$MNT/sessions" | tr '\n' ' '; }
