#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# The library's restartable sequences (rseq(2)) on each kernel, with every owner of the threads'
# areas: the C library, libtrail itself, and a program that has them, in the kernel's old mode and
# in its new one (from Linux 6.19, by the size; there the kernel ends a program that writes fields
# which are the kernel's). Events in signal handlers, threads that are moved, and areas that are
# taken from the kernel and given back: each event is there once and in its order. SOAK: 10^8 events
# on all kernels together, of which all are counted.
kernel_in_check=backports
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/tests/vm/rseq_load_own" ] || skip "there is no $BUILD/tests/vm/rseq_load_own"
threads=3 count=${VM_RSEQ_COUNT:-$([ -n "${SOAK-}" ] && echo 2000 || echo 200)}
flood=${VM_RSEQ_FLOOD:-${SOAK:+2100000}}        # events of a thread: 3 threads, 4 owners, 4 kernels

# round NAME VARIABLE=VALUE… PROGRAM: all that it emits is recorded
round() {
	name=$1
	shift
	s=$S/$name
	mkdir "$s" "$s/user/channels/c"
	echo 1M >"$s/user/channels/c/subbuf_size"       # Linux 5.10 has all of it in memory
	echo 4 >"$s/user/channels/c/subbuf_count"
	echo discard >"$s/user/channels/c/loss_mode"
	echo 'rseq:*' >"$s/user/channels/c/events"
	echo start >"$s/control"
	made=$(env "$@" $threads "$count")
	case $? in
	0) ;;
	77) echo "$name: the C library registers the threads"; rmdir "$s"; return ;;
	*) fail "$name: $(dmesg | tail -n 3)" ;;
	esac
	echo stop >"$s/control"
	is "$name: lost" 0 "$(key events_discarded "$s/status")"
	grep -v '^WARNING: Tracer ' "$s/text" >"$work/text"
	is "$name: events" "$made" "$(awk '/ rseq:tick: / { a++ } / rseq:in_signal: / { b++ } END { print a + 0, b + 0 }' "$work/text")"
	awk '
		/ rseq:tick: / {
			n = $0; sub(/.* i = /, "", n); sub(/ .*/, "", n)
			t = $0; sub(/.* thread = /, "", t); sub(/,.*/, "", t)
			if (n != next_of[t]++ + 0) { print; exit 1 }
		}' "$work/text" >"$work/bad" || fail "$name: out of order: $(cat "$work/bad")"
	same_text "$s"
	echo "$name: $made events and signals"
	rmdir "$s"
}

# flood NAME VARIABLE=VALUE… PROGRAM: many more, which are not read
flood() {
	[ -n "$flood" ] || return 0
	name=$1
	shift
	s=$S/$name
	mkdir "$s" "$s/user/channels/c"
	echo overwrite >"$s/user/channels/c/loss_mode"
	echo 'rseq:*' >"$s/user/channels/c/events"
	echo start >"$s/control"
	made=$(env "$@" $threads "$flood")
	case $? in
	0) ;;
	77) rmdir "$s"; return ;;
	*) fail "$name: $(dmesg | tail -n 3)" ;;
	esac
	echo stop >"$s/control"
	is "$name: all" $((${made% *} + ${made#* })) "$(key events_recorded "$s/status")"
	is "$name: none lost" 0 "$(key events_discarded "$s/status")"
	echo "$name: $made more"
	rmdir "$s"
}

mount_tree
load=$BUILD/tests/vm/rseq_load
none=GLIBC_TUNABLES=glibc.pthread.rseq=0
for with in round flood; do
	$with libc "$load"
	$with own $none "$load"
	$with new $none RSEQ=v2 "${load}_own"
	$with hidden $none RSEQ=hidden "${load}_own"
done
dmesg | grep 'rseq_load.*\(segfault\|general protection\)' && fail "a program was killed"
echo "$checks checks"
