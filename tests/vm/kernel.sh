#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1000
#
# What holds for the kernel domain on this machine's kernel holds on Debian's kernels. SOAK: all
# tests of mount/kernel, on each of them, and each single event.
kernel_in_check=6.1
. "$(dirname "$0")/lib.sh"

"$BUILD/tests/unit/probe/test_dynevent" || fail "dynamic events"
"$BUILD/tests/vm/formats" || fail "not all formats are understood"
tests='bpf_call_stacks kernel'
[ -z "${SOAK-}" ] || tests=$(cd "$top/tests/mount/kernel" && ls *.sh | sed 's/\.sh$//')
failed=
for t in $tests; do
	"$top/tests/mount/kernel/$t.sh" >"$work/log" 2>&1
	case $? in
	0 | 77) echo "$t: $(tail -n 1 "$work/log")" ;;
	*)
		sed "s/^/$t: /" "$work/log"
		failed="$failed $t.sh"
		;;
	esac
done
[ -z "$failed" ] || fail "${failed# }"
