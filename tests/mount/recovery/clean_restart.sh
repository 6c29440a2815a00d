#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon ends as it should while a program lives that it has recorded, and so does the next one:
# the first session of each daemon records the program.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
"$BUILD/tests/mount/programs/pair" &
pid=$!
recorded() { grep -q 'pair:beat: ' "$S/s/text"; }
for daemon in 1 2 3; do
	mkdir "$S/s" && put 'pair:*' "$S/s/user/events" && put start "$S/s/control" || fail session
	within 20 recorded || fail "daemon $daemon does not record the program: $(cat "$S/s/status")"
	checks=$((checks + 1))
	put stop "$S/s/control"
	rmdir "$S/s"
	fusermount3 -u "$MNT" && within 40 daemon_ended || fail "unmount"
	mount_tree
done
kill $pid
wait $pid || fail "the program failed with status $?"
echo "$checks checks"
