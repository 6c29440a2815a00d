#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two users have mounts of their own. The daemon of one is killed, then its keeper, then its program
# is flooded with requests: the other's readers, sessions, daemon and keeper do not notice.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
command -v setpriv >/dev/null || skip "there is no setpriv"
[ "$(id -u)" = 0 ] || skip "only root can become two users"
ticker=$BUILD/tests/lib/ticker
a=$(id -u nobody) && b=$(id -u daemon) || skip "there are no two users with names"
as() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
as $a true || skip "setpriv may not change users here"
as $a test -w /dev/fuse || skip "an ordinary user cannot mount here"
as $a test -r "$TRAILFS" || skip "another user cannot read the build directory"

writers=
trap 'code=$?; kill $writers 2>/dev/null; for u in $a $b; do umount -l "$work/$u/mnt" 2>/dev/null; done
	(exit $code); clean_up' EXIT

# user UID COMMAND…: with the state directory of the user
user() {
	TRAIL_RUNTIME_DIR=$work/$1/state
	XDG_CONFIG_HOME=$work/$1/config
	as "$@"
}
pids() { MNT=$work/$1/mnt daemon_pids; }
# (The mount is the user's alone.)
keeper() { as "$1" sed -n 's/^keeper //p' "$work/$1/mnt/status"; }
begin() {
	mkdir "$work/$1" "$work/$1/mnt" "$work/$1/config" && chown -R "$1" "$work/$1" || fail mkdir
	(cd "$work/$1" && user "$1" "$TRAILFS" "$work/$1/mnt" -o wait=100000,keeper=0) \
		>"$work/$1.log" 2>&1 || skip "an ordinary user cannot mount: $(cat "$work/$1.log")"
	s=$work/$1/mnt/sessions/s
	user "$1" sh -c "mkdir $s && echo 'tick:*' >$s/user/events && echo start >$s/control" ||
		fail "a session of $1"
	# (exec: the process is the program, which has to get the signal.)
	(export TRAIL_RUNTIME_DIR="$work/$1/state" && exec setpriv --reuid "$1" --regid "$1" \
		--clear-groups "$ticker" 0 1000) >"$work/ticks.$1" 2>"$work/ticker.$1" &
}

begin $a
writer_a=$!
writers=$!
begin $b
writer_b=$!
writers="$writers $!"
user $b cat "$work/$b/mnt/sessions/s/pipe" >"$work/pipe" 2>"$work/pipe.err" &
pipe=$!
user $b sh -c "while [ ! -e $work/stop ]; do cat $work/$b/mnt/sessions/s/status >/dev/null ||
	exit 1; done" 2>"$work/loop.err" &
loop=$!
some() { [ -s "$work/pipe" ]; }
within 20 some || fail "nothing comes from pipe"
before="$(pids $b) $(keeper $b)"
keeper_a=$(keeper $a)
[ "$keeper_a" -gt 0 ] && [ "$keeper_a" != "$(keeper $b)" ] || fail "keepers: $keeper_a, $(keeper $b)"
more() { [ "$(wc -c <"$work/pipe")" -gt "$size" ]; }
goes_on() {
	size=$(wc -c <"$work/pipe")
	within 20 more || fail "$1: the other's pipe stands"
	kill -0 $pipe && kill -0 $loop || fail "$1: a reader of the other has ended: $(cat "$work"/*.err)"
	is "$1: daemon and keeper of the other" "$before" "$(pids $b) $(keeper $b)"
}
kill -9 $(pids $a)
goes_on "a daemon was killed"
kill -9 "$keeper_a"
goes_on "a keeper was killed"
# The next daemon of that user begins with empty buffers, and says so.
lost() { as $a grep -q '^buffers_lost [1-9]' "$work/$a/mnt/sessions/s/status"; }
(cd "$work/$a" && user $a "$TRAILFS" "$work/$a/mnt" -o wait=100000,keeper=0) >"$work/$a.log" 2>&1 ||
	fail "no next daemon: $(cat "$work/$a.log")"
within 20 lost || fail "lost buffers are not said: $(as $a cat "$work/$a/mnt/sessions/s/status")"
goes_on "a next daemon"
user $a fusermount3 -u "$work/$a/mnt" || fail unmount
goes_on "an unmount"

: >"$work/stop"
wait $loop || fail "a reader of the other: $(cat "$work/loop.err")"
kill $writer_a $writer_b
wait $writer_b
user $b sh -c "echo stop >$work/$b/mnt/sessions/s/control" || fail stop
wait $pipe || fail "the other's pipe: $(cat "$work/pipe.err")"
is "events of the other" "$(tr -dc 0-9 <"$work/ticks.$b")" "$(grep -c tick:tock "$work/pipe")"
user $b fusermount3 -u "$work/$b/mnt" || fail unmount
gone() { [ -z "$(pids $a)$(pids $b)" ]; }
within 40 gone || fail "a daemon does not end"
