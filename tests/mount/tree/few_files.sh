#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 90
#
# A daemon without descriptors for all who register: it finds the others when it has some again.
. "$(dirname "$0")/../../lib/mount.sh"
crowd=$BUILD/tests/adversarial/crowd
[ -x "$crowd" ] || skip "there is no crowd"
mkdir -p "$TRAIL_RUNTIME_DIR/apps"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
registered() { key registrations "$MNT/status"; }
files() { ls "$TRAIL_RUNTIME_DIR/apps" | wc -l; }
are_registered() { [ "$(registered)" = "$1" ]; }
are_files() { [ "$(files)" = "$1" ]; }

(ulimit -n 60 && mount_tree) || exit $?
"$crowd" 100 5 0 "$work/go1" &
first=$!
within 20 are_files 101 || fail "$(files) files"
"$crowd" 20 5 0 "$work/go2" &
second=$!
within 20 are_files 122 || fail "$(files) files"
[ "$(registered)" -lt 60 ] || skip "the limit is not obeyed"
: >"$work/go1"
wait $first || fail "crowd ended with status $?"
within 20 are_registered 21 || fail "$(registered) registered, $(files) files"
mkdir "$S/s" && echo 'crowd:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail "session"
: >"$work/go2"
wait $second || fail "crowd ended with status $?"
within 20 are_registered 0 || fail "$(registered) registered at the end"
within 20 are_files 0 || fail "$(files) files at the end"
echo stop >"$S/s/control" || fail stop
known=$(($(key events_recorded "$S/s/status") + $(key events_discarded "$S/s/status")))
# (All programs that attach at once may leave no descriptor for a buffer. The session says so until
# the next verb succeeds.)
if [ "$(key buffers_refused "$S/s/status")" = 0 ]; then
	is "events" 100 "$known"
else
	[ "$known" -le 100 ] || fail "$known events of 100"
fi
