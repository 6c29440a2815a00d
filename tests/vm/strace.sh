#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# The arguments of 40 system calls are what strace(1) says they are, and there are as many events as
# the program has made calls: by tracefs, and by trail.ko where modules can be built. A program calls
# each of them once under strace, while trailfs records it; strace.py compares the two outside.
# For SOAK=1 only, on each kernel.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
command -v strace >/dev/null || { echo "there is no strace"; exit 77; }
prepare() {
	${CC:-cc} -static -O1 -o "$1/calls" "${0%/*}/strace_calls.c"
}
conclude() { # OUT KERNEL
	for how in tracefs module; do
		[ ! -e "$1/strace.$2.$how" ] || python3 "${0%/*}/strace.py" "$1/strace.$2.$how" ||
			{ echo "FAILED: $how"; return 1; }
	done
}
or_without=1
. "$(dirname "$0")/modlib.sh"

# record HOW: into $OUT
record() {
	out=$OUT/strace.$VM.$1
	mkdir "$out" "$S/t" "$S/t/kernel/channels/channel0" || fail "mkdir"
	has "$(cat "$MNT/version")" "^kernel $1"
	echo 1M >"$S/t/kernel/channels/channel0/subbuf_size"
	echo discard >"$S/t/kernel/channels/channel0/loss_mode"
	echo 'syscall:*' >"$S/t/kernel/events" || fail "$(cat "$S/t/error")"
	printf '%s\n' tid procname >"$S/t/kernel/contexts"
	echo start >"$S/t/control" || fail "$(cat "$S/t/error")"
	cp "$prepared/calls" "$work/calls"
	# Addresses are the same in both runs.
	for form in raw plain; do
		set -- -o "$out/$form" -s 300 -v
		[ $form = plain ] || set -- "$@" -e raw=all
		setarch -R strace "$@" "$work/calls" "$work" 77 >"$out/$form.pid" ||
			fail "strace: $?"
	done
	echo stop >"$S/t/control"
	is "nothing lost" 0 "$(key events_discarded "$S/t/status")"
	cat "$S/t/export/json" >"$out/json"
	rmdir "$S/t"
	checks=$((checks + 1))
}

mount_tree
record tracefs
fusermount3 -u "$MNT"
within 20 daemon_ended
if built; then
	load
	mount_tree
	record module
fi
echo "$checks checks"
