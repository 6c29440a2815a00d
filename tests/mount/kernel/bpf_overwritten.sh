#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# kernel_overwritten.sh, where BPF programs record.
KERNEL_BACKEND=bpf exec "$(dirname "$0")/kernel_overwritten.sh"
