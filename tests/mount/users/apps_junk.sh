#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The directory of registrations, which all users may write: what is no registration is removed and
# counted, at once and by a daemon that starts. With a file system of its own, a user who fills it
# stops neither the sessions nor root's state, and `status` says that it is full.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
command -v setpriv >/dev/null || skip "there is no setpriv"
ticker=$BUILD/tests/lib/ticker
apps=$TRAIL_RUNTIME_DIR/apps
as() { setpriv --reuid 54321 --regid 54321 --clear-groups "$@"; }
as true || skip "setpriv may not change users here"
mkdir -p "$apps" && chmod 755 "$TRAIL_RUNTIME_DIR" && chmod 1777 "$apps" || fail "apps"
mount -t tmpfs -o size=1M,mode=1777 small "$apps" 2>/dev/null || skip "cannot mount a tmpfs"
trap 'code=$?; umount -l "$apps"; (exit $code); clean_up' EXIT

hex=0123456789abcdef0123456789abcde
# (While a daemon removes it, some of these fail.)
litter() {
	as sh -c "cd $apps; mkfifo fifo ${hex}0; mkdir empty ${hex}1; ln -s / link
		echo text >file; echo text >.hidden
		mkdir -p full/a/b/c full/d .${hex}2/x; : >full/a/b/c/file
		i=0; while [ \$i -lt 300 ]; do i=\$((i + 1)); : >full/\$i || break; done" \
		2>"$work/err" || :
}
is_clean() { [ -z "$(ls -A "$apps")" ]; }
removed() { key apps_removed "$MNT/status"; }

litter
mount_tree
within 20 is_clean || fail "not removed at the start: $(ls -A "$apps")"
[ "$(removed)" -ge 9 ] || fail "only $(removed) are counted"
before=$(removed)
litter
within 20 is_clean || fail "not removed: $(ls -A "$apps")"
[ "$(removed)" -ge $((before + 7)) ] || fail "only $(($(removed) - before)) are counted"

# Registrations are none
mkdir "$S/s" && echo 'tick:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail "session"
"$ticker" 100 0 || fail "ticker"
is "events" 100 "$(key events_recorded "$S/s/status")"

# Full, with files that look like registrations whose process lives
setpriv --reuid 54321 --regid 54321 --clear-groups \
	sh -c "exec 9>$apps/${hex}3; flock 9; head -c 2M /dev/zero >&9; exec sleep 1000" 2>/dev/null &
holder=$!
is_full() { grep -q '^problem .*/apps: its file system is full' "$MNT/status"; }
within 20 is_full || fail "nothing is said: $(cat "$MNT/status")"
mkdir "$S/more" && echo 'tick:*' >"$S/more/user/events" && echo start >"$S/more/control" ||
	fail "a full apps stops sessions: $(cat "$MNT/error")"
echo stop >"$S/s/control" || fail stop
kill $holder 2>/dev/null
wait $holder 2>/dev/null
not_full() { ! is_full; }
within 20 not_full || fail "it stays full: $(ls -lA "$apps")"
"$ticker" 100 0 || fail "ticker"
is "events after that" 100 "$(key events_recorded "$S/more/status")"
echo "$checks checks"
