# SPDX-License-Identifier: GPL-2.0-or-later
#
# libtrail for another processor whose bytes are in this one's order: after `mount.sh`, with $cc, a
# compiler for it, $root, which has its C library, and $qemu, which runs its programs. The libraries
# are built without a warning. Programs with the library and with the archive, linked with what
# trail.pc says, record for the daemon here. The formatters, built for that processor, print what
# babeltrace2 prints, also of a negative NaN in a float, whose sign a conversion may drop.
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v "$qemu" >/dev/null || skip "there is no $qemu"
! command -v ccache >/dev/null || cc="ccache $cc"
unset MAKEFLAGS MAKELEVEL MFLAGS
cd "$top" || exit 2

b=$work/b
make -j2 B="$b" CC="$cc" CFLAGS=-O1 SAN= WERROR=1 "$b/libtrail.so" "$b/libtrail.a" "$b/trail.pc" \
	"$b/libtrail-dl.so" "$b/lttng/liblttng-ust.so.1" >"$work/log" 2>&1 || fail "make: $(tail -n 20 "$work/log")"
cat >"$work/program.c" <<'C'
#include <trail/trail.h>

int main(int argc, char **argv)
{
	const char *name = argv[argc - 1];

	for (int i = 0; i < 3; i++) {
		const float nan = i == 1 ? -__builtin_nanf("") : i / 2.0f;
		TRAIL(foreign, one, i, nan, name);
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
mkdir "$S/s" && put 'foreign:*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
for p in shared static; do
	timeout 300 $qemu -L $root "$work/$p" $p || fail "$p: exit status $?"
	is "$p" "0 0,1 -nan,2 1" "$(sed -n \
		"s/.*foreign:one: .*{ i = \(.*\), nan = \(.*\), name = \"$p\" }\$/\1 \2/p" "$S/s/text" |
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
$qemu "$work/test_babeltrace" >"$work/cases" 2>&1 || fail "$(cat "$work/cases")"
is "cases" "" "$(grep -v '^ok \|^#\|^1\.\.\|^$' "$work/cases")"
echo "$checks checks"
