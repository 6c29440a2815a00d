#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The descriptor of a thread's performance counter stays open in the program. It never takes a
# number that the next open(2) would return in an untraced program, even if the program may have few
# descriptors.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
counter=$(grep -m 1 -x 'perf:thread:page-faults' "$MNT/available/user/contexts")
[ -n "$counter" ] || skip "there are no performance counters here"
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
put 'numbers:*' "$S/s/user/channels/c/events"
put "$counter" "$S/s/user/channels/c/contexts"
put start "$S/s/control"
is "the next descriptor" 0 "$("$BUILD/tests/mount/programs/numbers")"
has "$(cat "$S/s/text")" 'perf_thread_page_faults = [0-9]'
echo "$checks checks"
