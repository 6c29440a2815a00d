#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program that was compiled for the last release runs with this libtrail: all that data/libtrail.abi
# has is still so. What was added is listed there, too, and both compilers lay out the same. A changed
# layout, a lost symbol and a changed prototype are found.
cd "$(dirname "$0")/../../.." || exit 2
BUILD=${BUILD:-$PWD/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/abi.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
[ "$(uname -m)" = x86_64 ] || { echo "the list is for x86-64"; exit 77; }
command -v gcc >/dev/null || { echo "there is no gcc"; exit 77; }
lib=$BUILD/libtrail.so
CC=gcc tools/abi.sh "$lib" >"$work/now" || fail "tools/abi.sh"
for kind in symbol function constant struct member enumerator; do
	grep -q "^$kind " "$work/now" || fail "tools/abi.sh finds no $kind"
done
sort data/libtrail.abi >"$work/release"
sort "$work/now" >"$work/sorted"
comm -23 "$work/release" "$work/sorted" >"$work/lost"
[ ! -s "$work/lost" ] || fail "programs that were compiled before may break, as this changed or is lost" \
	"(keep it; or raise SOVERSION, then \`make abi\`):
$(cat "$work/lost")"
comm -13 "$work/release" "$work/sorted" >"$work/more"
[ ! -s "$work/more" ] || fail "not in data/libtrail.abi yet (\`make abi\` adds it):
$(cat "$work/more")"
if command -v clang >/dev/null; then
	CC=clang tools/abi.sh "$lib" >"$work/clang" || fail "tools/abi.sh with clang"
	diff "$work/now" "$work/clang" >"$work/diff" || fail "clang differs: $(cat "$work/diff")"
fi

# What this is to find
mkdir "$work/t" "$work/t/tools" && cp -r ustlib "$work/t/" && cp tools/abi.sh "$work/t/tools/" ||
	fail cp
# changed SED_COMMAND FILE PATTERN: after the change, this line of the list is another one
changed() {
	cp "ustlib/trail/$2" "$work/t/ustlib/trail/$2"
	sed -i "$1" "$work/t/ustlib/trail/$2"
	CC=gcc "$work/t/tools/abi.sh" "$lib" >"$work/other" || fail "tools/abi.sh after $1"
	diff "$work/now" "$work/other" | grep -q "^< $3" || fail "$1 is not found"
	cp "ustlib/trail/$2" "$work/t/ustlib/trail/$2"
}
changed 's/^struct trail__piece {/&\n\tlong one_more;/' trail.h 'struct trail__piece '
changed 's/^int trail_attach(void)/long trail_attach(void)/' trail.h 'function int trail_attach'
changed 's/^#define TRAIL_EVENTS_MAX 128/#define TRAIL_EVENTS_MAX 64/' event.h 'constant TRAIL_EVENTS_MAX'
changed 's/TRAIL_VALUE_NONE,/& TRAIL_VALUE_NEW,/' trail.h 'enumerator trail_value_type'
echo "$(wc -l <"$work/now") lines, 4 changes found"
