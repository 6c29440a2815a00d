#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the kernel's buffer has overwritten counts as overwritten in `status`, whether its pages have
# room for the number or not, and whether the channel's own buffer holds older events or not. The
# trace says how many are missing only where that leaves a gap.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
cat >"$work/calls.c" <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Stays on one CPU. Prints its pid; then for each byte of its input 40000 times getppid, and "done". */
int main(void)
{
	cpu_set_t one;
	char c;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		for (int n = 0; n < 40000; n++)
			syscall(SYS_getppid);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
C
${CC:-cc} -o "$work/calls" "$work/calls.c" || skip "no compiler"

mkfifo "$work/go"
"$work/calls" <"$work/go" >"$work/said" &
calls=$!
exec 3>"$work/go"
within 20 test -s "$work/said" || fail "the program does not begin"
done_times() {
	[ "$(grep -c done "$work/said")" = "$1" ]
}
runs=0
run() {
	runs=$((runs + 1))
	printf x >&3
	within 60 done_times $runs || fail "the program does not end"
}

s=$S/w$mark
mkdir "$s" "$s/kernel/channels/channel0"
echo 64k >"$s/kernel/channels/channel0/subbuf_size"
echo 4 >"$s/kernel/channels/channel0/subbuf_count"
# Entries of one size: pages have no room for the number again and again.
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo $calls >"$s/kernel/track/pid"
echo start >"$s/control"

# counts RECORDED: the sums; sets $held
counts() {
	cat "$s/status" >"$work/status"
	is "$1: recorded" "$2" "$(key events_recorded "$work/status")"
	is "$1: discarded" 0 "$(key events_discarded "$work/status")"
	gone=$(key events_overwritten "$work/status")
	babeltrace2 "$s/trace" >"$work/bt" 2>"$work/bt.err" ||
		fail "babeltrace2: $(cat "$work/bt.err")"
	is "$1: what is held" "$(wc -l <"$work/bt")" "$(($2 - gone))"
	[ "$gone" -gt 10000 ] || fail "$1: nothing was overwritten: $gone"
	is "$1: in the channel's status" "$gone" \
		"$(key events_overwritten "$s/kernel/channels/channel0/status")"
}

# Nothing older is held: the trace begins later.
run
counts "at first" 40000
is "no gap" "" "$(grep -i discarded "$work/bt.err")"
# Older events are held: there is a gap, of as many events as were overwritten since.
before=$gone
run
counts "with a gap" 80000
said=$(sed -n 's/.*discarded \([0-9]*\) events.*/\1/p' "$work/bt.err")
[ "${said:-0}" -gt 0 ] && [ "$said" -le $((gone - before)) ] ||
	fail "the trace says '$said' of $((gone - before)) events"

# All begins anew. (The page that was read last keeps the first events that follow: there may be a
# gap after them.)
echo clear >"$s/control"
is "cleared" "0 0 0" "$(key events_recorded "$s/status") $(key events_discarded "$s/status") $(key \
	events_overwritten "$s/status")"
run
counts "after clear" 40000
exec 3>&-
wait $calls || fail "the program failed"
rmdir "$s"
echo "$checks checks"
