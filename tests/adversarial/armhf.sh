#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 3600
#
# trailfs for armhf, a processor of 32 bits. libtrail (lib/foreign_lib.sh) records for the daemon
# here. The daemon builds without a warning, and the unit tests of its rooms run in QEMU's user mode,
# but for those below. (It is not tried on a kernel for armhf.) SOAK=1, or ARMHF=1: it gets Debian's
# libraries. UNITS: other tests below tests/unit/.
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
# What QEMU's user mode does not have: programs of this processor that a program starts, all of a
# long directory, the mounts' numbers in statx(2), the rights of another user, its own processor in
# /proc/cpuinfo and the addresses of its own memory map.
left=" keeper/test_keeper map/test_maps export/test_exports session/test_halt trigger/test_triggers
	kernel/test_kthreads statedump/test_kstatedump app/test_regfile os/test_ownerfile bpf/test_bpf
	symbol/test_symbols "
left=$(echo $left)
PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/arm-linux-gnueabihf/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
units=$(ls tests/unit/*/test_*.c | sed "s,^,$b/,; s/\.c\$//")
libs=$(ls tests/unit/*/lib*.c | sed "s,^,$b/,; s/\.c\$/.so/")
make -k -j2 B="$b" CC="$cc" CFLAGS=-O1 SAN= SQLITE_LIBS= WERROR=1 "$b/trailfs" \
	"$b/tools/trail-recover" $units $libs >"$work/log" 2>&1
# (Some tests compare with numbers of 128 bits.)
! grep '\.[ch]:[0-9:]* error:' "$work/log" | grep -v __int128 || fail "not all of it is built"
is "trailfs" "$("$BUILD/trailfs" --version)" "$($qemu -L $root "$b/trailfs" --version)"
ran=0 skipped=0
for u in ${UNITS:-$(cd tests/unit && ls */test_*.c | sed 's/\.c$//')}; do
	case " $left " in *" $u "*) skipped=$((skipped + 1)); continue ;; esac
	[ -x "$b/tests/unit/$u" ] || { skipped=$((skipped + 1)); continue; }
	BUILD=$b $qemu -L $root "$b/tests/unit/$u" >"$work/log" 2>&1 </dev/null
	case $? in
	0) ran=$((ran + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	*) fail "$u: $(grep -v '^ok' "$work/log" | head -n 10)" ;;
	esac
done
echo "$ran unit tests, $skipped left out"
