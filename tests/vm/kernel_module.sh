#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 950
#
# A daemon with trail.ko takes over what one before left that had tracefs. SOAK: on each kernel, and
# what holds for the kernel domain by tracefs holds with trail.ko, too.
# For SOAK=1 only, as it takes a guest for minutes.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
. "$(dirname "$0")/modlib.sh"

case $(uname -m) in
x86_64) probed=kretprobe:__x64_sys_getppid ;;
aarch64) probed=kretprobe:__arm64_sys_getppid ;;
s390x) probed=kretprobe:__s390x_sys_getppid ;;
# (Debian's kernel permits no probe at the beginning of a function.)
riscv64) probed=kprobe:__riscv_sys_getppid+8 ;;
*) probed=kretprobe:sys_getppid ;;
esac
# --- a killed daemon that had tracefs, and one that has the module
calls=$BUILD/tests/lib/calls
[ -x "$calls" ] || skip "there is no $calls"
mount_tree
has "$(cat "$MNT/version")" '^kernel tracefs'
s=$S/over
mkdir "$s" "$s/kernel/channels/f"
printf '%s\n' syscall:entry:getppid "$probed" >"$s/kernel/events" ||
	fail "$(cat "$s/error")"
echo 'function:vfs_readlink' >"$s/kernel/channels/f/events" || fail "$(cat "$s/error")"
echo tid >"$s/kernel/contexts"
echo start >"$s/control"
"$calls" 20 >/dev/null
kill -9 $(daemon_pids)
within 20 daemon_ended
umount -l "$MNT"
load
mount_tree
has "$(cat "$MNT/version")" '^kernel module'
is "no instances are left" 0 "$(ls $T/instances | grep -c trailfs-)"
is "it continues" active "$(key state "$s/status")"
is "rules stay" 'function:vfs_readlink' "$(cat "$s/kernel/channels/f/events")"
pid=$("$calls" 30)
echo stop >"$s/control"
same_text "$s"
is "calls" 30 "$(grep -c " syscall_entry_getppid: .*{ tid = $pid }" "$work/text")"
is "by a probe" 30 "$(grep -c " $probed: .*{ tid = $pid }" "$work/text")"
rmdir "$s"
fusermount3 -u "$MNT" 2>/dev/null || umount "$MNT"
within 20 daemon_ended
is "nothing is left" "0 0" "$(kernel_channels '') $(grep -c trailfs_ $T/dynamic_events)"
clean

# --- the tests
for t in ${SOAK:+mount/kernel/kernel_who mount/kernel/kernel_filter mount/output/relay_kernel vm/probes \
	mount/kernel/kernel mount/kernel/kernel_dump mount/kernel/kernel_counts mount/kernel/kernel_triggers \
	mount/kernel/cgroup_id mount/kernel/cgroup_joins}; do
	echo "$t"
	"$top/tests/$t.sh" || fail "$t.sh"
	clean
done
echo "$checks checks"
