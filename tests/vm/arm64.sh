#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 5400
#
# All of trailfs for aarch64, in a guest with Debian's kernel for it: see ./foreign. SOAK=1, or
# FOREIGN=1.
processor=arm64
. "$(dirname "$0")/foreign"
