#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# docs/examples/: the C program is built by its command line and by the CMake project, with what
# make install installs, and records; systemd finds no mistake in the service.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
command -v "${CC:-gcc}" >/dev/null || skip "there is no compiler"
examples=$top/docs/examples
p=$work/prefix
mkdir -p "$p/lib/pkgconfig" "$work/project"
ln -s "$top/ustlib" "$p/include"
cp -P "$BUILD/libtrail.so.0" "$BUILD/libtrail.so" "$p/lib"
# (As make install does it for a prefix of one's own.)
sed "s,@PREFIX@,$p,; s,@LIBDIR@,$p/lib,; s,@INCLUDEDIR@,$p/include,; s,@VERSION@,0," \
	"$top/ustlib/trail.pc.in" >"$p/lib/pkgconfig/trail.pc"
LD_LIBRARY_PATH=$p/lib
export LD_LIBRARY_PATH
mount_tree

# record NAME PROGRAM: in a session, which must have its five events
record() {
	mkdir "$S/$1" && put 'hello:*' "$S/$1/user/events" && put start "$S/$1/control" ||
		fail "session $1"
	is "$1 prints" "done" "$("$2" 3)"
	is "events of $1" 5 "$(wc -l <"$S/$1/text")"
	has "$(cat "$S/$1/text")" 'hello:begin: .* name = ".*hello", count = 3 }$'
	has "$(cat "$S/$1/text")" 'hello:step: .* i = 2, sum = 8.178[0-9]*, bits = 0x21 }$'
}

cp "$examples/hello.c" "$examples/CMakeLists.txt" "$work/project"
${CC:-gcc} -Wall -Wextra -Werror -I"$p/include" "$work/project/hello.c" -o "$work/hello" \
	-L"$p/lib" -ltrail 2>"$work/err" || fail "hello.c: $(cat "$work/err")"
record c "$work/hello"

if command -v cmake >/dev/null && command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH="$p/lib/pkgconfig"
	{ cmake -DCMAKE_C_COMPILER="${CC:-gcc}" -S "$work/project" -B "$work/project/build" &&
		cmake --build "$work/project/build"; } >"$work/err" 2>&1 ||
		fail "the CMake project: $(cat "$work/err")"
	record cmake "$work/project/build/hello"
else
	echo "# the CMake project is left out: no cmake, or no pkg-config"
fi

if command -v systemd-analyze >/dev/null; then
	# It looks for the program of the service.
	mkdir "$work/units"
	sed "s,/usr/local/bin/hello,$work/hello," "$examples/hello.service" \
		>"$work/units/hello.service"
	SYSTEMD_UNIT_PATH=$work/units: systemd-analyze verify --man=no --recursive-errors=no \
		"$work/units/hello.service" >"$work/err" 2>&1 ||
		fail "hello.service: $(cat "$work/err")"
	is "what systemd says of hello.service" "" "$(grep hello.service "$work/err")"
else
	echo "# the service is left out: no systemd-analyze"
fi
echo "$checks checks"
