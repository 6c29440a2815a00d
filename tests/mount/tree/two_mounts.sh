#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A user's own mount beside root's, both with their usual directories: one program records for both,
# and each of them starts, stops, ends and dies for itself.
if [ -z "${IN_NAMESPACE-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "this needs root"; exit 77; }
	unshare -m true 2>/dev/null || { echo "there are no private mounts here"; exit 77; }
	# /run of its own, so that nothing of this machine's is touched; and /dev/fuse for
	# everybody.
	export IN_NAMESPACE=1
	node=$(mktemp -u "${TMPDIR:-/tmp}/fuse.XXXXXX")
	mknod -m 666 "$node" c 10 229 2>/dev/null || node=
	# shellcheck disable=SC2016
	unshare -m sh -c '[ -z "$1" ] || mount --bind "$1" /dev/fuse; mount -t tmpfs tmpfs /run && exec "$0"' "$0" "$node"
	status=$?
	rm -f "$node"
	exit $status
fi
. "$(dirname "$0")/../../lib/mount.sh"
command -v setpriv >/dev/null || skip "there is no setpriv"
a=65534 b=54322
unset TRAIL_RUNTIME_DIR
chmod 755 "$work"
mkdir -p /run/trailfs "/run/user/$a" "$work/mine" && mkdir -m 1777 /run/trailfs/apps &&
	chown $a "/run/user/$a" "$work/mine" || fail mkdir
cp "$TRAILFS" "$BUILD/tests/lib/ticker" "$BUILD"/libtrail.so.0 "$work/" || fail cp
mine=$work/mine/sessions
as() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups env XDG_RUNTIME_DIR="/run/user/$uid" \
		XDG_CONFIG_HOME=/nonexistent \
		LD_LIBRARY_PATH="$work" "$@"
}
# sum SESSION_DIR: recorded and discarded, as root or as the user whose mount it is
sum() { "$@" | awk '/^events_(recorded|discarded)/ { n += $2 } END { print n + 0 }'; }
of_root() { sum cat "$S/r/status"; }
of_user() { sum as $a cat "$mine/u/status"; }
on() { as $a sh -c "echo $1 >$mine/u/control" || fail "$1 in the user's mount"; }
end_mine() {
	for p in $(pgrep -f "$work/trailfs -o keeper=0 $work/mine"); do kill "$@" "$p" 2>/dev/null; done
	fusermount3 -u "$work/mine" 2>/dev/null || umount -l "$work/mine" 2>/dev/null
	within 10 mine_ended
}
mine_ended() { ! pgrep -f "$work/trailfs -o keeper=0 $work/mine" >/dev/null; }
trap 'ended=$?; end_mine; (exit $ended); clean_up' EXIT

# The user is of the group `tracing`, in a group database that is only seen here
gid=54400
if getent passwd $a >/dev/null; then
	{ grep -v '^tracing:' /etc/group; echo \
		"tracing:x:$gid:$(getent passwd $a | cut -d: -f1)"; } >"$work/group"
	mount --bind "$work/group" /etc/group || fail "mount --bind"
fi

mount_tree
if [ -d "$MNT/available/kernel" ] && getent group tracing >/dev/null; then
	as $a mkdir "$S/k" || fail mkdir
	as $a grep -q sched_switch "$MNT/available/kernel/tracepoints" ||
		fail "a member of the group does not see what the kernel has"
	as $a sh -c "echo sched_switch >$S/k/kernel/events && echo start >$S/k/control" ||
		fail "a member of the group: $(cat "$S/k/error")"
	switched() \
		{ [ "$(as $a awk '$1 == "events_recorded" { print $2 }' "$S/k/status")" -gt 10 ]; }
	within 10 switched || fail "nothing is recorded"
	as $a rmdir "$S/k"
	as $b mkdir "$S/k"
	[ ! -e "$S/k/kernel" ] || fail "a stranger's session has the kernel's domain"
	rmdir "$S/k"
fi
as $a "$work/trailfs" -o keeper=0 "$work/mine" >"$work/mine.log" 2>&1 ||
	skip "no mount of an ordinary user here: $(tail -n 1 "$work/mine.log")"
[ -S "/run/user/$a/trailfs/socket" ] || fail "the user's state directory is elsewhere"
mkdir "$S/r" && echo 'tick:*' >"$S/r/user/events" && echo start >"$S/r/control" ||
	fail "root's session"
as $a sh -c "mkdir $mine/u && echo 'tick:*' >$mine/u/user/events" || fail "the user's session"
on start

# Both; another user's program, and root's, only root's
as $a "$work/ticker" 1000 0 || fail ticker
is "root has the user's" 1000 "$(of_root)"
is "the user has them, too" 1000 "$(of_user)"
is "the same" 1000 "$(as $a cat "$mine/u/text" | grep -c 'n = [0-9]* }')"
as $b "$work/ticker" 10 0 || fail ticker
"$BUILD/tests/lib/ticker" 10 0 || fail ticker
is "root has all" 1020 "$(of_root)"
is "the user has only his" 1000 "$(of_user)"
as $b ls "$work/mine" >/dev/null 2>&1 && fail "a stranger is in the user's mount"
ls "$work/mine" >/dev/null 2>&1 && fail "root is in the user's mount"

# One stops, the other continues, with one program all the while
as $a "$work/ticker" 100000000 2000 &
program=$!
grows() { [ "$($1)" -gt "$2" ]; }
within 20 grows of_root 1100 && within 20 grows of_user 1100 ||
	fail "a program that continues: $(of_root) $(of_user)"
on stop
n=$(of_user)
within 20 grows of_root $(($(of_root) + 100)) || fail "root's stands when the user's is stopped"
is "the user's is stopped" "$n" "$(of_user)"
on start
within 20 grows of_user $((n + 100)) || fail "the user's does not continue"
echo stop >"$S/r/control"
n=$(of_root)
within 20 grows of_user $(($(of_user) + 100)) || fail "the user's stands when root's is stopped"
is "root's is stopped" "$n" "$(of_root)"
echo start >"$S/r/control"

# The user's daemon is killed, root's does not notice; the next one finds all
n=$(of_user)
end_mine -9
within 20 grows of_root $(($(of_root) + 100)) || fail "root's stands when the user's daemon is dead"
as $a "$work/trailfs" -o keeper=0 "$work/mine" || fail "mount again"
within 20 grows of_user $((n + 100)) || fail "the user's is not what it was"
kill $program
wait $program 2>/dev/null
umount "$work/mine" || fail umount
rmdir "$S/r"
echo "$checks checks"
