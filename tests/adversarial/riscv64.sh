#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# libtrail for riscv64: before gcc 13, atomic operations on bytes are functions of libatomic there,
# which the Makefile finds out. Programs with the library and with the archive, linked with what
# trail.pc says and run by QEMU, record for the daemon here. The formatters, built for riscv64,
# print what babeltrace2 prints, also of a negative NaN in a float, whose sign conversion drops.
. "$(dirname "$0")/../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v qemu-riscv64 >/dev/null || skip "there is no qemu-riscv64"
root=/usr/riscv64-linux-gnu cc=riscv64-linux-gnu-gcc
command -v $cc >/dev/null && [ -e $root/include/stdio.h ] || skip "there is no compiler for riscv64"
! command -v ccache >/dev/null || cc="ccache $cc"
unset MAKEFLAGS MAKELEVEL MFLAGS
cd "$top" || exit 2

b=$work/b
make -j2 B="$b" CC="$cc" CFLAGS=-O1 SAN= WERROR=1 "$b/libtrail.so" "$b/libtrail.a" "$b/trail.pc" \
	"$b/libtrail-dl.so" >"$work/log" 2>&1 || fail "make: $(tail -n 20 "$work/log")"
cat >"$work/program.c" <<'C'
#include <trail/trail.h>

int main(int argc, char **argv)
{
	const char *name = argv[argc - 1];

	for (int i = 0; i < 3; i++) {
		const float nan = i == 1 ? -__builtin_nanf("") : i / 2.0f;
		TRAIL(risc, one, i, nan, name);
	}
	return 0;
}
C
flags="-D_GNU_SOURCE= -O1 -Wall -Wextra -Werror -I. -Iustlib"
private=$(sed -n 's/^Libs.private: //p' "$b/trail.pc")
$cc $flags -o "$work/shared" "$work/program.c" -L"$b" -ltrail -Wl,-rpath,"$b" >"$work/log" 2>&1 ||
	fail "a program with the library: $(cat "$work/log")"
$cc $flags -static -o "$work/static" "$work/program.c" "$b/libtrail.a" $private >"$work/log" 2>&1 ||
	fail "a program with the archive: $(cat "$work/log")"
mount_tree
mkdir "$S/s" && put 'risc:*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
for p in shared static; do
	timeout 300 qemu-riscv64 -L $root "$work/$p" $p || fail "$p: exit status $?"
	is "$p" "0 0,1 -nan,2 1" "$(sed -n \
		"s/.*risc:one: .*{ i = \(.*\), nan = \(.*\), name = \"$p\" }\$/\1 \2/p" "$S/s/text" |
		paste -s -d ,)"
done
put stop "$S/s/control"
is "discarded" 0 "$(key events_discarded "$S/s/status")"

mkdir "$work/objects"
printf '%s\n' metadata/*.c tests/unit/metadata/test_babeltrace.c |
	xargs -P 2 -I{} sh -c "$cc -std=gnu11 $flags -c -o '$work/objects/'\$(echo {} | tr / _).o {}" \
		>"$work/log" 2>&1 || fail "$(head -n 20 "$work/log")"
$cc -static -o "$work/test_babeltrace" "$work"/objects/*.o -lm >"$work/log" 2>&1 ||
	fail "$(head -n 20 "$work/log")"
qemu-riscv64 "$work/test_babeltrace" >"$work/cases" 2>&1 || fail "$(cat "$work/cases")"
is "cases" "" "$(grep -v '^ok \|^#\|^1\.\.\|^$' "$work/cases")"
echo "$checks checks"
