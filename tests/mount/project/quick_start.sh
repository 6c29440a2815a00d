#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The quick start of README.md runs as it is written, with each shell: all its lines but the first
# two, which clone and build. A directory with this tree's ustlib/ and build directory stands for the
# clone.
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

mkdir "$work/clone"
rmdir "$MNT"
ln -s "$top/ustlib" "$work/clone/ustlib"
ln -s "$BUILD" "$work/clone/build"
sed 1,2d "$work/lines" >"$work/script"
# quick_start SHELL: with a home of its own; what it mounts is unmounted as README says it
quick_start() {
	MNT=$work/$1/trace
	mkdir -p "$MNT"
	(
		HOME=$work/$1
		export HOME
		cd "$work/clone" && $* -e "$work/script"
	) >"$work/out" 2>"$work/daemon.log" || fail "$1: the quick start ends with $?: $(cat "$work/out")"
	is "events of $1" 3 "$(grep -c 'hello:tick.*{ i = [012] }$' "$work/out")"
	fusermount3 -u "$MNT" || fail "$1: fusermount3"
	within 40 daemon_ended || fail "$1: the daemon does not end"
}
quick_start sh
! command -v bash >/dev/null || quick_start bash
! busybox sh -c : 2>/dev/null || quick_start busybox sh
echo "$checks checks"
