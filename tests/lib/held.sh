# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of daemons that are killed in a write, after mount.sh:
#
#   mount_held   mounts with libhold.so in the daemon: if the file $HOLD is there, the daemon stops
#                after the next file that it saves, and $HOLD.reached is there

[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
can_mount
HOLD=$work/hold
export HOLD
mount_held() {
	LD_PRELOAD=$BUILD/tests/mount/recovery/libhold.so timeout 200 "$TRAILFS" "$MNT" \
		-o keeper=0,wait=100000 >"$work/daemon.log" 2>&1 || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
		fail "cannot mount: exit status $?"
	}
}
