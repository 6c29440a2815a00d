#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1000
#
# BPF programs, and maps that the kernel counts by them, on Debian's kernels. For SOAK=1 only.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
. "$(dirname "$0")/lib.sh"

"$BUILD/tests/unit/bpf/test_bpf" || fail "BPF programs"
"$top/tests/mount/views/map_in_kernel.sh" || fail "map_in_kernel.sh"
