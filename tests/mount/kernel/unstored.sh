#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Events that a killed daemon had read from an instance of tracefs and had not stored: the next
# daemon counts them as discarded. The test reads a page of the buffer while no daemon runs, which
# leaves the same state as a daemon that is killed after its read(2).
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_module && skip "instances of tracefs are not used: trail.ko is loaded"
cat >"$work/calls.c" <<'C'
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* calls N ID: N times getpgid(ID), on one CPU */
int main(int argc, char **argv)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (argc < 3 || sched_setaffinity(0, sizeof(one), &one))
		return 1;
	for (int n = atoi(argv[1]); n > 0; n--)
		syscall(SYS_getpgid, atoi(argv[2]));
	return 0;
}
C
${CC:-cc} -D_GNU_SOURCE -o "$work/calls" "$work/calls.c" 2>/dev/null || skip "no compiler"

# next_daemon: kills the daemon, reads a page of each CPU's buffer if PAGES is set, starts another
next_daemon() {
	kill -9 $(daemon_pids)
	within 20 daemon_ended
	end_dead_mount "$MNT"
	[ -z "${PAGES-}" ] || for raw in "$T/instances/trailfs-u$mark-"*/per_cpu/cpu*/trace_pipe_raw; do
		timeout 5 dd bs=4096 count=1 iflag=nonblock if="$raw" of="$work/page" 2>/dev/null
	done
	mount_tree
}
counts() {
	cat "$s/text" >"$work/all"
	echo "$(grep -c 'getpgid: ' "$work/all") $(key events_recorded "$s/status") $(key events_discarded "$s/status")"
}

for contexts in "" callstack-kernel; do
	s=$S/u$mark
	id=$((0x40000000 + $$))
	mkdir "$s" "$s/kernel/channels/channel0"
	put tracefs "$s/kernel/channels/channel0/backend"
	echo "syscall:entry:getpgid if pid == $id" >"$s/kernel/events" || fail "$(cat "$s/error")"
	if [ -n "$contexts" ]; then
		grep -q "$contexts" "$MNT/available/kernel/contexts" || continue
		echo "$contexts" >"$s/kernel/contexts"
	fi
	put start "$s/control"
	"$work/calls" 1000 $id
	next_daemon
	is "nothing was read" "1000 1000 0" "$(counts)"
	"$work/calls" 500 $id
	is "stored" "1500 1500 0" "$(counts)"
	next_daemon
	is "stored before" "1500 1500 0" "$(counts)"
	"$work/calls" 500 $id
	PAGES=1 next_daemon
	set -- $(counts)
	is "text and status" "$1" "$2"
	[ $1 -lt 2000 ] || fail "the test has read nothing"
	# (A stack counts as an event where the kernel has records alone.)
	[ -z "$contexts" ] && is "all are counted" 2000 "$(($2 + $3))"
	[ $(($2 + $3)) -ge 2000 ] && [ $((1500 + ($2 - 1500 + $3) / 2)) -le 2000 ] ||
		fail "$3 for $((2000 - $2)) events"
	"$work/calls" 100 $id
	set -- $1 $3 $(counts)
	is "only once" "$(($1 + 100)) $2" "$3 $5"
	next_daemon
	is "by no other daemon" "$3 $4 $5" "$(counts)"
	rmdir "$s"
done
echo "$checks checks"
