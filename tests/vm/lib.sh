# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests in a guest, `. "$(dirname "$0")/lib.sh"` as the first command: outside, it runs the
# whole script in a guest with each kernel in $VM_KERNEL, all at once where there are CPUs for them
# (a guest uses one; with VM_LANE others use the rest), and ends. Unless others are asked for, these
# are $kernel_in_check, or 6.1 and 6.12; with SOAK=1, $kernels_in_soak, or 5.10, 6.1, 6.12 and the
# newest one. Inside, it is tests/lib/mount.sh and continues. $VM is then the kernel's series, root
# has this machine's files, and nothing that is done to the kernel outlives the guest. A function
# `prepare` that a script has before that builds programs outside, as compilers are slow in a guest:
# into its argument, which is $prepared inside. A function `conclude` that a script has looks
# outside, when the guest has passed, at what it has left in the directory $OUT: its arguments are
# that and the kernel. VM_ONLY=prepare or VM_ONLY=conclude: does nothing else, for a guest of others.

if [ -z "${VM-}" ]; then
	vm=$(cd "$(dirname "$0")" && pwd) || exit 2
	BUILD=${BUILD:-$(cd "$vm/../.." && pwd)/build}
	export BUILD
	[ -n "${VM_KERNEL-}${SOAK-}" ] || VM_KERNEL=${kernel_in_check-}
	[ -z "${SOAK-}" ] || VM_KERNEL=${VM_KERNEL:-${kernels_in_soak:-5.10 6.1 6.12 backports}}
	if [ "${VM_ONLY-}" != conclude ] && command -v prepare >/dev/null; then
		mkdir -p "$BUILD/vm/${0##*/}-programs" && prepare "$BUILD/vm/${0##*/}-programs" ||
			{ echo "no compiler"; exit 77; }
	fi
	case ${VM_ONLY-} in
	prepare) exit 0 ;;
	conclude)
		for kernel in $VM_KERNEL; do
			! command -v conclude >/dev/null || conclude "$OUT" "$kernel" || exit
		done
		exit 0
		;;
	esac
	logs=$(mktemp -d "${TMPDIR:-/tmp}/trailfs-guests.XXXXXX") || exit 2
	guests=
	trap 'rm -rf "$logs"' EXIT
	trap 'kill $guests 2>/dev/null; exit 1' INT TERM HUP
	for kernel in ${VM_KERNEL:-6.1 6.12}; do
		"$vm/kernel" $kernel >/dev/null         # apt does one thing at a time
		OUT=${OUT:-$logs/out.$kernel} "$vm/boot" $kernel "$0" "$@" >"$logs/$kernel" 2>&1 &
		guests="$guests $!"
		[ -z "${VM_LANE-}" ] && [ "$(nproc)" -ge 2 ] ||
			{ wait $!; echo $? >"$logs/$kernel.status"; }
	done
	status=77
	for kernel in ${VM_KERNEL:-6.1 6.12}; do
		set -- $guests
		guest=$(cat "$logs/$kernel.status" 2>/dev/null) || { wait $1; guest=$?; }
		shift
		guests=$*
		echo "--- $kernel"
		cat "$logs/$kernel"
		# What the guest left to be looked at here
		out=${OUT:-$logs/out.$kernel}
		for d in "$out/same.$kernel".*; do
			[ -d "$d" ] && [ "$guest" = 0 ] || continue
			differ=$("$vm/../lib/same_text" "$d/trace" "$d/text" "$d") || {
				echo "FAILED: a text is not what babeltrace2 says: $differ"
				guest=1
			}
		done
		rm -rf "$out/same.$kernel".*
		[ "$guest" != 0 ] || ! command -v conclude >/dev/null || conclude "$out" "$kernel" || guest=1
		case $guest in
		0) [ $status != 77 ] || status=0 ;;
		77) ;;
		*) status=1 ;;
		esac
	done
	exit $status
fi
. "$(dirname "$0")/../lib/mount.sh"
prepared=$BUILD/vm/${0##*/}-programs
# (A script that another one in the guest calls was not called outside.)
if command -v prepare >/dev/null && [ ! -d "$prepared" ]; then
	mkdir -p "$prepared" && prepare "$prepared" || skip "no compiler"
fi
T=/sys/kernel/tracing

# Whether this kernel has event probes, from Linux 5.15 on, and they read the text of system calls.
# Some read all of it as empty: Debian's 6.1.0-50 does, 6.1.0-56 does not.
reads_text() {
	kernel_since 5.15 || return
	mkdir $T/instances/trial &&
		echo 'e:trial/trial syscalls.sys_enter_openat f=+0($filename):ustring' \
		>>$T/dynamic_events &&
		echo 1 >$T/instances/trial/events/trial/trial/enable ||
		fail "no event probe can be made"
	for i in 1 2 3; do
		busybox cat /proc/version >/dev/null
	done
	echo 0 >$T/instances/trial/events/trial/trial/enable
	grep -q 'f="/' $T/instances/trial/trace
	text=$?
	rmdir $T/instances/trial && echo '-:trial/trial' >>$T/dynamic_events ||
		fail "the event probe cannot be removed"
	return $text
}
