#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# text_parts.sh, with a daemon that takes this machine for one with five CPUs.
CPUS=5 exec "$(dirname "$0")/text_parts.sh"
