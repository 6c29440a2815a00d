#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1000
#
# What holds for the kernel domain on this machine's kernel holds on Debian's kernels. SOAK: on
# each of them, and for each single event.
kernel_in_check=6.1
. "$(dirname "$0")/lib.sh"

"$BUILD/tests/unit/probe/test_dynevent" || fail "dynamic events"
"$BUILD/tests/vm/formats" || fail "not all formats are understood"
"$top/tests/mount/kernel/bpf_call_stacks.sh" || [ $? = 77 ] || fail "bpf_call_stacks.sh"
[ -z "${SOAK-}" ] || "$top/tests/mount/kernel/kernel_each.sh" || fail "kernel_each.sh"
"$top/tests/mount/kernel/kernel.sh" || fail "kernel.sh"
