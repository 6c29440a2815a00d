#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Filters of kernel rules: the kernel gets the part that it can decide, and what is recorded is the
# same. Skips where the daemon finds no backend.
. "$(dirname "$0")/../../lib/mount.sh"

T=/sys/kernel/tracing
by_instance
mount_tree
grep -q '^kernel none' "$MNT/version" &&
	skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"

cat >"$work/calls.c" <<'C'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * getrandom of 0 to 12 bytes, each with three flags that there are not: all fail, which does not matter. With an argument: that many calls
 * of 6 bytes with the first of these flags.
 */
int main(int argc, char **argv)
{
	if (argc > 1) {
		for (int i = 0; i < atoi(argv[1]); i++)
			syscall(SYS_getrandom, NULL, 6, 0x1000);
		return 0;
	}
	for (int flags = 0x1000; flags < 0x1003; flags++)
		for (long n = 0; n < 13; n++)
			syscall(SYS_getrandom, NULL, n, flags);
	printf("%d\n", kernel_pid());
	return 0;
}
C
${CC:-cc} $with_kernel_pid -o "$work/calls" "$work/calls.c" || skip "no compiler"
# Its name depends on the kernel. The flags are a half of a register, of which the kernel compares
# the whole: it is given tests of bits.
count=$(sed -n 's/^uint64 //p' "$MNT/available/kernel/events/syscalls/sys_enter_getrandom")
[ -n "$count" ] || skip "this kernel's getrandom has no size"

mark=$(date +%s)$$
s=$S/f$mark
mkdir "$s"
E=$s/kernel/events

# has_filter TEXT: what stands in the kernel. (trail.ko has programs: tests/vm/module_filter.sh.)
has_filter() {
	by_module ||
		is "in the kernel" "$1" \
		"$(cat $T/instances/trailfs-f$mark-*/events/syscalls/sys_enter_getrandom/filter)"
}

# recorded: how many calls of one run
recorded() {
	pid=$("$work/calls")
	grep -c "{ tid = $pid }, { .*flags = 409[678] " "$s/text"
}

echo tid >"$s/kernel/contexts"
echo 'syscall:entry:getrandom' >"$E"
echo start >"$s/control"
has_filter none
is "all" 39 "$(recorded)"

# It is replaced, narrowed, widened and taken away while the session is active.
echo "syscall:entry:getrandom if $count == 5" >"$E"
has_filter "$count == 5"
is "one count" 3 "$(recorded)"
echo "syscall:entry:getrandom if $count < 3 && (flags & 3) == 0 && (\$ctx.tid > 0 || $count == 1)" \
	>"$E"
has_filter "($count < 3 && (common_pid > 0 || $count == 1))"
is "a part of it in the kernel" 3 "$(recorded)"
echo "syscall:entry:getrandom if $count >= 10" >>"$E"
is "two rules" 12 "$(recorded)"
has_filter "($count < 3 && (common_pid > 0 || $count == 1)) || $count >= 10"
echo 'syscall:entry:getrandom if flags == 4097' >>"$E"
has_filter "($count < 3 && (common_pid > 0 || $count == 1)) || $count >= 10 || (!(flags & 4294963198) && flags & 1 && flags & 4096)"
is "a narrow field" "$((13 + 3 + 2 * 3))" "$(recorded)"
echo "!syscall:entry:getrandom if flags == 4097" >>"$E"
echo 'syscall:entry:getrandom if (flags & 1) == 1' >>"$E"
has_filter none
is "one that the kernel cannot do" "$((13 + 3 + 2 * 3))" "$(recorded)"
echo '!syscall:entry:getrandom if (flags & 1) == 1' >>"$E"
has_filter "($count < 3 && (common_pid > 0 || $count == 1)) || $count >= 10"
echo 'syscall:*' >>"$E"
has_filter none
echo '!syscall:*' >>"$E"
by_module ||
	is "only there" "" "$(cat $T/events/syscalls/sys_enter_getrandom/filter | grep -v none)"

# What the filter keeps out is not recorded at all.
echo "syscall:entry:getrandom if $count == 5 && \$ctx.tid < 0" >"$E"
before=$(kernel_counted f$mark)
"$work/calls" >/dev/null
is "nothing new" "$before" "$(kernel_counted f$mark)"

# All comparisons of a narrow field, with what the kernel makes of them.
for filter in 'flags < 4097:13' 'flags <= 4097:26' 'flags > 4097:13' 'flags >= 4097:26' \
	'flags != 4097:26' '4098 == flags:13'; do
	echo "syscall:entry:getrandom if ${filter%:*}" >"$E"
	by_module || [ "$(cat $T/instances/trailfs-f$mark-*/events/syscalls/sys_enter_getrandom/filter)" != none ] ||
		fail "the kernel has no filter for ${filter%:*}"
	is "${filter%:*}" "${filter#*:}" "$(recorded)"
done

# What the kernel rejects is not lost when its buffers are full. Where it cannot decide, status says
# how many of the losses a filter might have rejected. One CPU has the losses and no event of the
# trace, another one has the event.
first= second=
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
	first="taskset -c 0" second="taskset -c 1"
fi
for mode in discard overwrite; do
	l=$S/f$mark$mode
	mkdir "$l" "$l/kernel/channels/channel0"
	echo 64k >"$l/kernel/channels/channel0/subbuf_size"
	echo 4 >"$l/kernel/channels/channel0/subbuf_count"
	echo $mode >"$l/kernel/channels/channel0/loss_mode"
	echo "syscall:entry:getrandom if flags == 4097 && $count == 5" >"$l/kernel/events"
	echo start >"$l/control"
	$first "$work/calls" 30000
	$second "$work/calls" >/dev/null
	echo stop >"$l/control"
	is "$mode: no losses" "1 0 0 0" \
		"$(echo $(for k in recorded discarded overwritten unfiltered; do key events_$k \
			"$l/status"; done))"
	echo "syscall:entry:getrandom if flags == 4097 && \$ctx.procname == \"nobody\"" \
		>"$l/kernel/events"
	echo start >"$l/control"
	$first "$work/calls" 30000
	echo stop >"$l/control"
	is "$mode: exact in part" 0 "$(key events_unfiltered "$l/status")"
	echo "syscall:entry:getrandom if \$ctx.procname == \"nobody\"" >"$l/kernel/events"
	echo start >"$l/control"
	$first "$work/calls" 30000
	echo stop >"$l/control"
	lost=$(($(key events_discarded "$l/status") + $(key events_overwritten "$l/status")))
	is "$mode: not known" "$lost" "$(key events_unfiltered "$l/status")"
	by_module || [ "$lost" -ge 1000 ] || fail "$mode: only $lost of 30000 events are lost"
	is "$mode: and of the channel" "$lost" \
		"$(key events_unfiltered "$l/kernel/channels/channel0/status")"
	echo clear >"$l/control"
	is "$mode: until clear" 0 "$(key events_unfiltered "$l/status")"
	rmdir "$l"
done

# The next daemon does not know what stands there: it says it again.
echo "syscall:entry:getrandom if $count == 6" >"$E"
kill -9 $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT"
for i in $T/instances/trailfs-f$mark-*; do
	[ ! -e "$i" ] || echo "$count == 7" >"$i/events/syscalls/sys_enter_getrandom/filter"
done
mount_tree
has_filter "$count == 6"
is "with the next daemon" 3 "$(recorded)"
rmdir "$s"
echo "$checks checks"
