#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A filter on a field that no event of a kernel rule has is refused, with the nearest name; a filter
# on fields that some of the rule's events have is not.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
s=$S/n$mark
mkdir "$s"
E=$s/kernel/events

# refused RULE PATTERN: EINVAL, and `error` says the pattern
refused() {
	is "$1" EINVAL "$(tool open "$E" w write "$1\n")"
	has "$(cat "$s/error")" "$2"
}

refused 'sched_switch if next_pri < 3' \
	"no field 'next_pri' in sched_switch; did you mean 'next_prio'?"
is "the place" "  sched_switch if next_pri < 3|                  ^" \
	"$(sed -n 2,3p "$s/error" | sed '2s/\^.*/^/' | paste -sd '|')"
refused 'sched_switch if next_prio < 3 || zzyzx == 1' "no field 'zzyzx' in sched_switch"
refused 'sched_switch if next_prio < 3 && prev_tidd == 1' "did you mean 'prev_tid'?"
refused 'sched_switch if procname == "x"' \
	"no field 'procname' in sched_switch; the context is \$ctx.procname"
refused 'sample:cpu 99hz if procname == "x"' \
	"no field 'procname' in trail:sample; the context is \$ctx.procname"
refused 'syscall:entry:getpp* if nothing == 1' "no field 'nothing' in"
refused 'sched:* if next_pri == 1' \
	"no field 'next_pri' in any of the rule's events; did you mean 'next_prio'?"
is "nothing was taken" "" "$(cat "$E")"
put 'sched_switch if next_prio < 3' "$E"
put 'sched:* if next_prio < 3 || child_tid == 3' "$E"
put 'lttng_statedump_* if fd == 3 && tid > 1' "$E"
refused 'lttng_statedump_file_descriptor if fdd == 3' "did you mean 'fd'?"
rmdir "$s"
echo "$checks checks"
