#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Threads that have ended before a daemon was killed, which had read of them for another session: the
# next daemon does not know their names. An event about which a filter needs such a name counts as
# lost, and as one that the filter might have rejected; no event is left out uncounted.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_module && skip "trail.ko decides by the name at the time of the event"
cat >"$work/calls.c" <<'C'
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* calls NAME N ID: N times getpgid(ID) under this name */
int main(int argc, char **argv)
{
	if (argc < 4 || prctl(PR_SET_NAME, argv[1]))
		return 1;
	for (int n = atoi(argv[2]); n > 0; n--)
		syscall(SYS_getpgid, atoi(argv[3]));
	return 0;
}
C
${CC:-cc} -D_GNU_SOURCE -o "$work/calls" "$work/calls.c" 2>/dev/null || skip "no compiler"

id=$((0x40000000 + $$))
mine="syscall:entry:getpgid if pid == $id"
for name in wanted either seen; do
	mkdir "$S/$name$mark" "$S/$name$mark/kernel/channels/channel0"
	# (Linux 7.0 may preempt a BPF program, and misses events then.)
	counts_all "$S/$name$mark/kernel/channels/channel0"
done
put "$mine && \$ctx.procname == \"wanted\"" "$S/wanted$mark/kernel/events"
# The name is needed only where the kernel's part does not decide.
put "syscall:entry:getpgid if pid == $id && (\$ctx.cpu_id >= 0 || \$ctx.procname == \"wanted\")" \
	"$S/either$mark/kernel/events"
put "$mine" "$S/seen$mark/kernel/events"
put procname "$S/seen$mark/kernel/contexts"
for name in wanted either seen; do
	put start "$S/$name$mark/control"
done
"$work/calls" wanted 10 $id
"$work/calls" other 7 $id
is "read for another session" 17 "$(grep -c getpgid: "$S/seen$mark/text")"
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
mount_tree
"$work/calls" wanted 3 $id
"$work/calls" other 2 $id
counts() {
	put stop "$S/$1$mark/control"
	echo $(for k in recorded discarded unfiltered; do key events_$k "$S/$1$mark/status"; done)
}
is "those that are known, and those that are not" "3 17 17" "$(counts wanted)"
is "the name is not needed" "22 0 0" "$(counts either)"
is "no filter on a name" "22 0 0" "$(counts seen)"
rmdir "$S"/*"$mark"
echo "$checks checks"
