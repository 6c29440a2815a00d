#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# While one thread of a control group of track/cgroup is recorded, others join the group: they are
# recorded, and no event of the first is missing.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"

mount_kernel
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
make_group
path=$(group_path)
[ -n "$path" ] || fail "the group has no path"
start_caller
echo $caller >"$group/cgroup.procs" || fail "the process cannot be moved"

s=$S/j$mark
mkdir "$s" "$s/kernel/channels/channel0"
put 1M "$s/kernel/channels/channel0/subbuf_size"
put 8 "$s/kernel/channels/channel0/subbuf_count"
put tid "$s/kernel/contexts"
put syscall:entry:getppid "$s/kernel/events"
put "$path" "$s/kernel/track/cgroup"
put start "$s/control"

recorded() { grep -q " tid = $1[ ,]" "$s/text"; }
made=0
for i in 1 2 3 4 5; do
	while echo 1 && sleep 0.1; do :; done 2>/dev/null |
		"$in_group" "$group" "$BUILD/tests/lib/calls" >/dev/null &
	joins=$!
	members="$members $joins"
	{
		within 60 recorded $joins
		echo $? >"$work/joined.$i"
	} &
	until [ -s "$work/joined.$i" ]; do
		call 1
		made=$((made + 1))
	done
	is "thread $i that joins is recorded" 0 "$(cat "$work/joined.$i")"
done
put stop "$s/control"
is "losses" 0 "$(key events_discarded "$s/status")"
is "calls of the first thread" $made "$(grep -c " tid = $number[ ,]" "$s/text")"
echo "$checks checks, $made calls"
