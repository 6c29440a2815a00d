#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# find_package(LTTngUST) of CMake finds the installed headers and library by the two settings that
# trail-lttng(3) names, whether or not the system has an LTTng-UST; the program runs. Each header of
# LTTng-UST that cannot mean anything here says what to use; the others compile alone.
top=$(cd "$(dirname "$0")/../../.." && pwd) || exit 2
BUILD=${BUILD:-$top/build}
command -v cmake >/dev/null || { echo "there is no cmake"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/lttng_cmake.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}

# What `make install` does with the headers and links, to a private place
cd "$top" || exit 2
make -n install BUILD="$BUILD" PREFIX="$dir/p" LIBDIR="$dir/p/lib" 2>/dev/null |
	grep -E '^(install|ln) .*(trail-lttng|/lib/trail/|/include/trail/|libtrail.so)' \
		>"$dir/commands"
grep -q 'lib/trail/include' "$dir/commands" || fail "no commands: $(cat "$dir/commands")"
mkdir -p "$dir/p/lib" "$dir/p/include/trail"
sh "$dir/commands" >"$dir/out" 2>&1 || true
[ -e "$dir/p/lib/trail/include/lttng/tracepoint.h" ] || fail "not installed: $(cat "$dir/out")"

# --- headers
cc=${CC:-gcc}
for h in "$dir"/p/include/trail-lttng/lttng/*.h "$dir"/p/include/trail-lttng/lttng/tp/*.h; do
	name=${h#"$dir"/p/include/trail-lttng/}
	case $name in lttng/trail-* | lttng/tracepoint-event.h) continue ;; esac
	echo "#include <$name>" >"$dir/one.c"
	if grep -q '^#error "trailfs:' "$h"; then
		$cc -I"$dir/p/include/trail-lttng" -fsyntax-only "$dir/one.c" 2>"$dir/out" &&
			fail "$name compiles"
		grep -q "error .*trailfs: <$name>" "$dir/out" || fail "$name: $(cat "$dir/out")"
	else
		$cc -Wall -Wextra -Werror -I"$dir/p/include/trail-lttng" -fsyntax-only \
			"$dir/one.c" 2>"$dir/out" || fail "$name: $(cat "$dir/out")"
	fi
done

# --- CMake
mkdir "$dir/s"
cat >"$dir/s/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.12)
project(p C)
find_package(LTTngUST REQUIRED)
message(STATUS "headers ${LTTNGUST_INCLUDE_DIRS} libraries ${LTTNGUST_LIBRARIES}")
add_executable(p p.c)
target_link_libraries(p LTTng::UST)
END
cat >"$dir/s/p.c" <<'END'
#include <lttng/tracef.h>
#include <lttng/ust-fork.h>
int main(void)
{
	lttng_ust_tracef("%d", 1);
	lttng_ust_after_setuid();
	return 0;
}
END
for setting in CMAKE_PREFIX_PATH LTTngUST_ROOT; do
	cmake -S "$dir/s" -B "$dir/$setting" "-D$setting=$dir/p/lib/trail" >"$dir/out" 2>&1 ||
		fail "$setting: $(tail -n 20 "$dir/out")"
	grep -q "headers $dir/p/lib/trail/include.* libraries $dir/p/lib/trail/liblttng-ust.so" \
		"$dir/out" || fail "$setting: $(grep headers "$dir/out")"
	cmake --build "$dir/$setting" >"$dir/out" 2>&1 || fail "$setting: $(cat "$dir/out")"
	"$dir/$setting/p" || fail "$setting: exit status $?"
done
echo "2 settings"
