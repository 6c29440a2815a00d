#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# What holds for the kernel domain on this machine's kernel holds on Debian's kernels.
. "$(dirname "$0")/lib.sh"

exec "$top/tests/mount/kernel.sh"
