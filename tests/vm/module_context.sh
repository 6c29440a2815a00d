#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# trail.ko: each context is what the program itself knows, from task, interrupt and NMI context; who is tracked, by each attribute.
if [ -z "${VM-}" ] && [ -z "${SOAK-}${VM_MODULE-}" ]; then
	echo "building modules takes minutes: VM_MODULE=1 tests/run vm/module_context.sh, or make soak"
	exit 77
fi
if [ -z "${VM-}" ]; then
	here=$(dirname "$0")
	BUILD=${BUILD:-$here/../../build}
	export BUILD
	# A kernel whose modules cannot be built here is left out.
	for k in ${VM_KERNEL:-6.1 6.12}; do
		if why=$("$here/modules" "$k"); then
			kernels="${kernels-} $k"
		else
			[ $? = 77 ] || exit 1
			echo "$k: $why"
		fi
	done
	[ -n "${kernels-}" ] || exit 77
	VM_KERNEL=$kernels
	export VM_KERNEL
fi
. "$(dirname "$0")/lib.sh"
modules=$BUILD/vm/modules-$VM${VM_FULL:+-full}/kmod
[ -e "$modules/trail.ko" ] || skip "$VM: no modules were built"
self=$work/self
${CC:-cc} -D_GNU_SOURCE -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$self" "$top/tests/vm/self.c" || skip "no compiler"
chmod 755 "$work" "$self"

clean() {
	dmesg | grep -E 'WARNING: |BUG: |Oops|general protection|trail.*(error|invalid)' && fail "the kernel complained"
	checks=$((checks + 1))
}

busybox insmod "$modules/trail.ko" && busybox insmod "$modules/trail_events.ko" || fail "the modules cannot be loaded: $(dmesg | tail -n 5)"
mount_tree
has "$(cat "$MNT/version")" '^kernel module '

# session NAME CONTEXTS EVENT…: made, not started
session() {
	s=$S/$1
	mkdir "$s"
	echo "$2" >"$s/kernel/contexts" || fail "$(cat "$s/error")"
	shift 2
	printf '%s\n' "$@" >"$s/kernel/events" || fail "$(cat "$s/error")"
}
# What babeltrace2 reads is what `text` has.
same() {
	timeout 100 babeltrace2 --clock-gmt "$s/trace" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2: $(cat "$work/bt.err")"
	TZ=UTC timeout 60 cat "$s/text" | awk '!/^\[warning/' >"$work/text"
	diff "$work/bt" "$work/text" >"$work/diff" || fail "babeltrace2 reads it otherwise: $(head -n 5 "$work/diff")"
	checks=$((checks + 1))
}

# --- each context is what the program itself says
all='pid tid procname vpid vtid ppid vppid prio nice hostname uid euid suid gid egid sgid vuid veuid vsuid vgid vegid vsgid
cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns preemptible interruptible migratable'
for name in $all cpu_id need_reschedule callstack-kernel callstack-user perf:cpu:page-faults; do
	grep -qx -e "$name" "$MNT/available/kernel/contexts" || fail "available/kernel/contexts has no $name"
done
session all "$all" 'syscall:entry:getppid'
echo start >"$s/control"
for mode in plain ids spaces; do
	"$self" $mode >"$work/$mode" || fail "self $mode"
done
echo stop >"$s/control"
cat "$s/text" >"$work/events"
for mode in plain ids spaces; do
	[ -s "$work/$mode" ] || fail "self $mode says nothing"
	grep -qF "$(cat "$work/$mode")" "$work/events" || fail "$mode: not as
$(cat "$work/$mode")
in
$(cat "$work/events")"
	checks=$((checks + 1))
done
same
# Types as LTTng has them.
for line in 'size = 32; align = 8; signed = 1; encoding = none; base = 10; } _ppid;' 'size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _hostname\[65\];' \
	'size = 32; align = 8; signed = 0; encoding = none; base = 10; } _vegid;' 'size = 32; align = 8; signed = 0; encoding = none; base = 10; } _mnt_ns;' \
	'size = 8; align = 8; signed = 0; encoding = none; base = 10; } _migratable;' 'size = 8; align = 8; signed = 1; encoding = none; base = 10; } _interruptible;'; do
	grep -q "integer { $line" "$s/trace/kernel/metadata" || fail "no $line"
done
rmdir "$s"
clean
echo "$checks checks"
