#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 180
#
# Every header can be included alone; the application's headers compile without a warning in each
# language they are for, with gcc and clang as far as they are installed, also as they are when
# installed (nothing but include/trail).
cd "$(dirname "$0")/.." || exit 2
BUILD=${BUILD:-$PWD/build}
TMPDIR=${TMPDIR:-/tmp}
dir=$(mktemp -d "$TMPDIR/headers.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
bad=0
pkg=$(pkg-config --cflags fuse3 liburcu uuid 2>/dev/null)

complain() {
	echo "$1"
	sed 's/^/    /' "$dir/out" | head -n 20
	bad=$((bad + 1))
}

# syntax WHAT HEADER…: a source of these headers compiles.
syntax() {
	what=$1
	shift
	{
		printf '#define _GNU_SOURCE\n#define FUSE_USE_VERSION 314\n'
		printf '#include "%s"\n' "$@"
	} >"$dir/one.c"
	${CC:-gcc} -std=gnu11 -Wall -Wextra -I. -Iustlib $pkg -Werror -fsyntax-only "$dir/one.c" \
		>"$dir/out" 2>&1 ||
		complain "$what"
}
# What a source includes before all else compiled alone when that source was built.
find metadata tracer fs -name '*.c' -exec awk 'FNR == 1 { first = 1 }
	/^#include/ && first { first = 0; if (gsub(/"/, "", $2)) print $2 }' {} + |
	sort -u >"$dir/first"
headers=$(ls metadata/*.h $(find tracer -name "*.h") fs/*/*.h ustlib/*.h)
for h in $headers; do
	grep -qxF "$h" "$dir/first" || syntax "$h does not compile alone" "$h"
done
# Headers of one folder together, each twice
for folder in $(printf '%s\n' $headers | sed 's,/[^/]*$,,' | sort -u); do
	set -- "$folder"/*.h
	syntax "$folder/*.h do not compile twice" "$@" "$@"
done

[ -f ustlib/trail/trail.h ] || { [ $bad = 0 ] && echo "no trail/trail.h" && exit 77; }
mkdir -p "$dir/include"
cp -r ustlib/trail "$dir/include/"
cat >"$dir/use.c" <<'EOF'
#include <trail/trail.h>
#include <trail/trail.h>

enum colour { RED, GREEN };

int main(int argc, char **argv)
{
	const char *path = argv[0];
	unsigned char bytes[4] = { 1, 2, 3, 4 };
	double elapsed = 0.5;
	short small = -1;
	unsigned long long big = 1ull << 63;
	enum colour colour = GREEN;

	TRAIL(headers, none);
	TRAIL(headers, request, argc, path, TRAIL_FIELD(ms, elapsed / 1e3));
	TRAIL_LEVEL(WARNING, headers, slow, argc);
	TRAIL(headers, types, small, big, elapsed, colour, argv, TRAIL_HEX(hex, argc), TRAIL_NET(port, small));
	TRAIL(headers, arrays, TRAIL_TEXT(text, path, 1), TRAIL_BYTES(raw, bytes, 4), TRAIL_ARRAY(fixed, bytes, 4),
	      TRAIL_SEQUENCE(counted, bytes, (unsigned int)argc));
	return 0;
}
EOF
cp "$dir/use.c" "$dir/use.cc"
# (What another standard changes is seen before code is made.)
try() { # compiler source flags…
	compiler=$1 source=$2
	shift 2
	command -v "${compiler%% *}" >/dev/null || return 0
	# (clang 21 warns of a -c beside -fsyntax-only.)
	object="-c -o $dir/use.o"
	case " $* " in *' -fsyntax-only '*) object= ;; esac
	$compiler "$@" -Wall -Wextra -Wshadow -Werror -I"$dir/include" $object \
		"$dir/$source" >"$dir/out" 2>&1 ||
		complain "<trail/trail.h> does not compile: $compiler $*"
}
for compiler in gcc clang; do
	for std in c11 gnu17; do
		try $compiler use.c -std=$std -O2 -fsyntax-only
	done
	try $compiler use.c -std=gnu11 -O2
	try $compiler use.c -std=gnu11 -O0 -fPIC
done
for compiler in g++ clang++; do
	try $compiler use.cc -std=gnu++20 -O2 -fsyntax-only
	try $compiler use.cc -std=c++17 -O2
	try $compiler use.cc -std=c++17 -O0 -fPIC
done

# The parts that trail.h names can be included first.
for part in bits variant; do
	{ echo "#include <trail/$part.h>"; cat "$dir/use.c"; } >"$dir/part.c"
	cp "$dir/part.c" "$dir/part.cc"
	try "${CC:-gcc}" part.c -std=gnu11
	try "${CXX:-g++}" part.cc -std=c++17
done

# Qt has macros with these names; a member or parameter called so would not compile with it.
for h in trail/trail.h trail/site.h trail/object.h trail/log.h lttng/tracepoint.h lttng/tracef.h \
	lttng/tracelog.h; do
	printf '#define %s @ not with Qt @\n' slots signals emit foreach forever >"$dir/qt.c"
	printf '#include <%s>\n' "$h" >>"$dir/qt.c"
	sed '/^#include/d' "$dir/use.c" | { [ "$h" != trail/trail.h ] || cat; } >>"$dir/qt.c"
	cp "$dir/qt.c" "$dir/qt.cc"
	for f in qt.c qt.cc; do
		case $f in *.cc) command=${CXX:-g++} std=c++17 ;; *) command=${CC:-gcc} \
			std=gnu11 ;; esac
		command -v "${command%% *}" >/dev/null || continue
		$command -std=$std -I"$dir/include" -Iustlib/lttng -fsyntax-only "$dir/$f" \
			>"$dir/out" 2>&1 ||
			complain "<$h> does not compile beside Qt's macros: $command"
	done
done
[ $bad = 0 ]
