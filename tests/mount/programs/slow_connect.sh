#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A program that gets no CPU between its connection and its question, for longer than the daemon may
# be silent, does not lose its beginning: the daemon's time begins with the question.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
[ -z "$SAN" ] || [ "$SAN" = 0 ] || skip "a sanitizer's library comes first"
mount_tree
mkdir "$S/s" && put 'tick:*' "$S/s/user/events" && put start "$S/s/control"
LD_PRELOAD=$BUILD/tests/mount/programs/libslow_connect.so LTTNG_UST_DEBUG=1 TRAIL_ATTACH_TIMEOUT=2000 "$ticker" 100 0 \
	2>"$work/debug" || fail ticker
has "$(cat "$work/debug")" 'answered$'
put stop "$S/s/control"
is "recorded" 100 "$(key events_recorded "$S/s/status")"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
