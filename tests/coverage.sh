#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/coverage.sh [ROOM…]: a line for each room below tracer/ (or those named): how many of its
# public functions, those that other files can call, ran in the tests, of how many; then the names
# of the others. BUILD is a build directory of make COVERAGE=1 in which tests have run.
cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-build-coverage}
LC_ALL=C
export LC_ALL
rooms=$*
[ -n "$rooms" ] || rooms=$(find tracer -name '*.c' | sed 's,^tracer/,,; s,/[^/]*$,,' | sort -u)

for room in $rooms; do
	objects=$(for f in tracer/"$room"/*.c; do echo "$BUILD/${f%.c}.o"; done | xargs ls 2>/dev/null)
	[ -n "$objects" ] || continue
	{
		nm -g $objects | awk '$2 == "T" { print "P", $3 }'
		# (An object without counts, .gcda, ran in no test.)
		for object in $objects; do
			[ ! -e "${object%.o}.gcda" ] || ${GCOV:-gcov} -n -f -o "$object" "$object" 2>/dev/null
		done
	} | awk -v room="$room" '
		$1 == "P" { public[$2] = 1; count++; next }
		/^Function / { name = substr($2, 2, length($2) - 2); next }
		# (The compiler put it into its callers, or made one body of two.)
		/^No executable lines/ && (name in public) { delete public[name]; count--; name = "" }
		/^Lines executed:/ && name != "" {
			split($2, part, ":")
			if (part[2] + 0 > 0 && (name in public) && !(name in ran)) { ran[name] = 1; reached++ }
			name = ""
		}
		END {
			printf "%-20s %3d of %3d\n", room, reached, count
			for (name in public) if (!(name in ran)) print "\t" name | "sort"
		}'
done
