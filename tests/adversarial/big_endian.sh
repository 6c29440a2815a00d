#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 3600
#
# A big-endian host: the metadata writer, the decoder, the formatters and the writer of event
# headers are built for s390x and run by QEMU. babeltrace2 here reads their traces, with types of
# all kinds in both byte orders, all headers and contexts, and prints what they print. With SOAK=1,
# or S390X=1, the daemon is built with Debian's libraries, and unit tests of its rooms run.
# (vm/s390x.sh has a kernel for it.)
. "$(dirname "$0")/../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v qemu-s390x >/dev/null || skip "there is no qemu-s390x"
# (Debian's gcc-multilib excludes this gcc, but not its libraries, with which clang links.)
root=/usr/s390x-linux-gnu gcc=
[ -e $root/include/stdio.h ] || skip "there is no C library for s390x"
for c in s390x-linux-gnu-gcc "clang --target=s390x-linux-gnu"; do
	[ -n "$gcc" ] || ! echo 'int main(void) { return 0; }' |
		$c -static -x c -o "$work/empty" - -lm 2>/dev/null || gcc=$c
done
[ -n "$gcc" ] || skip "there is no compiler for s390x"
! command -v ccache >/dev/null || gcc="ccache $gcc"
cd "$top" || exit 2

mkdir "$work/objects"
flags="-std=gnu11 -D_GNU_SOURCE= -O1 -Wall -Wextra -Werror -I."

build() { # SOURCE…: objects in $work/objects
	for f in "$@"; do
		echo "$f"
	done | xargs -P 2 -I{} sh -c "$(echo $gcc $flags) -c \
		-o '$work/objects/'\$(echo {} | tr / _).o {}" >"$work/log" 2>&1 ||
		fail "$(head -n 20 "$work/log")"
}

build metadata/*.c tests/unit/metadata/test_babeltrace.c
$gcc -static -o "$work/test_babeltrace" "$work"/objects/*.o -lm >"$work/log" 2>&1 ||
	fail "$(head -n 20 "$work/log")"
qemu-s390x "$work/test_babeltrace" >"$work/cases" 2>&1 || fail "$(cat "$work/cases")"
is "cases" "" "$(grep -v '^ok \|^#\|^1\.\.\|^$' "$work/cases")"

# --- filters
rm "$work"/objects/*
build metadata/*.c tracer/base/*.c tracer/base/context/*.c tracer/base/filter/*.c \
	tests/unit/filter/test_filterrun.c
$gcc -static -o "$work/test_filterrun" "$work"/objects/*.o -lm >"$work/log" 2>&1 ||
	fail "$(head -n 20 "$work/log")"
qemu-s390x "$work/test_filterrun" >"$work/cases" 2>&1 || fail "$(cat "$work/cases")"
is "filters" "" "$(grep -v '^ok \|^#\|^1\.\.\|^$' "$work/cases")"

# --- libtrail: state words, and the first test of a filter
b=$work/b
unset MAKEFLAGS MAKELEVEL MFLAGS
for u in words quick; do
	u=$b/tests/unit/ustlib/test_$u
	make -j2 B="$b" CC="$gcc" CFLAGS=-O1 SAN= WERROR=1 "$u" >"$work/log" 2>&1 ||
		fail "make: $(tail -n 20 "$work/log")"
	qemu-s390x -L $root "$u" >"$work/cases" 2>&1 || fail "$(cat "$work/cases")"
	checks=$((checks + 1))
done
[ -n "${S390X-}${SOAK-}" ] || { echo "$checks checks"; exit; }

# --- the daemon
for c in clang s390x-linux-gnu-ld dpkg-deb; do
	command -v $c >/dev/null || skip "there is no $c"
done
root=$("$top/tests/vm/foreign_root" s390x) || skip "$root"
triple=s390x-linux-gnu qemu=qemu-s390x b=$work/daemon
cc="clang --target=$triple --sysroot=$root --gcc-toolchain=$root/usr
	-Wno-unused-command-line-argument"
cc=$(echo $cc)
! command -v ccache >/dev/null || cc="ccache $cc"
# Nor does it have a kernel with records in this order, which these read. It has something in memory
# for each page of a mapping of 4 TiB, until it is killed. The kernel here finds no owner of a mutex
# with priority inheritance, whose number is in the other order: who waits for it waits for ever.
left="kevent/test_kpage_live snapshot/test_hit_time ring/test_region session/test_small_files"
. "$top/tests/lib/foreign_units.sh"
echo "$checks checks, $ran unit tests, $skipped left out"
