# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon for another processor: after `mount.sh`, with $cc, a compiler for it, $root, which has
# its libraries (vm/foreign_root), $triple, Debian's name of them, and $qemu, which runs its
# programs. It builds in $b without a warning, and the unit tests of its rooms run in QEMU's user
# mode, but for those below and those in $left. UNITS: other tests below tests/unit/. $ran and
# $skipped: how many.
#
# What QEMU's user mode does not have: programs of this processor that a program starts, all of a
# long directory, the mounts' numbers in statx(2), the rights of another user, its own processor in
# /proc/cpuinfo and the addresses of its own memory map.
left="$left keeper/test_keeper map/test_maps export/test_exports session/test_halt
	trigger/test_triggers kernel/test_kthreads statedump/test_kstatedump app/test_regfile
	os/test_ownerfile bpf/test_bpf symbol/test_symbols"
PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/$triple/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
unset MAKEFLAGS MAKELEVEL MFLAGS
units=$(ls tests/unit/*/test_*.c | sed "s,^,$b/,; s/\.c\$//")
libs=$(ls tests/unit/*/lib*.c | sed "s,^,$b/,; s/\.c\$/.so/")
make -k -j2 B="$b" CC="$cc" CFLAGS=-O1 SAN= SQLITE_LIBS= WERROR=1 "$b/trailfs" \
	"$b/tools/trail-recover" $units $libs >"$work/log" 2>&1
# (Some tests compare with numbers of 128 bits.)
! grep '\.[ch]:[0-9:]* error:' "$work/log" | grep -v __int128 || fail "not all of it is built"
is "trailfs" "$("$BUILD/trailfs" --version)" "$($qemu -L $root "$b/trailfs" --version)"
ran=0 skipped=0 failed=
left=$(echo $left)
for u in ${UNITS:-$(cd tests/unit && ls */test_*.c | sed 's/\.c$//')}; do
	case " $left " in *" $u "*) skipped=$((skipped + 1)); continue ;; esac
	[ -x "$b/tests/unit/$u" ] || { skipped=$((skipped + 1)); continue; }
	BUILD=$b timeout 600 $qemu -L $root "$b/tests/unit/$u" >"$work/log" 2>&1 </dev/null
	case $? in
	0) ran=$((ran + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	*) failed="$failed $u: $(grep -v '^ok' "$work/log" | head -n 10)" ;;
	esac
done
[ -z "$failed" ] || fail "$failed"
