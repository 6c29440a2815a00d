#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A mkdir of a session that fails because the daemon has no descriptor left changes nothing: the
# state directory has no directory of that name, the next mount has no such session, and the name
# can be used.
. "$(dirname "$0")/../../lib/mount.sh"
command -v prlimit >/dev/null || skip "there is no prlimit"
sessions() { ls "$TRAIL_RUNTIME_DIR/sessions"; }

mount_tree
pid=$(daemon_pids)
mkdir "$S/before" || fail mkdir
is "in the state directory" before "$(sessions)"
limits=$(prlimit --pid "$pid" --nofile --noheadings --output SOFT,HARD)
# A new descriptor is the lowest number that is free, and has to be below the limit.
free=0
while [ -e "/proc/$pid/fd/$free" ] || [ -L "/proc/$pid/fd/$free" ]; do
	free=$((free + 1))
done
prlimit --pid "$pid" --nofile="$free": || skip "prlimit may not change the daemon's limit"
is "mkdir without descriptors" EMFILE "$(tool mkdir "$S/failed")"
is "in the state directory after that" before "$(sessions)"
[ ! -e "$S/failed" ] || fail "there is a session"
# An rmdir without descriptors removes the session, too: no later daemon finds it.
rmdir "$S/before" || fail "rmdir"
[ ! -e "$TRAIL_RUNTIME_DIR/sessions/before/session" ] ||
	fail "the session is still in the state directory"
# shellcheck disable=SC2086
set -- $limits
prlimit --pid "$pid" --nofile="$1:$2" || fail prlimit
is "mkdir with descriptors" ok "$(tool mkdir "$S/failed")"
is "in the state directory with it" failed "$(sessions | grep -v before)"

# A daemon that was killed: the next one has that session and no other.
kill -9 "$pid"
within 5 daemon_ended || fail "the daemon does not die"
mkdir "$TRAIL_RUNTIME_DIR/sessions/half"        # as a daemon leaves it that is killed while it makes a session
mount_tree
is "sessions" failed "$(ls "$S")"
is "in the state directory of the next daemon" failed "$(sessions)"
! grep . "$work/daemon.log" || fail "the daemon complains"
echo "$checks checks"
