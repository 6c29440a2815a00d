#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What another program changes in a channel's instance of tracefs is said in `status`, and set right
# by the next start.
. "$(dirname "$0")/../../lib/mount.sh"

by_instance
mount_kernel
by_module && skip "instances of tracefs are not used: trail.ko is loaded"
cat >"$work/calls.c" <<'C'
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* getppid 10 times; prints its pid */
int main(void)
{
	for (int n = 0; n < 10; n++)
		syscall(SYS_getppid);
	printf("%d\n", kernel_pid());
	return 0;
}
C
${CC:-cc} $with_kernel_pid -o "$work/calls" "$work/calls.c" || skip "no compiler"

s=$S/c$mark
mkdir "$s"
cat >"$s/kernel/events" <<'R'
syscall:entry:getppid
sched_switch if next_prio < -5
R
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
i=$(ls -d $T/instances/trailfs-c$mark-*)

# problem: the files that `status` names
problem() {
	sed -n 's/^problem channel0: another program changed \(.*\) of instance .*/\1/p' "$s/status"
}

# changed FILE WORD WHAT: it is said, and not any more after the next start, when events are
# recorded as before
changed() {
	is "before $3" "" "$(problem)"
	echo "$2" >"$i/$1" || fail "$1 cannot be written"
	is "$1" "$3" "$(problem)"
	printf 'stop\nstart\n' >"$s/control" || fail "start after $1: $(cat "$s/error")"
	is "right again: $1" "" "$(problem)"
	pid=$("$work/calls")
	is "recorded after $1" 10 "$(grep -c "getppid: .*{ tid = $pid }" "$s/text")"
	is "no other events after $1" 0 "$(grep -c 'sched_\(switch\|waking\)' "$s/text")"
}

is "nothing is changed" "" "$(problem)"
other=local
grep -q '\[local\]' "$i/trace_clock" && other=global
changed trace_clock $other trace_clock
changed options/overwrite 0 options/overwrite
changed set_event_pid 1 set_event_pid
changed events/syscalls/sys_enter_getppid/enable 0 events/syscalls/sys_enter_getppid/enable
changed events/sched/sched_waking/enable 1 events/sched/sched_waking/enable
changed events/sched/sched_switch/filter 'next_prio < 200' events/sched/sched_switch/filter
changed events/syscalls/sys_enter_getppid/filter 'common_pid < 0' \
	events/syscalls/sys_enter_getppid/filter

# Another program empties a set of processes.
sleep 1000 &
tracked=$!
echo $tracked >"$s/kernel/track/pid"
is "a set" "" "$(problem)"
echo >"$i/set_event_pid"
is "the set is gone" set_event_pid "$(problem)"
printf 'stop\nstart\n' >"$s/control"
is "the set is there again" "" "$(problem)"
is "with the process" 1 "$(grep -cx "$(kernel_pid $tracked)" "$i/set_event_pid")"
kill $tracked
wait $tracked
is "the process has ended" "" "$(problem)"
rmdir "$s"
echo "$checks checks"
