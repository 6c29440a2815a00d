#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Each tracepoint of this kernel can be enabled alone, and reads back as fields; those that fire
# under a load decode whole.
. "$(dirname "$0")/../../lib/mount.sh"

by_instance
mount_kernel

# Every sixteenth is enabled. A guest is slow: some of them, there (tests/vm/formats.c reads all
# formats). SOAK: all.
systems='*' each=16 size=4M
[ -z "${SOAK-}" ] || each=1
if [ -n "${VM-}" ]; then
	systems='[b-i]*' size=128k
	[ -n "${SOAK-}" ] || each=20
fi

# Fields
for system in "$MNT"/available/kernel/events/$systems; do
	grep -Ev '^(enum )?(hex )?(be )?(u?int(8|16|32|64)|char|string|float|double) [A-Za-z_0-9]+(\[[0-9]*\])?( \(its address: this kernel does not record the text\))?$' "$system"/* >"$work/bad"
	[ $? = 1 ] || fail "$system: $(head -n 4 "$work/bad")"
	checks=$((checks + 1))
done

# One rule after the other in one active session: the kernel has exactly that event on. One process
# does them all: a guest is slow.
s=$S/n$mark
mkdir "$s"
echo sched:sched_switch >"$s/kernel/events"
echo start >"$s/control"
i=$(ls -d $T/instances/trailfs-n$mark-*)
grep -v '^lttng_' "$MNT/available/kernel/tracepoints" >"$work/tracepoints"
{
	sed 's/.*/& &/' "$work/tracepoints"
	sed 's/.*/syscall:exit:& syscalls:sys_exit_&/' "$MNT/available/kernel/syscalls"
} | awk -v each="$each" 'NR % each == 0' >"$work/rules"
# Both events of calls with text, or with bytes (which are left out), where BPF programs record
# these: the instance has neither of them.
by_bpf=0
if grep -q '^kernel.*strings of system calls by BPF' "$MNT/version"; then
	{
		grep -l '^string' "$MNT"/available/kernel/events/syscalls/sys_enter_*
		grep -l '__print_dynamic_array(__' $T/events/syscalls/sys_enter_*/format
	} | sed 's,/format$,,; s/.*sys_enter_\(.*\)/s,^\\(syscall:exit:\1\\) .*,\\1,/' |
		sort -u >"$work/by_bpf"
	by_bpf=$((2 * $(wc -l <"$work/by_bpf")))
	[ $by_bpf -gt 100 ] || fail "only $by_bpf events are recorded by BPF"
	sed -f "$work/by_bpf" "$work/rules" >"$work/edited"
	mv "$work/edited" "$work/rules"
fi
awk -v rules="$s/kernel/events" -v enabled="$i/set_event" '{
	print $1 >rules
	close(rules)
	got = ""
	while ((getline line <enabled) > 0)
		got = got line " "
	close(enabled)
	if (got != (NF > 1 ? $2 " " : "")) {
		print $1 ": enabled is " got
		exit 1
	}
}' "$work/rules" || fail "the last rule"
checks=$((checks + $(wc -l <"$work/rules")))
echo '*' >"$s/kernel/events"
is "all tracepoints" "$(wc -l <"$work/tracepoints")" "$(wc -l <"$i/set_event")"
echo 'syscall:*' >>"$s/kernel/events"
# (Calls with text are recorded by probes of the same name, in a group of the channel's own.)
is "all events" "$(grep -vc '^trailtext_\|^trailfs_' $T/available_events)" \
	$(($(sed 's/^trailtext_[^:]*:/syscalls:/' "$i/set_event" | sort -u | wc -l) + by_bpf))
echo >"$s/kernel/events"
is "none" 0 "$(wc -l <"$i/set_event")"
rmdir "$s"

# All for a moment; a process that reads them meanwhile sees what babeltrace2 sees afterwards
s=$S/a$mark
mkdir "$s" "$s/kernel/channels/channel0"
echo $size >"$s/kernel/channels/channel0/subbuf_size"
# (Bounded: other programs may make millions of events, and views may hold 256M.)
[ -n "${VM-}" ] || echo 4 >"$s/kernel/channels/channel0/subbuf_count"
echo discard >"$s/kernel/channels/channel0/loss_mode"
printf '*\nsyscall:*\n' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
# In a guest, following all events makes more of them than can be followed.
exec 5<"$s/pipe"	# (before the start, however busy the machine is)
[ -n "${VM-}" ] || timeout 1000 cat <&5 >"$work/pipe" &
reader=$!
exec 5<&-
echo start >"$s/control"
(sh -c 'for f in /etc/*; do [ -f "$f" ] && head -c 100 "$f"; done'; dd if=/dev/zero \
	of="$work/file" bs=64k count=20; sync "$work/file"; sleep 0.1) \
	>/dev/null 2>&1
echo stop >"$s/control"
wait $reader || fail "the pipe does not end"
same_text "$s"
[ -n "${VM-}" ] || timeout 1000 cat "$s/text" | cmp -s - "$work/pipe" ||
	fail "pipe and text differ: $(diff "$work/pipe" "$s/text" | head -n 4)"
is "as many as counted" "$(wc -l <"$work/text")" "$(key events_recorded "$s/status")"
kinds=$(awk '{ sub(/:$/, "", $4); print $4 }' "$work/text" | sort -u | wc -l)
[ "$kinds" -gt 30 ] || fail "only $kinds kinds of events"
rmdir "$s"
echo "$kinds kinds of events, $checks checks"
