#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is refused as a mount point: all that mount(8) refuses, and a directory with the state
# directory in it. A mount that fails leaves the sessions that a killed daemon left.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount

# refuse WHAT PATTERN ARGUMENT…: an error on stderr, exit status 1, no daemon left
refuse() {
	what=$1 pattern=$2
	shift 2
	timeout 200 "$TRAILFS" "$@" >"$work/out" 2>"$work/err"
	is "exit status for $what" 1 $?
	has "$(cat "$work/err")" "$pattern"
	is "mounts after $what" "$before" "$(grep -c ' fuse.trailfs ' /proc/self/mounts)"
}
before=$(grep -c ' fuse.trailfs ' /proc/self/mounts)

echo contents >"$work/file"
ln -s file "$work/link"
ln -s loop "$work/loop"
mkfifo "$work/fifo"
refuse "a regular file" 'Not a directory' "$work/file"
is "the file" contents "$(cat "$work/file")"
refuse "a link to a file" 'Not a directory' "$work/link"
refuse "a file as a directory" 'Not a directory' "$work/file/"
refuse "a FIFO" 'Not a directory' "$work/fifo"
refuse "a device" 'Not a directory' /dev/null
refuse "a loop of links" 'symbolic links' "$work/loop"
refuse "nothing" 'No such file' "$work/none"
refuse "an empty path" 'No such file' ''
[ -e "$TRAIL_RUNTIME_DIR/lock" ] && fail "a daemon was started for a mount point that is refused"

# The state directory may not be hidden
mkdir -p "$work/hidden/state/apps"
refuse "the state directory's parent" 'state directory' "$work/hidden" -o state="$work/hidden/state"
refuse "a state directory that is not there yet" 'state directory' "$work/hidden" \
	-o state="$work/hidden/new/state"
[ -e "$work/hidden/new" ] && fail "the state directory was made"
refuse "the state directory" 'state directory' "$work/hidden/state" -o state="$work/hidden/state"

# A link to a directory is as good as the directory, and so is a directory in whose name the state
# directory's begins
ln -s mnt "$work/way"
timeout 200 "$TRAILFS" "$work/way" -o keeper=0 >"$work/daemon.log" 2>&1 ||
	skip "cannot mount here: $(tail -n 1 "$work/daemon.log")"
mounted || fail "not mounted through a link"
mkdir "$S/left" || fail mkdir
echo 'a:*' >"$S/left/user/events"

# A failed mount loses nothing
pid=$(key pid "$MNT/status")
kill -9 "$pid"
dead() {
	! kill -0 "$pid" 2>/dev/null
}
within 5 dead || fail "killed, and still there"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
	setpriv --bounding-set=-sys_admin true 2>/dev/null; then
	fusermount3 -u -z "$MNT"
	timeout 200 setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$TRAILFS" "$MNT" \
		>"$work/out" 2>&1 &&
		fail "mounted without the right to mount"
	mounted && fail "mounted by a daemon that failed"
fi
mount_tree
is "the session is there" 'a:*' "$(cat "$S/left/user/events")"
echo "$checks checks"
