#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A question with a descriptor whose last close takes ten minutes does not keep programs of others
# from attaching: the daemon's socket refuses descriptors, where the kernel can.
. "$(dirname "$0")/../../lib/mount.sh"
linger=$BUILD/tests/mount/users/linger
burst=$BUILD/tests/mount/programs/burst
[ -x "$linger" ] && [ -x "$burst" ] || skip "there are no test programs"
mount_tree
mkdir "$S/s" && echo 'burst:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail session
mkfifo "$work/in" "$work/out" || fail mkfifo
# The daemon stands still, so that it is the last to close what it is sent.
daemon=$(daemon_pids)
stop_process "$daemon"
"$linger" <"$work/in" >"$work/out" &
pid=$!
exec 8>"$work/in" 7<"$work/out"
read -r said <&7
kill -CONT $daemon
[ -n "$said" ] || { wait $pid; [ $? != 77 ] ||
	skip "this kernel cannot refuse descriptors"; fail "no question"; }
[ "$said" = refused ] || { kill $pid; fail "the question with a descriptor was $said"; }
"$burst" 1 100 || fail "burst: $?"
exec 8>&-
wait $pid || fail "linger: $?"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
is "recorded" 100 "$(key events_recorded "$S/s/status")"
echo "$checks checks"
