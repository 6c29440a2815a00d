#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 5400
#
# All of trailfs for s390x, whose bytes are in the other order, in a guest with Debian's kernel for
# it: see ./foreign. SOAK=1, or FOREIGN=1.
processor=s390x
. "$(dirname "$0")/foreign"
