# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of trail.ko, `. "$(dirname "$0")/modlib.sh"` as the first command: lib.sh, with the
# modules that were built for the guest's kernel in $modules. A test that sets `beside` before finds
# $beside.ko, of tests/vm/$beside, in ${modules%/kmod}/$beside. A test that sets `or_without` also
# runs where the modules cannot be built: built() says whether they were.
if [ -z "${VM-}" ]; then
	here=$(cd "$(dirname "$0")" && pwd) || exit 2
	BUILD=${BUILD:-$here/../../build}
	export BUILD
	[ -n "${VM_KERNEL-}${SOAK-}" ] || VM_KERNEL=${kernel_in_check-}
	[ -z "${SOAK-}" ] || VM_KERNEL=${VM_KERNEL:-${kernels_in_soak:-5.10 6.1 6.12 backports}}
	# A kernel whose modules cannot be built here is left out.
	for k in ${VM_KERNEL:-6.1 6.12}; do
		why=$("$here/modules" "$k" ${beside-})
		case $? in
		0) kernels="${kernels-} $k" ;;
		77) echo "$k: $why"; [ -z "${or_without-}" ] || kernels="${kernels-} $k" ;;
		*) exit 1 ;;
		esac
	done
	[ -n "${kernels-}" ] || exit 77
	VM_KERNEL=$kernels
	export VM_KERNEL
fi
. "$(dirname "$0")/lib.sh"
modules=$BUILD/vm/modules-$VM${VM_FULL:+-full}/kmod
built() { [ -e "$modules/trail.ko" ]; }
built || [ -n "${or_without-}" ] || skip "$VM: no modules were built"

# What only x86 has
on_x86() { [ "$(uname -m)" = x86_64 ]; }
# The numbers of a few system calls
getppid=110 kill=62 openat=257
case $(uname -m) in
aarch64 | riscv64) getppid=173 kill=129 openat=56 ;;
s390x) getppid=64 kill=37 openat=288 ;;
arm*) getppid=64 kill=37 openat=322 ;;
esac

load() {
	# Kernels before 5.18 have no compiled probes.
	busybox insmod "$modules/trail.ko" &&
		{ [ ! -e "$modules/trail_events.ko" ] || busybox insmod "$modules/trail_events.ko"; } ||
		fail "the modules cannot be loaded: $(dmesg | tail -n 5)"
}

clean() {
	dmesg | grep -E 'WARNING: |BUG: |Oops|general protection|trail.*(error|invalid)|[Oo]ut of memory|oom-kill' && fail "the kernel complained"
	checks=$((checks + 1))
}
