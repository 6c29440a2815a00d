#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 3600
#
# trailfs for armhf, a processor of 32 bits. libtrail (lib/foreign_lib.sh) records for the daemon
# here. The daemon builds without a warning, and the unit tests of its rooms run in QEMU's user
# mode, but for those below. (vm/armhf.sh has all of it on its kernel.) SOAK=1, or ARMHF=1: it gets
# Debian's libraries. UNITS: other tests below tests/unit/.
. "$(dirname "$0")/../lib/mount.sh"
[ -n "${ARMHF-}${SOAK-}" ] || skip "built for armhf for SOAK=1, or with ARMHF=1"
for c in clang ld.lld dpkg-deb; do
	command -v $c >/dev/null || skip "there is no $c"
done
root=$("$top/tests/vm/foreign_root" armhf) || skip "$root"
cc="clang --target=arm-linux-gnueabihf --sysroot=$root --gcc-toolchain=$root/usr -fuse-ld=lld
	-Wno-unused-command-line-argument"
cc=$(echo $cc) qemu=qemu-arm
. "$top/tests/lib/foreign_lib.sh"

# --- the daemon
left= triple=arm-linux-gnueabihf
. "$top/tests/lib/foreign_units.sh"
echo "$ran unit tests, $skipped left out"
