#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Several users on root's mount, and a user's own mount.

# Where only root may use /dev/fuse (containers), this continues in a mount namespace where all
# users may.
if [ "$(id -u)" = 0 ] && [ -z "${IN_NAMESPACE-}" ] &&
	[ "$(stat -c %a /dev/fuse 2>/dev/null)" = 600 ] &&
	unshare -m true 2>/dev/null; then
	node=$(mktemp -u "${TMPDIR:-/tmp}/fuse.XXXXXX")
	mknod -m 666 "$node" c 10 229 2>/dev/null &&
		IN_NAMESPACE=1 unshare -m sh -c 'mount --bind "$1" /dev/fuse; shift; exec "$@"' sh \
			"$node" "$0" "$@"
	status=$?
	rm -f "$node"
	exit $status
fi
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
command -v setpriv >/dev/null || skip "there is no setpriv"
# (65534: fusermount3 wants a user with a name)
a=65534 b=54322 group=54400
chmod 755 "$work"
mount_tree
cp "$TOOL" "$work/tool" && TOOL=$work/tool

# as UID COMMAND…
as() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
in_group() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --groups $group "$@"
}
setpriv --reuid $a --regid $a --clear-groups true || skip "setpriv may not change users here"

# Each makes sessions; they are private, their names are not
as $a mkdir "$S/alice" || fail "a user cannot make a session on root's mount"
as $b mkdir "$S/bob" || fail "another user cannot"
mkdir "$S/root" || fail "root cannot"
is "owner" "$a $a" "$(stat -c '%u %g' "$S/alice")"
is "owner in status" "$a" "$(key owner "$S/alice/status")"
is "names are public" "alice bob root " "$(as $b ls "$S" | tr '\n' ' ')"
for f in control status text pipe wait error trace user user/events; do
	as $b test -r "$S/alice/$f" && fail "a stranger reads $f"
done
as $b ls "$S/alice" >/dev/null 2>&1 && fail "a stranger lists a session"
is "write" EACCES "$(as $b "$TOOL" open "$S/alice/control" w)"
is "rmdir" EPERM "$(as $b "$TOOL" rmdir "$S/alice")"
is "mkdir in it" EACCES "$(as $b "$TOOL" mkdir "$S/alice/user/channels/c")"
is "chmod" EPERM "$(as $b "$TOOL" chmod "$S/alice" 777)"
is "chown" EPERM "$(as $a "$TOOL" chown "$S/alice" $b)"
is "taking a name that is taken" EEXIST "$(as $b "$TOOL" mkdir "$S/alice")"
as $a sh -c "echo 'a:*' >$S/alice/user/events" || fail "the owner cannot write"
is "root reads all" "a:*" "$(cat "$S/alice/user/events")"

# chmod and chgrp share
as $a chmod 750 "$S/alice" || fail "the owner's chmod"
as $b ls "$S/alice" >/dev/null 2>&1 && fail "not in the group, but lists"
setpriv --reuid $a --regid $a --groups $group chgrp $group "$S/alice" ||
	fail "chgrp to a group of one's own"
is "chgrp" $group "$(stat -c %g "$S/alice")"
is "the group reads" "a:*" "$(in_group $b cat "$S/alice/user/events")"
is "but does not write" EACCES "$(in_group $b "$TOOL" open "$S/alice/user/events" w)"
is "nor make channels" EACCES "$(in_group $b "$TOOL" mkdir "$S/alice/user/channels/c")"
as $a chmod 770 "$S/alice"
in_group $b sh -c "echo 'b:*' >>$S/alice/user/events" || fail "g+w, but the group cannot write"
in_group $b mkdir "$S/alice/user/channels/c" || fail "g+w, but the group cannot make a channel"
is "the group still cannot remove it" EPERM "$(in_group $b "$TOOL" rmdir "$S/alice")"
as $a chmod 705 "$S/alice"
is "others" "a:* b:* " "$(as $b cat "$S/alice/user/events" | tr '\n' ' ')"
as $a chmod 700 "$S/alice"
chown $b "$S/bob" || fail "root's chown"
is "chown by root" $b "$(stat -c %u "$S/bob")"

# Whose rights count: those of the opener, not of who writes: a set-user-ID program's output into a
# file that a user opened
cp "$TOOL" "$work/suid" && chown 0 "$work/suid" && chmod 4755 "$work/suid"
(umask 077 && echo secret >"$work/secret")
# (Not where the directory is mounted nosuid.)
suid=$(as $a "$work/suid" open "$work/secret" r)
as $b chmod 755 "$S/bob"
is "bob's file" EACCES "$(as $a sh -c "exec 2>&1; $work/suid mkdir $work/new >>$S/bob/control" |
	sed -n 's/.*Permission denied.*/EACCES/p')"
suid_message() {
	as $a sh -c "$work/suid access $work >$MNT/log"
}
# A message is its opener's, though root writes it: it goes to the user's and root's sessions
for s in alice bob root; do
	echo 'trail:log' >"$S/$s/user/events"
	key state "$S/$s/status" | grep -q inactive && echo start >"$S/$s/control"
done
as $a sh -c "echo 'from alice' >$MNT/log" || fail "a user's log"
grep -q 'from alice' "$S/alice/text" || fail "not in the user's own session"
grep -q 'from alice' "$S/root/text" || fail "not in root's session"
grep -q 'from alice' "$S/bob/text" && fail "in another user's session"
if [ "$suid" = ok ]; then
	suid_message || fail "a program's message"
	has "$(cat "$S/alice/text")" 'msg = "\(ok\|EACCES\)"'
	has "$(cat "$S/root/text")" 'msg = "\(ok\|EACCES\)"'
fi
echo 'from root' >"$MNT/log"
grep -q 'from root' "$S/root/text" || fail "root's message is not in root's session"
grep -q 'from root' "$S/alice/text" && fail "root's message is in a user's session"

# error: one's own, root sees all
as $a sh -c "mkdir '$S/a b'" 2>/dev/null
as $b sh -c "mkdir '$S/b?c'" 2>/dev/null
has "$(as $a cat "$MNT/error")" 'a b'
as $a cat "$MNT/error" | grep -q 'b?c' && fail "a user sees another's errors"
has "$(as $b cat "$MNT/error")" 'b?c'
has "$(cat "$MNT/error")" 'a b'
has "$(cat "$MNT/error")" 'b?c'
as $a test -s "$MNT/error" || fail "test -s error"
as $a mkdir "$S/fine" && as $a rmdir "$S/fine"
is "one's own success clears one's own" "" "$(as $a cat "$MNT/error")"
as $a test -s "$MNT/error" && fail "test -s error, though it is empty"
has "$(as $b cat "$MNT/error")" 'b?c'

# A session's errors are shown to who may read the session
as $a sh -c "echo nonsense >$S/alice/control" 2>/dev/null
has "$(as $a cat "$S/alice/error")" nonsense
echo nonsense2 2>/dev/null >"$S/alice/control"
has "$(as $a cat "$S/alice/error")" nonsense2
as $a sh -c "echo stop >$S/alice/control"
has "$(cat "$S/alice/error")" nonsense2

# Everywhere else users change nothing
is "mkdir at the top" EACCES "$(as $a "$TOOL" mkdir "$MNT/x")"
is "create" EACCES "$(as $a "$TOOL" open "$MNT/x" wc)"
is "rmdir" EPERM "$(as $a "$TOOL" rmdir "$S" | sed s/EACCES/EPERM/)"
is "utimes of another's" EACCES "$(as $b "$TOOL" utimes "$S/alice/control")"
is "access" EACCES "$(as $b "$TOOL" access "$S/alice/control")"
as $a rmdir "$S/alice" || fail "the owner's rmdir"
rmdir "$S/bob" || fail "root's rmdir of a user's session"

# Applications: one's own, root sees all
app=$BUILD/tools/demo_app
if [ -x "$app" ] && cp "$app" "$work/app" && cp "$BUILD"/libtrail.so.0 "$work/" &&
	[ -d "$TRAIL_RUNTIME_DIR/apps" ]; then
	setpriv --reuid $a --regid $a --clear-groups env LD_LIBRARY_PATH="$work" "$work/app" \
		>/dev/null 2>&1 &
	pid=$!
	has_app() {
		[ -d "$MNT/apps/$pid" ]
	}
	within 5 has_app || fail "the program is not in apps"
	is "mode and owner" "dr-x------ $a" "$(stat -c '%A %u' "$MNT/apps/$pid")"
	is "comm" app "$(as $a cat "$MNT/apps/$pid/comm")"
	is "uid" $a "$(cat "$MNT/apps/$pid/uid")"
	has "$(as $a cat "$MNT/apps/$pid/tracepoints")" '^demo:request'
	has "$(as $a cat "$MNT/available/user/tracepoints")" '^demo:request [a-z_]*$'
	has "$(cat "$MNT/available/user/tracepoints")" '^demo:request'
	as $b cat "$MNT/available/user/tracepoints" | grep demo &&
		fail "a stranger sees the tracepoints"
	is "a stranger sees none" "" "$(as $b ls "$MNT/apps")"
	is "not even by name" ENOENT "$(as $b "$TOOL" open "$MNT/apps/$pid/comm" r)"
	is "read only" EACCES "$("$TOOL" open "$MNT/apps/$pid/comm" w)"
	is "it lists" "$pid " "$(ls "$MNT/apps" | tr '\n' ' ')"
	kill $pid
	wait $pid 2>/dev/null
	app_gone() {
		[ ! -e "$MNT/apps/$pid" ]
	}
	within 5 app_gone || fail "the program stays in apps"
fi

# A user's own mount, beside root's
mine=$work/mine
mkdir "$mine" "$work/mystate" && chown $a "$mine" "$work/mystate"
if [ ! -e /etc/mtab ]; then
	echo "no mount of an ordinary user: fusermount3 needs /etc/mtab"
elif as $a env TRAIL_RUNTIME_DIR="$work/mystate" "$TRAILFS" "$mine" -o allow_other >"$work/mine.log" \
	2>&1; then
	is "the mount is the user's" $a \
		"$(stat -c %u "$mine" 2>/dev/null || as $a stat -c %u "$mine")"
	as $a mkdir "$mine/sessions/s" || fail "mkdir in one's own mount"
	is "sessions in it" "drwxr-xr-x" "$(as $a stat -c %A "$mine/sessions")"
	as $b ls "$mine" >/dev/null 2>&1 && ! grep -q '^user_allow_other' /etc/fuse.conf &&
		fail "a stranger is in it"
	as $a fusermount3 -u "$mine" || fail "the user cannot unmount"
else
	echo "no mount of an ordinary user here: $(tail -n 1 "$work/mine.log")"
fi
echo "$checks checks"
