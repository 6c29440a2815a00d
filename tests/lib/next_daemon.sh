# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests in which a daemon is killed, and the next one continues with the mount. After mount.sh:
#
#   mount_first [OPTIONS]   the first daemon; skips if an ordinary user cannot mount
#   next_daemon             another one, with the same options; it does not wait until it serves
#   kill_daemon             kill -9
#   replace                 the two, and waits until the mount answers
#   answers                 whether the mount answers
#   upgraded [STATUS]       whether the program was executed by another one, in the same process, and
#                           serves; $pid is that process, STATUS the mount's file `status`
#
# $daemon is the daemon's process. It has neither a directory of this shell nor its descriptors 4 to
# 9: a daemon that had a file of its own mount open would keep the mount.

next_daemon() {
	(cd / && exec "$TRAILFS" "$MNT" -f -o "$daemon_options") >>"$work/daemon.log" 2>&1 \
		4<&- 5<&- 6<&- 7<&- 8<&- 9<&- &
	daemon=$!
}
answers() { timeout 60 cat "$MNT/version" >/dev/null 2>&1; }
mount_first() {
	can_mount
	daemon_options=${1:-wait=100000}
	next_daemon
	within 20 answers || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
		fail "no mount: $(tail -n 3 "$work/daemon.log")"
	}
}
kill_daemon() {
	kill -9 "$daemon" || fail "the daemon has ended by itself"
	wait "$daemon" 2>/dev/null
}
replace() {
	kill_daemon
	next_daemon
	within 60 answers || fail "no other daemon"
}
upgraded() {
	grep -qs TRAILFS_EXECUTED_BY "/proc/$pid/environ" && grep -qs "^pid $pid\$" "${1-$MNT/status}"
}
