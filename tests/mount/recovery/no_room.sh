#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# The state directory has no room, neither for bytes nor for files, when the daemon is killed or
# replaced: the next one continues with the mount, the sessions and their readers. What it cannot
# save is in `error`, and is saved once there is room.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/next_daemon.sh"
[ "$(id -u)" = 0 ] || skip "only root can mount a small file system"
mkdir "$TRAIL_RUNTIME_DIR"
trap 'code=$?; umount -l "$TRAIL_RUNTIME_DIR" 2>/dev/null; (exit $code); clean_up' EXIT
ticker=$BUILD/tests/lib/ticker

again() {
	kill -9 $(daemon_pids)
	within 10 daemon_ended || fail "the daemon has not ended"
	mount_tree
}
rest() { dd bs=1000000 count=1 <&$1 2>/dev/null; }
saved() { ! grep -q "^unsaved" "$S/s/status"; }
# The first program of an upgrade ends later than the second one begins, and makes room then.
unsaved() {
	bytes
	put start "$S/s/control" && put stop "$S/s/control"
	grep -q "cannot be saved in the state directory" "$S/s/error"
}
# try NAME FILL: FILL makes the file system full
try() {
	mount -t tmpfs -o "size=2m,nr_inodes=60,mode=755" none "$TRAIL_RUNTIME_DIR" ||
		skip "no file system can be mounted here"
	mount_tree
	mkdir "$S/s" && put 'tick:*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
	"$ticker" 100 0 || fail "record"
	exec 4<"$S/s/text" 5<"$S/s/pipe"
	dd bs=1000 count=1 <&4 >"$work/4" 2>/dev/null
	dd bs=1000 count=1 <&5 >"$work/5" 2>/dev/null
	cp "$S/s/text" "$work/all"
	$2
	again
	is "sessions ($1)" s "$(ls "$S")"
	rest 4 >>"$work/4"
	rest 5 >>"$work/5"
	cmp "$work/4" "$work/all" || fail "a reader of text ($1)"
	cmp "$work/5" "$work/all" || fail "a reader of pipe ($1)"
	$2
	mkdir "$S/no" 2>/dev/null
	is "mkdir ($1)" 1 $?
	has "$(cat "$MNT/error")" "mkdir: the state directory cannot be written: No space left"
	pid=$(daemon_pids)
	kill -USR2 "$pid"
	within 20 upgraded || fail "no upgrade ($1)"
	is "sessions after an upgrade ($1)" s "$(ls "$S")"
	put stop "$S/s/control"
	if [ "$1" = bytes ]; then
		within 20 unsaved || fail "no error of a session that cannot be saved"
	fi
	again
	is "text ($1)" "$(cat "$work/all")" "$(head -n 100 "$S/s/text")"
	rm "$TRAIL_RUNTIME_DIR"/fill*
	mkdir "$S/yes" || fail "mkdir, with room"
	within 20 saved || fail "not saved ($1)"
	exec 4<&- 5<&-
	fusermount3 -u "$MNT" || fail unmount
	within 40 daemon_ended || fail "the daemon does not end"
	within 20 keeper_ended || fail "the keeper does not end"
	# (A process that ends has no arguments any more when it closes its files.)
	within 20 umount "$TRAIL_RUNTIME_DIR" 2>/dev/null || fail "umount"
}
bytes() { dd if=/dev/zero of="$TRAIL_RUNTIME_DIR/fill.$((fills += 1))" bs=4k 2>/dev/null; :; }
files() {
	sh -c 'i=0; while : >>"$0/fill$i"; do i=$((i + 1)); done' "$TRAIL_RUNTIME_DIR" 2>/dev/null
	:
}
fills=0
try bytes bytes
try files files
echo "$checks checks"
