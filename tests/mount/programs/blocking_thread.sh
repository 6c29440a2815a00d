#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A program that waits for room, with rings of its threads, as on processors without restartable
# sections: see blocking.sh.
TRAIL_RSEQ=0
export TRAIL_RSEQ
exec "$(dirname "$0")/blocking.sh"
