#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Programs at the functions of system calls (mount/kernel/bpf_functions.sh), and what holds for
# records of system calls with text (late_text.sh), on a kernel that attaches them: Linux 6.10 and
# later. SOAK: also bpf_calls.sh and bpf_refused.sh.
kernel_in_check=backports
kernels_in_soak='6.12 backports'
. "$(dirname "$0")/lib.sh"

for t in bpf_functions late_text ${SOAK:+bpf_calls bpf_refused}; do
	"$top/tests/mount/kernel/$t.sh" >"$work/log" 2>&1 || fail "$t: $(cat "$work/log")"
	echo "$t: $(tail -n 1 "$work/log")"
done
