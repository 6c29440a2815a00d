#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program with a uprobe is replaced: adding the same rule again probes the new file. Skips where
# the kernel has no uprobes.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
grep -q '^kernel.*no uprobes' "$MNT/version" && skip "this kernel has no uprobes"
cat >"$work/prog.c" <<'C'
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) void probed(int n)
{
	__asm__ volatile("" : : "r"(n));
}

int main(void)
{
	for (int n = 0; n < TIMES; n++)
		probed(n);
	printf("%d\n", kernel_pid());
	return 0;
}
C
${CC:-cc} $with_kernel_pid -O1 -DTIMES=3 -o "$work/prog" "$work/prog.c" || skip "no compiler"
${CC:-cc} $with_kernel_pid -O1 -DTIMES=5 -o "$work/next" "$work/prog.c" || skip "no compiler"

s=$S/u$mark
mkdir "$s"
rule="uprobe:$work/prog:probed"
"$TOOL" open "$s/kernel/events" w write "$rule\n" >/dev/null
grep -q probed "$s/kernel/events" || skip "no uprobe can be made here: $(cat "$s/error")"
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
# recorded: events of one run
recorded() {
	pid=$("$work/prog")
	grep -c "{ tid = $pid }" "$s/text"
}
is "the first file" 3 "$(recorded)"
mv "$work/next" "$work/prog"
is "another file" 0 "$(recorded)"
echo "$rule" >>"$s/kernel/events"
is "once" "$rule" "$(cat "$s/kernel/events")"
is "the rule again" 5 "$(recorded)"
echo "$rule" >>"$s/kernel/events"
is "and again" 5 "$(recorded)"
probes=$(kernel_probes "u$mark")
has "$(cat $T/uprobe_events)" "${probes:-no instance}"
rmdir "$s"
is "no probe is left" 0 "$(grep -c "$probes" $T/uprobe_events)"
echo "$checks checks"
