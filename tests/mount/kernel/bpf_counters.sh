#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The context perf:cpu:NAME by BPF programs: a program reads the same counters of its CPU before and
# after each of its calls, and what the events have lies between. The counters go on while there is
# no daemon, and the next one has them.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
programs_record || skip "another backend records contexts"
grep -qx perf:cpu:page-faults "$MNT/available/kernel/contexts" ||
	skip "there are no performance counters here"
cat >"$work/counts.c" <<'C'
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_counter(uint64_t config, int cpu)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = config };

	return (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, 0);
}

/*
 * counts CPU: on this CPU, 20 calls of getppid at `go` from standard input, 3 times; between them
 * as many page faults as the number of the call. A line for each: both counters before and after it.
 */
int main(int argc, char **argv)
{
	int cpu = atoi(argv[argc - 1]);
	int faults = open_counter(PERF_COUNT_SW_PAGE_FAULTS, cpu);
	int clock = open_counter(PERF_COUNT_SW_CPU_CLOCK, cpu);
	uint64_t v[4];
	char go;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int n = 0; n < 60; n++) {
		char *m = mmap(NULL, 4096 * 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (n % 20 == 0 && read(0, &go, 1) != 1)
			return 1;
		madvise(m, 4096 * 64, MADV_NOHUGEPAGE);
		for (int i = 0; i < n; i++)
			m[4096 * i] = 1;
		munmap(m, 4096 * 64);
		if (read(faults, v, 8) != 8 || read(clock, v + 1, 8) != 8)
			return 1;
		syscall(SYS_getppid);
		if (read(clock, v + 3, 8) != 8 || read(faults, v + 2, 8) != 8)
			return 1;
		printf("%llu %llu %llu %llu\n", (unsigned long long)v[0], (unsigned long long)v[1],
		       (unsigned long long)v[2], (unsigned long long)v[3]);
	}
	return 0;
}
C
${CC:-cc} -O1 -o "$work/counts" "$work/counts.c" || skip "no compiler"

s=$S/c$mark
mkdir "$s" "$s/kernel/channels/channel0"
put 'tid perf:cpu:page-faults perf:cpu:cpu-clock' "$s/kernel/channels/channel0/contexts"
mkfifo "$work/go"
taskset -c "$first_cpu" "$work/counts" "$first_cpu" <"$work/go" >"$work/own" 2>"$work/errors" &
child=$!
exec 8>"$work/go"
put "syscall:entry:getppid if \$ctx.tid == $(kernel_pid $child)" "$s/kernel/events"
put start "$s/control"
has "$(cat "$s/kernel/channels/channel0/status")" '^backend bpf$'
go() { # LINES that it has printed then
	printf x >&8
	printed() { [ "$(wc -l <"$work/own")" = "$1" ]; }
	within 20 printed "$1" || fail "the program does not count: $(cat "$work/errors")"
}
go 20
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
go 40
mount_tree
go 60
wait $child || fail "the program has failed"
put stop "$s/control"
sed -n 's/.*perf_cpu_page_faults = \([0-9]*\), perf_cpu_cpu_clock = \([0-9]*\) }.*/\1 \2/p' "$s/text" \
	>"$work/recorded"
is "calls" 60 "$(wc -l <"$work/recorded")"
# The two began at other moments, so their differences are compared: an event's value is between the
# program's own before and after the call.
paste -d ' ' "$work/recorded" "$work/own" | awk '
	NR == 1 { f = $1; c = $2; f0 = $3; c0 = $4; f1 = $5; c1 = $6; next }
	$1 - f < $3 - f1 || $1 - f > $5 - f0 { print "page faults: " $0 }
	$2 - c < $4 - c1 || $2 - c > $6 - c0 { print "clock: " $0 }
	END { if ($1 - f < 1770) print "only " $1 - f " page faults" }' >"$work/wrong"
is "values" "" "$(head -n 5 "$work/wrong")"
same_text "$s"
rmdir "$s"
echo "$checks checks"
