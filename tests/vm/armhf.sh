#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 5400
#
# All of trailfs for armhf, whose words have 32 bits, in a guest with Debian's kernel for it: see
# ./foreign. SOAK=1, or FOREIGN=1.
processor=armhf
. "$(dirname "$0")/foreign"
