# SPDX-License-Identifier: GPL-2.0-or-later
. "$(dirname "$0")/../lib/mount.sh"
