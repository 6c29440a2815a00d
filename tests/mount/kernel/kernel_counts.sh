#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Numbers of events, kind by kind, are those that the kernel counts by itself while a session
# records everything on a busy system, and where most of it is lost. `hist` triggers of an instance
# of this test's own count what one process does, or performance counters in a kernel without
# histograms.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
[ "${KERNEL_BACKEND-}" != bpf ] ||
	skip "programs that copy records exclude each other, so some of all events are always lost"
[ -e $T/events/syscalls/sys_enter_getpid ] || skip "this kernel has no system call events"

cat >"$work/bounded.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* bounded N FILE: prints its pid, waits for a byte, then N times: getpid, open and close of the file, sched_yield; waits for its end */
int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0;
	char c;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	for (int i = 0; i < n; i++) {
		syscall(SYS_getpid);
		close((int)syscall(SYS_openat, AT_FDCWD, argv[2], O_RDONLY, 0));
		sched_yield();
	}
	if (write(1, "done\n", 5) != 5)
		return 1;
	return read(0, &c, 1) != 0;
}
C
cat >"$work/counter.c" <<'C'
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* counter PID ID…: counts the process's events with these ids, from "ready" to the end of its input; then prints the counts */
int main(int argc, char **argv)
{
	static int fd[100];
	uint64_t n;
	char c;

	for (int i = 2; i < argc && i < 100; i++) {
		struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(a), .config = strtoull(argv[i], NULL, 10) };

		fd[i] = (int)syscall(SYS_perf_event_open, &a, atoi(argv[1]), -1, -1, 0);
		if (fd[i] < 0)
			return perror("perf_event_open"), 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	for (int i = 2; i < argc && i < 100; i++) {
		if (read(fd[i], &n, sizeof(n)) != sizeof(n))
			return 1;
		printf("%llu\n", (unsigned long long)n);
	}
	return 0;
}
C
${CC:-cc} -o "$work/bounded" "$work/bounded.c" && ${CC:-cc} -o "$work/counter" "$work/counter.c" ||
	skip "no compiler"

H=$T/instances/counts$mark
mkdir "$H" || skip "no instance of tracefs can be made"
trap 'status=$?; rmdir "$H"; (exit $status); clean_up' EXIT
mkfifo "$work/go" "$work/end"
if grep -q hist: $T/README; then
	how=hist
else
	how=counters
	"$work/counter" $$ "$(cat $T/events/sched/sched_switch/id)" </dev/null >/dev/null 2>&1 ||
		skip "this kernel has no histograms, and no performance counters for us"
fi

# asleep WORD: the process said it, and waits
asleep() {
	grep -q "$1" "$work/said" && grep -q '^State:.S' "/proc/$(head -n 1 "$work/said")/status"
}

# begin N: a process that waits, as $pid
begin() {
	: >"$work/said"
	"$work/bounded" "$1" "$work/bounded.c" <"$work/go" >"$work/said" &
	process=$!
	exec 3>"$work/go"
	within 10 asleep . || fail "the process does not wait"
	pid=$(head -n 1 "$work/said")
	number=$(kernel_pid "$pid")
	watch
}

# go_on: does its work, and waits again
go_on() {
	echo >&3
	within 60 asleep done || fail "the process does not end its work"
}

# As tracefs and as the trace have it. Not those that performance counters weigh or give to another
# process (TP_perf_assign).
events='syscalls:sys_enter_getpid syscall_entry_getpid
syscalls:sys_exit_getpid syscall_exit_getpid
syscalls:sys_enter_openat syscall_entry_openat
syscalls:sys_exit_openat syscall_exit_openat
syscalls:sys_enter_sched_yield syscall_entry_sched_yield
syscalls:sys_exit_sched_yield syscall_exit_sched_yield
syscalls:sys_enter_close syscall_entry_close
raw_syscalls:sys_enter sys_enter
raw_syscalls:sys_exit sys_exit
sched:sched_switch sched_switch
exceptions:page_fault_user x86_exceptions_page_fault_user
kmem:kmem_cache_alloc kmem_cache_alloc
kmem:kmem_cache_free kmem_cache_free
kmem:mm_page_alloc kmem_mm_page_alloc
timer:hrtimer_start timer_hrtimer_start
rcu:rcu_utilization rcu_utilization'

echo "$events" | while IFS=': ' read -r system event name; do
	[ ! -d "$H/events/$system/$event" ] || echo "$system $event $name"
done >"$work/events"

# watch: begins to count what $pid does
watch() {
	if [ $how = hist ]; then
		while read -r system event name; do
			echo "hist:keys=common_pid:size=256 if common_pid == $number" \
				>"$H/events/$system/$event/trigger" || fail "$system:$event"
		done <"$work/events"
		return
	fi
	"$work/counter" "$pid" \
		$(while read -r system event name; do cat "$H/events/$system/$event/id"; done \
		<"$work/events") \
		<"$work/end" >"$work/counter.out" &
	counter=$!
	exec 4>"$work/end"
	within 10 grep -q ready "$work/counter.out" || fail "no counters"
}

# counted: the counts as lines `NAME COUNT` in $work/counted, and the end of the process
counted() {
	if [ $how = hist ]; then
		while read -r system event name; do
			awk -v e="$name" '$1 == "Hits:" { n += $2 } $1 == "Dropped:" && $2 { n = "dropped" } END { print e, n + 0 }' \
				"$H/events/$system/$event/hist"
			echo "!hist:keys=common_pid:size=256 if common_pid == $number" \
				>"$H/events/$system/$event/trigger"
		done <"$work/events" >"$work/counted"
	else
		exec 4>&-
		wait $counter || fail "the counters cannot be read"
		sed 1d "$work/counter.out" | paste -d ' ' "$work/events" - |
			cut -d ' ' -f 3- >"$work/counted"
	fi
	exec 3>&-
	wait $process || fail "the process failed"
}

# everything N: a session with all events over one such process, and a load
everything() {
	s=$S/e$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	counts_all "$s/kernel/channels/channel0"
	echo 8M >"$s/kernel/channels/channel0/subbuf_size"
	echo 4 >"$s/kernel/channels/channel0/subbuf_count"
	echo discard >"$s/kernel/channels/channel0/loss_mode"
	printf '* except lttng_statedump_*\nsyscall:*\n' >"$s/kernel/events"
	echo tid >"$s/kernel/contexts"
	begin "$1"
	[ -z "$alone" ] || echo "$pid" >"$s/kernel/track/pid"
	echo start >"$s/control"
	find /usr/lib /usr/share -type f 2>/dev/null | head -n "$1" | wc -l >/dev/null &
	load=$!
	go_on
	wait $load
	# A process reads while it continues.
	head -c 1 "$s/text" >/dev/null
	echo stop >"$s/control"
	counted
}

# --- all events at once; less of them where the machine does not hold all, and in the end those
# of the process alone: other programs may make any number
alone=
n=2000
everything $n
while [ "$(key events_discarded "$s/status")" != 0 ] && [ $n -gt 100 ]; do
	is "with loss, as the kernel counts" "$(kernel_counted e$mark)" \
		"$(($(key events_recorded "$s/status") + $(key events_discarded "$s/status")))"
	rmdir "$s"
	n=$((n / 4))
	everything $n
done
if [ "$(key events_discarded "$s/status")" != 0 ]; then
	rmdir "$s"
	alone=yes n=2000
	everything $n
fi
is "all, as the kernel counts" "$(kernel_counted e$mark)" "$(key events_recorded "$s/status")"
is "nothing is lost, every record decodes" 0 "$(key events_discarded "$s/status")"
same_text "$s"
is "the text has them all" "$(key events_recorded "$s/status")" "$(wc -l <"$work/text")"
grep "{ tid = $number }" "$work/text" | awk '{ sub(/:$/, "", $4); print $4 }' | sort |
	uniq -c >"$work/counts"
while read -r name number; do
	is "$name" "$number" "$(awk -v e="$name" \
		'$2 == e { print $1; n++ } END { if (!n) print 0 }' "$work/counts")"
done <"$work/counted"
for name in syscall_entry_getpid syscall_exit_getpid syscall_entry_openat syscall_exit_openat \
	syscall_entry_sched_yield; do
	is "$name in the loop" "$n" "$(awk -v e=$name '$2 == e { print $1 }' "$work/counts")"
done
# The session counts by itself, each event and each rule.
awk '{ sub(/:$/, "", $4); n[$4]++ } END { for (e in n) print e, n[e] }' "$work/text" |
	sort >"$work/sums"
awk '$3 != "*" && !/^#/ { print $3, $4 }' "$s/counts" | sort >"$work/counted"
cmp -s "$work/sums" "$work/counted" ||
	fail "counts: $(diff "$work/sums" "$work/counted" | head -n 5)"
is "counts, the sum" "kernel channel0 * $(wc -l <"$work/text") 0 0 0" "$(tail -n 1 "$s/counts")"
is "rules, the sum" "$(wc -l <"$work/text")" \
	"$(awk '!/^#/ { s += $3 } END { print s }' "$s/kernel/rules")"
is "rules, one kind" "$(awk '/^syscall_/ { s += $2 } END { print s }' "$work/sums")" \
	"$(awk '$4 == "syscall:*" { print $3 }' "$s/kernel/rules")"
# Those of 32-bit programs have entries and exits of their own.
[ "$(awk '$4 == "syscall:*" { print $2 }' "$s/kernel/rules")" -ge $((2 * $(wc -l <"$MNT/available/kernel/syscalls"))) ] ||
	fail "rules: $(cat "$s/kernel/rules")"
kinds=$(wc -l <"$work/counts")
total=$(wc -l <"$work/text")
rmdir "$s"

# --- with loss, either way: what is held, overwritten and lost is what happened
for mode in discard overwrite; do
	s=$S/l$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	counts_all "$s/kernel/channels/channel0"
	echo 16k >"$s/kernel/channels/channel0/subbuf_size"
	echo 4 >"$s/kernel/channels/channel0/subbuf_count"
	echo $mode >"$s/kernel/channels/channel0/loss_mode"
	printf '%s\n' 'syscall:getpid' 'syscall:openat' 'syscall:sched_yield' >"$s/kernel/events"
	begin 8000
	echo "$pid" >"$s/kernel/track/pid"
	echo start >"$s/control"
	go_on
	echo stop >"$s/control"
	counted
	sum=0
	for event in entry_getpid exit_getpid entry_openat exit_openat entry_sched_yield \
		exit_sched_yield; do
		h=$(key syscall_$event "$work/counted")
		is "$event" 8000 "$h"
		sum=$((sum + h))
	done
	babeltrace2 "$s/trace" >"$work/bt" 2>"$work/bt.err" ||
		fail "babeltrace2: $(cat "$work/bt.err")"
	recorded=$(key events_recorded "$s/status") discarded=$(key events_discarded "$s/status")
	overwritten=$(key events_overwritten "$s/status")
	is "all that happened, $mode" "$sum" "$((recorded + discarded))"
	is "what is held, $mode" "$(wc -l <"$work/bt")" "$((recorded - overwritten))"
	[ $((discarded + overwritten)) -gt 0 ] || fail "nothing was lost"
	is "counts, $mode" "$recorded $discarded $overwritten 0" \
		"$(awk '$3 == "*" { print $4, $5, $6, $7 }' "$s/counts")"
	is "counts of what is held, $mode" "$(wc -l <"$work/bt")" \
		"$(awk '$3 ~ /^syscall/ { s += $4 } END { print s }' "$s/counts")"
	is "all, as the kernel counts, $mode" "$(kernel_counted l$mark)" "$sum"
	rmdir "$s"
done
echo "$total events of everybody, $kinds kinds of the process, by $how; $checks checks"
