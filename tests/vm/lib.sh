# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests in a guest, `. "$(dirname "$0")/lib.sh"` as the first command: outside, it runs the whole script in a guest with
# each kernel in $VM_KERNEL (6.1 6.12), one after the other, and ends; inside, it is tests/mount/lib.sh and goes on. $VM is
# then the kernel's series, root has this machine's files, and nothing that is done to the kernel outlives the guest.

if [ -z "${VM-}" ]; then
	status=77
	for kernel in ${VM_KERNEL:-6.1 6.12}; do
		echo "--- $kernel"
		"$(dirname "$0")/boot" $kernel "$0" "$@"
		case $? in
		0) [ $status != 77 ] || status=0 ;;
		77) ;;
		*) status=1 ;;
		esac
	done
	exit $status
fi
. "$(dirname "$0")/../mount/lib.sh"
T=/sys/kernel/tracing
