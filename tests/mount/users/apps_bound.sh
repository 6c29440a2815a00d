#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Root's daemon mounts a file system of bounded size on the directory of registrations, so that no
# user can fill the state directory. It finds programs that registered before, in the directory
# below; the next daemon finds those of the file system; and a daemon of a user sees that it came.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
command -v setpriv >/dev/null && command -v unshare >/dev/null || skip "there is no setpriv or unshare"
if [ "${1-}" != inside ]; then
	trap - EXIT
	rm -rf "$work"
	unshare -m --propagation private true 2>/dev/null || skip "no mount namespace can be made"
	# What this test mounts, it mounts here alone.
	exec unshare -m --propagation private "$0" inside
fi
ticker=$BUILD/tests/lib/ticker
[ -x "$ticker" ] || skip "there are no test programs"
apps=$TRAIL_RUNTIME_DIR/apps
as() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
as true || skip "setpriv may not change users here"

# The state directory is small, as /run may be.
mkdir "$TRAIL_RUNTIME_DIR" && mount -t tmpfs -o size=3M,mode=755 small "$TRAIL_RUNTIME_DIR" ||
	skip "cannot mount a tmpfs"
mkdir -m 1777 "$apps" || fail "apps"
bound() { grep -q " $apps tmpfs .*nosuid,nodev,noexec.*size=1024k" /proc/self/mounts; }
new() { mkdir "$S/$1" && echo 'tick:*' >"$S/$1/user/events" && echo start >"$S/$1/control"; }
counted() { [ "$(key events_recorded "$S/$1/status")" -gt 0 ]; }

# A program that is there before the daemon, and lives longer
"$ticker" 0 1000 >"$work/early.ticks" &
early=$!
there() { [ -n "$(ls "$apps")" ]; }
within 20 there || fail "it does not register"
mount_tree -o apps_size=1M
bound || fail "nothing is mounted: $(cat "$work/daemon.log")"
is "mode" 1777 "$(stat -c %a "$apps")"
new early || fail session
within 20 counted early || fail "a program that registered before is not found"

# A user fills it: sessions can be made, and both files say what is wrong
as sh -c "head -c 10M /dev/zero >$apps/junk" 2>"$work/err" && fail "there is room for 10 MB"
setpriv --reuid 65534 --regid 65534 --clear-groups \
	sh -c "exec 9>$apps/0123456789abcdef0123456789abcde3; flock 9; head -c 4M /dev/zero >&9
		exec sleep 1000" 2>/dev/null &
holder=$!
full() { grep -q '^problem .*/apps: its file system is full' "$MNT/status"; }
within 20 full || fail "nothing is said in status: $(cat "$MNT/status")"
# `error` has it when a program tries.
"$ticker" 1 0 || fail "ticker: $?"
said() { grep -q 'apps: its file system is full' "$MNT/error"; }
within 20 said || fail "nothing is said in error"
new more && rmdir "$S/more" || fail "a user who fills apps keeps root from making sessions"
kill $holder
wait $holder 2>/dev/null
empty() { ! full; }
within 20 empty || fail "it stays full: $(ls -la "$apps")"

# The daemon is killed: the next one takes the file system over, with what is registered there
"$ticker" 0 1000 >"$work/late.ticks" &
late=$!
within 20 there || fail "the second program does not register"
pid=$(daemon_pids)
kill -9 "$pid"
within 20 daemon_ended
umount -l "$MNT" 2>/dev/null
mount_tree -o apps_size=1M
is "file systems on apps" 1 "$(grep -c " $apps " /proc/self/mounts)"
new late || fail session
programs() { [ "$(key registrations "$MNT/status")" = 2 ]; }
within 20 programs || fail "$(key registrations "$MNT/status") of 2 programs are found again"
within 20 counted late || fail "nothing is recorded"
for s in early late; do
	echo stop >"$S/$s/control" || fail stop
done
kill $early $late
wait $early $late

# The first daemon's mount stays after a crash. What a daemon mounted itself, it unmounts.
umount "$MNT" && within 20 daemon_ended || fail umount
umount "$apps" || fail "something holds the file system"
mount_tree -o apps_size=1M
bound || fail "nothing is mounted"
umount "$MNT" && within 20 daemon_ended || fail umount
bound && fail "it is still mounted"
checks=$((checks + 8))

# A user's daemon looks at the system's directory, which root's mounts later
umount "$TRAIL_RUNTIME_DIR"
mount -t tmpfs -o mode=755 run /run && mkdir -m 755 /run/trailfs && mkdir -m 1777 /run/trailfs/apps ||
	skip "cannot mount on /run"
unset TRAIL_RUNTIME_DIR
mkdir "$work/own" "$work/xdg" && chown 65534:65534 "$work/own" "$work/xdg" || fail mkdir
as env XDG_RUNTIME_DIR="$work/xdg" "$TRAILFS" "$work/own" >"$work/own.log" 2>&1 ||
	skip "a user cannot mount here: $(cat "$work/own.log")"
mount_tree
grep -q " /run/trailfs/apps tmpfs " /proc/self/mounts || fail "root's usual directory is not mounted"
own=$work/own/sessions/own
as sh -c "mkdir $own && echo 'tick:*' >$own/user/events && echo start >$own/control" || fail "session"
as env XDG_RUNTIME_DIR="$work/xdg" "$ticker" 100 0 || fail "ticker: $?"
all() { [ "$(as awk '$1 == "events_recorded" { print $2 }' "$own/status")" = 100 ]; }
within 20 all || fail "a user's daemon does not find programs: $(as cat "$own/status")"
umount "$work/own" && umount "$MNT" || fail umount
checks=$((checks + 1))
echo "$checks checks"
