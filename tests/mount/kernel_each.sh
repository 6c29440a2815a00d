#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Each tracepoint of this kernel can be enabled alone, and reads back as fields; those that fire under a load decode whole.
. "$(dirname "$0")/lib.sh"

T=/sys/kernel/tracing
mount_tree
grep -q '^kernel none' "$MNT/version" && skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"

# Fields
for system in "$MNT"/available/kernel/events/*; do
	for event in "$system"/*; do
		cat "$event" >"$work/fields" || fail "$event cannot be read"
		bad=$(grep -Ev '^(enum )?(hex )?(be )?(u?int(8|16|32|64)|char|string|float|double) [A-Za-z_0-9]+(\[[0-9]*\])?$' "$work/fields")
		[ -z "$bad" ] || fail "$event: $bad"
		checks=$((checks + 1))
	done
done

# One rule after the other in one active session: the kernel has exactly that event on
mark=$(date +%s)$$
s=$S/n$mark
mkdir "$s"
echo sched:sched_switch >"$s/kernel/events"
echo start >"$s/control"
i=$(ls -d $T/instances/trailfs-n$mark-*)
grep -v '^lttng_statedump:' "$MNT/available/kernel/tracepoints" >"$work/tracepoints"
while read -r rule; do
	echo "$rule" >"$s/kernel/events" || fail "$rule: $(cat "$s/error")"
	is "enabled" "$rule" "$(cat "$i/set_event")"
done <"$work/tracepoints"
while read -r call; do
	echo "syscall:exit:$call" >"$s/kernel/events" || fail "$call: $(cat "$s/error")"
	is "enabled" "syscalls:sys_exit_$call" "$(cat "$i/set_event")"
done <"$MNT/available/kernel/syscalls"
echo '*' >"$s/kernel/events"
is "all tracepoints" "$(wc -l <"$work/tracepoints")" "$(wc -l <"$i/set_event")"
echo 'syscall:*' >>"$s/kernel/events"
is "all events" "$(wc -l <$T/available_events)" "$(wc -l <"$i/set_event")"
echo >"$s/kernel/events"
is "none" 0 "$(wc -l <"$i/set_event")"
rmdir "$s"

# All for a moment; whoever reads them meanwhile sees what babeltrace2 sees afterwards
s=$S/a$mark
mkdir "$s" "$s/kernel/channels/channel0"
echo 4M >"$s/kernel/channels/channel0/subbuf_size"
echo discard >"$s/kernel/channels/channel0/loss_mode"
printf '*\nsyscall:*\n' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
timeout 60 cat "$s/pipe" >"$work/pipe" &
reader=$!
echo start >"$s/control"
(sh -c 'for f in /etc/*; do [ -f "$f" ] && head -c 100 "$f"; done'; dd if=/dev/zero of="$work/file" bs=64k count=20; sync "$work/file"; sleep 0.1) \
	>/dev/null 2>&1
echo stop >"$s/control"
wait $reader || fail "the pipe does not end"
cat "$s/text" >"$work/text"
TZ=UTC timeout 60 babeltrace2 --clock-gmt "$s/trace" >"$work/bt" 2>/dev/null
cmp -s "$work/bt" "$work/text" || fail "babeltrace2 and text differ: $(diff "$work/bt" "$work/text" | head -n 4)"
cmp -s "$work/pipe" "$work/text" || fail "pipe and text differ: $(diff "$work/pipe" "$work/text" | head -n 4)"
is "as many as counted" "$(wc -l <"$work/text")" "$(key events_recorded "$s/status")"
kinds=$(awk '{ sub(/:$/, "", $4); print $4 }' "$work/text" | sort -u | wc -l)
[ "$kinds" -gt 30 ] || fail "only $kinds kinds of events"
rmdir "$s"
echo "$kinds kinds of events, $checks checks"
