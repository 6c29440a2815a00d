#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# A CPU that comes online while a session records, goes, and comes again: samples, system calls and
# events of programs on it are recorded, and nothing is said to be lost.
kernel_in_check=6.1
. "$(dirname "$0")/lib.sh"

online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] || skip "the kernel does not let CPU 1 go"
echo 0 >$online || skip "CPU 1 does not go"
cat >"$work/busy" <<'B'
while kill -0 $$; do
	i=0
	while [ $i -lt 300 ]; do i=$((i + 1)); done
done
B
mount_kernel
s=$S/c
mkdir "$s" "$s/kernel/channels/calls" "$s/kernel/channels/samples" "$s/user/channels/events"
put syscall:entry:kill "$s/kernel/channels/calls/events"
put 'sample:cpu 99hz' "$s/kernel/channels/samples/events"
put 'tick:*' "$s/user/channels/events/events"
put start "$s/control"
is "mistakes" "" "$(cat "$s/error")"

# of_cpu_1 EVENT: how many of these are there
of_cpu_1() { grep -c "$1: { cpu_id = 1 }" "$s/text"; }
# more EVENT N: more than N of these are there
more() { [ "$(of_cpu_1 "$1")" -gt "$2" ]; }
samples=0 calls=0 events=0
for round in 1 2 3; do
	echo 1 >$online || fail "CPU 1 does not come"
	taskset -c 1 sh "$work/busy" &
	busy=$!
	taskset -c 1 "$BUILD/tests/lib/ticker" 500 100 || fail "no program runs on CPU 1"
	within 60 more trail:sample $samples || fail "round $round: no samples of CPU 1"
	within 60 more syscall_entry_kill $calls || fail "round $round: no calls on CPU 1"
	is "round $round: events of programs" $((events + 500)) "$(of_cpu_1 tick:tock)"
	kill $busy
	wait $busy 2>/dev/null
	echo 0 >$online || fail "CPU 1 does not go again"
	samples=$(of_cpu_1 trail:sample) calls=$(of_cpu_1 syscall_entry_kill) events=$(of_cpu_1 tick:tock)
	# A change of rules while the CPU is off
	put "sample:cpu $((99 + round))hz" "$s/kernel/channels/samples/events"
	is "round $round: mistakes" "" "$(cat "$s/error")"
done
put stop "$s/control"
is "losses" "0 0" "$(key events_discarded "$s/status") $(key events_overwritten "$s/status")"
same_text "$s"
rmdir "$s"
echo "$checks checks; on CPU 1: $samples samples, $calls calls, $events events"
