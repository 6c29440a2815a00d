#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/abi.sh LIBTRAIL: prints what libtrail offers to programs, a line for each thing that a
# compiled program relies on: dynamic symbols; prototypes, constants, structures with the size and the
# offset of each member, and enumerators of <trail/*.h>. CC is the compiler (gcc or clang).
lib=$1
cd "$(dirname "$0")/.." || exit 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/abi.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL
for h in trail event log site object; do
	echo "#include <trail/$h.h>"
done >"$dir/all.c"
cc="${CC:-gcc} -std=gnu11 -m64 -O0 -I ustlib"
$cc -g -fno-eliminate-unused-debug-types -c -o "$dir/all.o" "$dir/all.c" || exit 2
readelf --debug-dump=info "$dir/all.o" >"$dir/types" 2>/dev/null || exit 2
$cc -E -dM "$dir/all.c" >"$dir/macros" || exit 2
# (Only gcc prints prototypes.)
gcc -std=gnu11 -m64 -I ustlib -aux-info "$dir/functions" -S -o /dev/null "$dir/all.c" || exit 2

echo "# Made by tools/abi.sh: what programs rely on that were compiled for this libtrail.so.N."
nm -D --defined-only "$lib" | awk '{ print "symbol", $2, $3 }' | sort -u
sed -n 's,^/\* ustlib/trail/[^ ]*:NC \*/ extern \(.*\);.*,function \1,p' "$dir/functions" | sort -u
sed -n 's/^#define \(TRAIL_[A-Za-z0-9_]*\) *\([0-9][0-9a-fA-FxuUlL]*\|"libtrail.*"\)$/constant \1 \2/p' \
	"$dir/macros" | sort -u
# A DIE of readelf: ` <DEPTH><OFFSET>: Abbrev Number: N (DW_TAG_x)`, then ` <> DW_AT_x : VALUE`.
# (Compilers have different places for a union without a name: its members are left out.)
awk '
function value() { v = $0; sub(/^[^:]*: /, "", v); sub(/^\(.*\): /, "", v); sub(/[ \t]+$/, "", v); return v }
function flush(    d) {
	d = depth
	if (tag ~ /_(structure|union|enumeration)_type$/) {
		owner[d] = name
		if (name ~ /^trail_/ && size != "")
			print (tag ~ /enum/ ? "enum" : tag ~ /union/ ? "union" : "struct"), name, size
	} else if (tag ~ /_member$/ && owner[d - 1] ~ /^trail_/) {
		print "member", owner[d - 1] "." (name != "" ? name : "?"), at == "" ? 0 : at
	} else if (tag ~ /_enumerator$/ && owner[d - 1] ~ /^trail_/) {
		print "enumerator", owner[d - 1] "." name, const
	}
	tag = name = size = at = const = ""
}
/^ <[0-9a-f]+><[0-9a-f]+>: Abbrev Number/ {
	flush()
	match($0, /<[0-9a-f]+>/)
	depth = substr($0, RSTART + 1, RLENGTH - 2) + 0
	tag = $0; sub(/.*\(/, "", tag); sub(/\).*/, "", tag)
}
/DW_AT_name / { name = value() }
/DW_AT_byte_size / { size = value() }
/DW_AT_data_member_location/ { at = value() }
/DW_AT_const_value/ { const = value() }
END { flush() }' "$dir/types" | sort -u
