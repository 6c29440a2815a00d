#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that nothing uses has at most 6 threads. Those that a load has started end after it, and
# a session without a program needs no more.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
pid=$(daemon_pids | head -n 1)
few() { [ "$(ls "/proc/$pid/task" | wc -l)" -le 6 ]; }
names() { cat "/proc/$pid/task"/*/comm | sort | uniq -c; }
within 60 few || fail "the daemon has $(ls "/proc/$pid/task" | wc -l) threads: $(names)"
mkdir "$S/a"
put '*' "$S/a/user/events"
put start "$S/a/control"
within 60 few || fail "with a session: $(ls "/proc/$pid/task" | wc -l) threads"
# Sixteen readers at once: each of them gets an answer.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	{
		for j in 1 2 3 4 5 6 7 8 9 10; do
			cat "$S/a/status" "$S/a/text" "$MNT/README" >/dev/null || echo failed
		done
	} >"$work/reader.$i" 2>&1 &
done
wait
is "readers" "" "$(cat "$work"/reader.*)"
within 60 few || fail "after a load: $(ls "/proc/$pid/task" | wc -l) threads"
