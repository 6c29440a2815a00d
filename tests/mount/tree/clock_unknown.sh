#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Without /sys, as in a new root directory, `version` does not say that the kernel's clock is another
# one than the TSC: it is not known.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null ||
	skip "there are no private mounts here"
mkdir "$work/inside" "$work/here"
unshare -m --propagation private sh -c '
	export TRAIL_RUNTIME_DIR=$1
	mount -t tmpfs none /sys && "$2" "$0" -o keeper=0 && grep "^clock " "$0/version"
	umount "$0"' "$work/inside" "$work/here" "$TRAILFS" >"$work/clock" 2>"$work/err"
is "the clock: $(cat "$work/err")" \
	"clock monotonic, because /sys, which names the kernel's clocksource, is not mounted" \
	"$(cat "$work/clock")"
echo "$checks checks"
