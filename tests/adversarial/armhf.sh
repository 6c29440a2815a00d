#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# libtrail for armhf, a processor of 32 bits (lib/foreign_lib.sh). SOAK=1, or ARMHF=1: it gets
# Debian's libraries. (The daemon needs a processor of 64 bits.)
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
