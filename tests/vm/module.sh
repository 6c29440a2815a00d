#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# trail.ko: it records what tracefs records, field by field; strings of system calls, losses,
# tracking; a killed daemon; rings and device against a fuzzer; and it can be unloaded while all
# this is going on. SOAK: on each kernel.
kernel_in_check=backports
prepare() {
cat >"$1/calls.c" <<'C'
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int signal) { (void)signal; }

/* A bit of everything, on CPU 0, between two calls of getppid. */
static void mixed(void)
{
	cpu_set_t cpu;
	struct timespec t = { 0, 2000000 };
	char *p;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	signal(SIGUSR1, nothing);
	syscall(SYS_getppid);
	for (int i = 0; i < 20; i++) {
		p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, 65536);
		munmap(p, 65536);
		kill(getpid(), SIGUSR1);
		nanosleep(&t, NULL);
		if (i % 5 == 0) {
			if (!fork())
				_exit(0);
			wait(NULL);
		}
	}
	syscall(SYS_getppid);
}

/* calls NUMBER [FILE]: that number of getppid(2), or of openat(2) of the file; prints its pid */
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);

	if (n < 0)
		mixed();
	for (int i = 0; i < n; i++)
		if (argc > 2)
			close((int)syscall(SYS_openat, AT_FDCWD, argv[2], O_RDONLY, 0));
		else
			syscall(SYS_getppid);
	printf("%d\n", (int)getpid());
	return 0;
}
C
	${CC:-cc} -D_GNU_SOURCE -o "$1/calls" "$1/calls.c"
}
. "$(dirname "$0")/modlib.sh"
cp "$prepared/calls" "$prepared/calls.c" "$work/" || fail "no program"


# --- a kernel without a function that the module wants, as far as the module can tell: that is
# said, and tracefs is used
wanted=for_each_kernel_tracepoint
sed "s/$wanted/${wanted%t}T/g" "$modules/trail.ko" >"$work/odd.ko"
busybox insmod "$work/odd.ko" 2>"$work/why" && fail "loaded without $wanted"
has "$(dmesg | tail -n 2)" "trail: Unknown symbol ${wanted%t}T"
[ -s "$work/why" ] || fail "insmod says nothing"
rm "$work/odd.ko"

# --- one daemon by tracefs, then one by the module: both record the same
other=$(mktemp -d)      # not in $work, which is removed
TRAIL_RUNTIME_DIR=$work/other-state "$TRAILFS" "$other" || fail "no other mount"
has "$(cat "$other/version")" '^kernel tracefs'
load
mount_tree
has "$(cat "$MNT/version")" '^kernel module .*[0-9]* events with compiled probes'
probes=$(wc -l </dev/trail)
# (Kernels before 5.18 have none.)
[ "$probes" -ge 60 ] || [ "$VM" = 5.10 ] || fail "only $probes compiled probes"
is "it is root's alone" 600 "$(stat -c %a /dev/trail)"

for m in "$other" "$MNT"; do
	s=$m/sessions/same
	mkdir "$s" "$s/kernel/channels/channel0"
	echo 1M >"$s/kernel/channels/channel0/subbuf_size"
	# rcu and filemap have no compiled probes here: counters record them.
	printf '%s\n' 'syscall:getppid' 'sched:*' 'irq:*' 'timer:*' 'signal:*' 'task:*' \
		'kmem:mm_*' 'power:*' 'workqueue:*' 'filemap:*' $(! on_x86 || echo 'exceptions:*') \
		>"$s/kernel/events" ||
		fail "$(cat "$s/error")"
	echo pid tid procname cpu_id >"$s/kernel/contexts"
done
# What CPU 0 did between the marks, without times. An interrupt may have come between the two probes
# of one event: order is not compared.
window() {
	awk -v mark="syscall_entry_getppid: { cpu_id = 0 }, { pid = $pid, tid = $pid, procname = \"calls\", cpu_id = 0 }" '
		!/: { cpu_id = 0 }, / { next }
		{ sub(/^\[[^]]*\] \([^)]*\) /, "") }
		index($0, mark) { marks++ }
		marks == 1 && !index($0, mark)' "$1/sessions/same/text" | sort
}
compare() {
	for m in "$other" "$MNT"; do
		echo start >"$m/sessions/same/control"
	done
	pid=$("$work/calls" -1)
	for m in "$other" "$MNT"; do
		echo stop >"$m/sessions/same/control"
		is "no loss" 0 "$(key events_discarded "$m/sessions/same/status")"
	done
	window "$other" >"$work/by_tracefs"
	window "$MNT" >"$work/by_module"
	[ "$(wc -l <"$work/by_module")" -ge 300 ] ||
		fail "only $(wc -l <"$work/by_module") events to compare"
	diff "$work/by_tracefs" "$work/by_module" >"$work/diff"
}
# Again, if an interrupt came between the two probes of a mark: to one of them it is outside.
compare || compare || compare || fail "not the same: $(head -n 20 "$work/diff")"
echo "$(wc -l <"$work/by_module") events of $(awk '{ print $2 }' "$work/by_module" | sort -u |
	wc -l) kinds are the same"
timeout 200 babeltrace2 --clock-gmt "$MNT/sessions/same/trace" >"$work/bt" 2>"$work/bt.err" ||
	fail "babeltrace2: $(cat "$work/bt.err")"
TZ=UTC cmp -s "$work/bt" "$MNT/sessions/same/text" ||
	is "babeltrace2 reads as many" "$(wc -l <"$work/bt")" "$(wc -l <"$MNT/sessions/same/text")"
rmdir "$other/sessions/same" "$S/same"
fusermount3 -u "$other" 2>/dev/null || umount "$other"
clean

# --- events by counters, on a CPU that was away, too
s=$S/counters
mkdir "$s"
grep -qx raw_syscalls:sys_enter /dev/trail && fail "this is to be an event without a compiled probe"
echo 'raw_syscalls:sys_enter' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
echo 0 >/sys/devices/system/cpu/cpu1/online
echo 1 >/sys/devices/system/cpu/cpu1/online
on_0=$(taskset -c 0 "$work/calls" 30)
on_1=$(taskset -c 1 "$work/calls" 30)
# Before any process reads: reading makes system calls.
echo stop >"$s/control"
cat "$s/text" >"$work/text"
is "counted on CPU 0" 30 "$(grep -c "sys_enter: { cpu_id = 0 }, { tid = $on_0 }, { id = $getppid, " \
	"$work/text")"
is "counted on CPU 1" 30 "$(grep -c "sys_enter: { cpu_id = 1 }, { tid = $on_1 }, { id = $getppid, " \
	"$work/text")"
rmdir "$s"
clean

# --- strings of system calls, and who is tracked
s=$S/strings
mkdir "$s"
printf '%s\n' 'syscall:openat' 'syscall:execve' 'syscall:getppid' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo $$ >"$s/kernel/track/pid"
echo start >"$s/control"
pid=$("$work/calls" 50 "$work/calls.c")
setsid -f sleep 0.1
echo stop >"$s/control"
n=$(grep -c "syscall_entry_openat: .*{ tid = $pid }, { dfd = -100, filename = \"$work/calls.c\", flags = " "$s/text")
is "opens by name" 50 "$n"
# and those of the loader
n=$(grep -c "syscall_exit_openat: .*{ tid = $pid }, { ret = 3 }" "$s/text")
[ "$n" -ge 50 ] && [ "$n" -le 60 ] || fail "$n of 50 calls return"
has "$(cat "$s/text")" "syscall_entry_execve: .* filename = \"$work/calls\""
rmdir "$s"

# --- discarding and overwriting: each event is there or was counted
for mode in discard overwrite; do
	s=$S/$mode
	mkdir "$s" "$s/kernel/channels/channel0"
	echo 64k >"$s/kernel/channels/channel0/subbuf_size"
	echo 2 >"$s/kernel/channels/channel0/subbuf_count"
	echo $mode >"$s/kernel/channels/channel0/loss_mode"
	echo 'syscall:getppid' >"$s/kernel/events"
	echo tid >"$s/kernel/contexts"
	echo start >"$s/control"
	pid=$("$work/calls" 10000)
	echo stop >"$s/control"
	grep -v '^WARNING: Tracer ' "$s/text" >"$work/text"
	recorded=$(key events_recorded "$s/status") discarded=$(key events_discarded "$s/status")
	[ $((recorded + discarded)) -ge 20000 ] ||
		fail "$mode: $recorded and $discarded are not 20000"
	[ $((recorded + discarded)) -le 20200 ] ||
		fail "$mode: $recorded and $discarded are more than 20000"
	is "$mode: held" "$(wc -l <"$work/text")" \
		"$((recorded - $(key events_overwritten "$s/status")))"
	rmdir "$s"
done
clean

# --- more than is left, though less than the machine has: no process is killed to make room
refused=
for i in 1 2 3 4 5 6 7 8; do
	s=$S/large$i
	mkdir "$s" "$s/kernel/channels/channel0"
	echo 64M >"$s/kernel/channels/channel0/subbuf_size"
	echo 2 >"$s/kernel/channels/channel0/subbuf_count"
	echo 'syscall:getppid' >"$s/kernel/events"
	# Not `tool`, which waits 20 s: in a guest 256 MiB take long.
	refused=$("$TOOL" open "$s/control" w write 'start\n')
	[ "$refused" = 6 ] || break
done
is "more than is left" ENOMEM "$refused"
has "$(cat "$s/error")" "Cannot allocate memory"
# (On Linux 5.10 the daemon's buffer for the same events is in memory from the beginning.)
[ $i -gt 1 ] || [ "$VM" = 5.10 ] || fail "there was no room for 256 MiB in a guest with $(grep MemTotal /proc/meminfo)"
rmdir "$S"/large*
clean

# --- the daemon is killed: recording continues, and the next one has it all
s=$S/kept
mkdir "$s"
printf '%s\n' 'syscall:entry:getppid' 'sched:sched_process_exit' >"$s/kernel/events"
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
first=$("$work/calls" 30)
kill -9 $(daemon_pids)
within 10 daemon_ended || fail "the daemon lives"
second=$("$work/calls" 40)
umount -l "$MNT"
mount_tree
third=$("$work/calls" 50)
echo stop >"$s/control"
is "before" 30 "$(grep -c "syscall_entry_getppid: .*{ tid = $first }" "$s/text")"
is "without a daemon" 40 "$(grep -c "syscall_entry_getppid: .*{ tid = $second }" "$s/text")"
is "after" 50 "$(grep -c "syscall_entry_getppid: .*{ tid = $third }" "$s/text")"

# --- unloaded while probes fire: not with a daemon, at any time without
echo start >"$s/control"
busybox rmmod trail 2>/dev/null && fail "unloaded though a daemon has it open"
kill -9 $(daemon_pids)
within 10 daemon_ended || fail "the daemon lives"
umount -l "$MNT"
(while :; do "$work/calls" 300; done) >/dev/null &
busy=$!
for i in 1 2 3; do
	within 10 busybox rmmod trail_events || fail "trail_events cannot be unloaded"
	busybox rmmod trail || fail "trail cannot be unloaded: $(busybox lsmod)"
	load
done
kill $busy
wait $busy 2>/dev/null
clean

# --- hostile user space, and a user who takes the probes away and brings them back; unloading with
# what it left
"$BUILD/tests/vm/fuzz_module" ${SOAK:+60} &
fuzzer=$!
rounds=0
while kill -0 $fuzzer 2>/dev/null; do
	! busybox rmmod trail 2>/dev/null || fail "unloaded in the midst of the fuzzer"
	if busybox rmmod trail_events 2>/dev/null; then
		rounds=$((rounds + 1))
		busybox insmod "$modules/trail_events.ko" ||
			fail "trail_events cannot be loaded again"
	fi
	sleep 0.1
done
wait $fuzzer || fail "the fuzzer found something"
echo "probes unloaded and loaded $rounds times meanwhile"
[ $rounds -gt 0 ] || fail "the probes could not be unloaded meanwhile"
clean
within 10 busybox rmmod trail_events || fail "trail_events cannot be unloaded after the fuzzer"
busybox rmmod trail || fail "trail cannot be unloaded after the fuzzer"
clean
echo "$checks checks"
