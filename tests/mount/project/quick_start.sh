#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The quick start of README.md runs as it is written: all its lines but the first two, which clone and
# build. A directory with this tree's ustlib/ and build directory stands for the clone.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
command -v "${CC:-cc}" >/dev/null || skip "there is no compiler"

# Prints the first block of the section "Quick start".
print_quick_start() {
	awk '/^## Quick start$/ { found = 1 }
		found && /^```/ { if (inside++) exit; next }
		inside' "$top/README.md"
}

[ "$(wc -l <"$top/README.md")" -le 150 ] || fail "README.md has more than 150 lines"
[ "$(LC_ALL=C.UTF-8 wc -L <"$top/README.md")" -le 80 ] ||
	fail "README.md has lines of more than 80 columns"
print_quick_start >"$work/lines"
[ "$(wc -l <"$work/lines")" -le 10 ] || fail "the quick start has more than ten lines"
has "$(sed -n 1p "$work/lines")" '^git clone '
has "$(sed -n 2p "$work/lines")" 'make'

mkdir "$work/clone" "$work/trace"
rmdir "$MNT"
ln -s "$top/ustlib" "$work/clone/ustlib"
ln -s "$BUILD" "$work/clone/build"
MNT=$work/trace
(
	HOME=$work
	export HOME
	cd "$work/clone" && sed 1,2d "$work/lines" >"$work/script" && sh -e "$work/script"
) >"$work/out" 2>"$work/daemon.log" || fail "the quick start ends with $?: $(cat "$work/out")"
is "events" 3 "$(grep -c 'hello:tick.*{ i = [012] }$' "$work/out")"
echo "$checks checks"
