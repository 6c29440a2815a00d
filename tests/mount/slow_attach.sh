#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program that takes seconds to ask the daemon and to take the answer, because its machine is busy, loses no event.
. "$(dirname "$0")/lib.sh"
mount_tree
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
put 'slow:*' "$S/s/user/channels/c/events"
mkfifo "$work/in" "$work/out" || fail mkfifo
"$BUILD/tests/mount/slow_attach" 2500 100 <"$work/in" >"$work/out" &
app=$!
exec 3>"$work/in" 4<"$work/out"
[ "$(head -c 1 <&4)" = x ] || fail "the program is not there"
put start "$S/s/control"
printf x >&3
wait $app || fail "the program: $?"
is "recorded" 100 "$(key events_recorded "$S/s/status")"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
rmdir "$S/s" || fail rmdir
echo "$checks checks"
