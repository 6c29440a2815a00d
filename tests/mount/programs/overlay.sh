#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The state directory is on overlayfs, as in a container without a file system of its own for /run:
# a program and its forked child that were there before the session are recorded, and their
# entries in apps/ go with them.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/overlay.sh"
mount_tree

"$BUILD/tests/mount/programs/pair" &
pid=$!
within 20 there 2 || fail "the program and its child are not in apps/: $(ls "$MNT/apps")"
record_pairs
within 20 processes 2 || fail "not both processes are recorded: $(tail -n 2 "$S/s/text")"
# The daemon looks more than once whether a program is still there.
echo clear >"$S/s/control"
sleep 3
there 2 || fail "one of them is taken for ended: $(ls "$MNT/apps")"
echo clear >"$S/s/control"
within 20 processes 2 || fail "not both processes are recorded later"
checks=$((checks + 4))
kill $pid
wait $pid || fail "the program failed with status $?"
within 20 there 0 || fail "a program that has ended is in apps/: $(ls "$MNT/apps")"
"$BUILD/tests/mount/programs/pair" close || fail "a forked child lacks a descriptor"
echo "$((checks + 2)) checks"
