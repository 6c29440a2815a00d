#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# As many events as a program has made calls: four processes that change their CPU all the time make
# calls with text and without, which each backend records (tracefs, BPF programs where the kernel
# has them, trail.ko where modules can be built), and the kernel counts. With room for all, each is
# there once and in its order; with little room, those that are there and those that count as lost
# are together what was made. For SOAK=1 only, on each kernel.
#
#   VM_CALLS   calls of each kind of each process (20000) where there is little room
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
prepare() {
	cat >"$1/calls.c" <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* calls PROCESSES N: N times getpgid, and truncate of a name that ends with the call's number */
int main(int argc, char **argv)
{
	int processes = argc > 2 ? atoi(argv[1]) : 0, n = argc > 2 ? atoi(argv[2]) : 0, status;
	char name[40];
	cpu_set_t cpu;

	for (int p = 0; p < processes; p++) {
		if (fork())
			continue;
		for (int i = 0; i < n; i++) {
			if (i % 16 == p) {
				CPU_ZERO(&cpu);
				CPU_SET(i / 16 % 2, &cpu);
				sched_setaffinity(0, sizeof(cpu), &cpu);
			}
			syscall(SYS_getpgid, 0);
			snprintf(name, sizeof(name), "/no/such/%d", i);
			syscall(SYS_truncate, name, 0L);
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}
C
	${CC:-cc} -static -O1 -o "$1/calls" "$1/calls.c"
}
or_without=1
. "$(dirname "$0")/modlib.sh"
few=1500 many=${VM_CALLS:-20000}

# begin BACKEND LOSS_MODE SUBBUF_SIZE
begin() {
	s=$S/t
	mkdir "$s" "$s/kernel/channels/c" || fail mkdir
	put "$1" "$s/kernel/channels/c/backend"
	echo "$2" >"$s/kernel/channels/c/loss_mode"
	echo "$3" >"$s/kernel/channels/c/subbuf_size"
	echo 4 >"$s/kernel/channels/c/subbuf_count"
	echo tid >"$s/kernel/channels/c/contexts"
	printf '%s\n' syscall:getpgid syscall:truncate >"$s/kernel/channels/c/events" ||
		fail "$(cat "$s/error")"
	put start "$s/control"
}

# summary: of the text, `ENTRIES EXITS ENTRIES EXITS`, of getpgid and of truncate; fails if an entry
# with a name is not after the one with the name before, or if there is no name and $texts
summary() {
	awk -v texts="$texts" '
		/ syscall_entry_getpgid: / { a++ }
		/ syscall_exit_getpgid: / { b++ }
		/ syscall_exit_truncate: / { d++ }
		/ syscall_entry_truncate: / {
			c++
			tid = $0; sub(/.*{ tid = /, "", tid); sub(/ .*/, "", tid)
			i = $0
			if (!sub(/.*"\/no\/such\//, "", i)) {
				if (texts) { print "no name: " $0; exit }
				next
			}
			sub(/".*/, "", i)
			if (i + 0 < next_of[tid] + 0) { print "out of order: " $0; exit }
			next_of[tid] = i + 1
		}
		END { printf "%d %d %d %d\n", a, b, c, d }' "$work/text"
}

# misses BACKEND: whether it may miss events where there is room. Linux 7.0 may preempt a BPF program,
# does not run it for the thread that comes meanwhile, and counts that, for all system calls.
misses() {
	[ "${1%%,*}" = bpf ] && kernel_since 7.0
}
# adds_up BACKEND…: each of the four events is in $found at most $n times; with what is lost, these
# are all
adds_up() {
	case $found in *[a-z]*) fail "$1: $found" ;; esac
	for events in $found; do
		[ "$events" -le $n ] || fail "$1: $found, not $n"
	done
	sum=$(($(echo $found | tr ' ' +) + lost))
	[ $sum -lt $((4 * n)) ] || ! misses "$1" || sum=$((4 * n))
	is "$1: events and losses" $((4 * n)) $sum
}

# compare BACKEND: what it records, beside what the program makes
compare() {
	# (What tracefs records has names on some kernels only.)
	texts=1
	[ "$1" != tracefs ] || texts=
	begin "$1" discard 512k
	"$prepared/calls" 4 $few || fail "calls"
	put stop "$s/control"
	lost=$(key events_discarded "$s/status")
	grep -v '^WARNING: Tracer ' "$s/text" >"$work/text"
	n=$((4 * few))
	found=$(summary)
	adds_up "$1"
	misses "$1" || is "$1: lost" 0 "$lost"
	rmdir "$s"
	for loss in discard overwrite; do
		begin "$1" $loss 64k
		"$prepared/calls" 4 "$many" || fail "calls"
		put stop "$s/control"
		grep -v '^WARNING: Tracer ' "$s/text" >"$work/text"
		lost=$(($(key events_discarded "$s/status") + $(key events_overwritten "$s/status")))
		[ $lost -gt 0 ] || fail "$1, $loss: nothing was lost, so nothing is shown"
		n=$((4 * many)) found=$(summary)
		adds_up "$1, $loss"
		rmdir "$s"
		echo "$1, $loss: $((16 * many)) made, $lost of them lost"
	done
}

# count: the kernel counts the calls itself, if it can. (Linux 7.3 may run another thread while a
# program counts, and then misses what that does: it says so.)
count() {
	s=$S/t
	mkdir "$s" "$s/kernel/maps/m" || fail mkdir
	put 'syscall:entry:getpgid by $event' "$s/kernel/maps/m/rules"
	put start "$s/control"
	"$prepared/calls" 4 "$many" || fail "calls"
	put stop "$s/control"
	cat "$s/kernel/maps/m/values" >"$work/values"
	counted=$(awk '$NF == "syscall_entry_getpgid" { print $1 }' "$work/values")
	lost=$(key lost "$work/values")
	rmdir "$s"
	echo "counted by $(key counted_by "$work/values"): $counted, $lost lost"
	is "counts and losses" $((4 * many)) $((counted + lost))
}

mount_tree
! programs_record || compare bpf
compare tracefs
count
fusermount3 -u "$MNT"
within 20 daemon_ended
if built; then
	load
	mount_tree
	compare module
	count
fi
echo "$checks checks"
