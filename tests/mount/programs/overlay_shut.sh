#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The state directory is on overlayfs, and a program and its forked child have closed all their
# descriptors, also the one whose lock says that they live. They stay registered, a later session
# records them, also one of the next daemon, and their entries in apps/ go with them.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/overlay.sh"
mount_tree

"$BUILD/tests/mount/programs/pair" shut &
pid=$!
within 20 there 2 || fail "the program and its child are not in apps/: $(ls "$MNT/apps")"
# The daemon looks more than once whether a program is still there.
sleep 3
there 2 || fail "one of them is taken for ended: $(ls "$MNT/apps")"
record_pairs
within 20 processes 2 || fail "not both processes are recorded: $(tail -n 2 "$S/s/text")"
fusermount3 -u "$MNT" && within 40 daemon_ended || fail "unmount"
mount_tree
within 20 there 2 || fail "the next daemon takes one of them for ended: $(ls "$MNT/apps")"
rmdir "$S/s" 2>/dev/null
record_pairs
within 20 processes 2 || fail "the next daemon does not record both processes"
checks=$((checks + 5))
kill $pid
wait $pid || fail "the program failed with status $?"
within 20 there 0 || fail "a program that has ended is in apps/: $(ls "$MNT/apps")"
is "discarded" 0 "$(key events_discarded "$S/s/status")"
echo "$((checks + 1)) checks"
