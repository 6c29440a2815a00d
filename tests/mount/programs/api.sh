#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# <trail/trail.h>: every kind of field, in C11 and C++17, gcc and clang, in executables, libraries
# and plug-ins, static and shared: names, types and values as the text shows them, and babeltrace2
# agrees.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
mount_tree
src=$here/api
flags="-Wall -Wextra -Wshadow -pedantic -Werror -I$top/ustlib -L$BUILD"
link="-ltrail -Wl,-rpath,$BUILD"

# What must come out, without time and CPU
cat >"$work/want" <<'END'
api:integers { yes = 1, c = 65, sc = -128, uc = 255, s = -32768, us = 65535, i = -2147483648, u = 4294967295, l = -9223372036854775808, ul = 18446744073709551615, ll = -1, ull = 1, colour = 7 }
api:numbers { f = 1.5, d = -0.1, p = 0xABCDEF, ip = 0x10, ms = 2.5, flags = 0xFF, port = 80, addr = 0x7F000001 }
api:strings { array = "in an array", none = "(null)", writable = "in an array", id = 42, path = "/index.html", port = 8080, quoted = "a \"b\"\n" }
api:arrays { _mac_length = 6, mac = [ [0] = 0x0, [1] = 0x1, [2] = 0x2, [3] = 0xFD, [4] = 0xFE, [5] = 0xFF ], _word_length = 7, word = "counted", _v_length = 3, v = [ [0] = -1, [1] = 0, [2] = 1 ], big = [ [0] = 1, [1] = 18446744073709551615 ], fixed = "abc", _empty_length = 0, empty = [ ] }
api:sixteen { f1 = 1, f2 = 1, f3 = 1, f4 = 1, f5 = 1, f6 = 1, f7 = 1, f8 = 1, f9 = 1, f10 = 1, f11 = 1, f12 = 1, f13 = 1, f14 = 1, f15 = 1, f16 = 1 }
api:none { }
api:level_emerg { }
api:level_debug { }
api:failed { errno = 2 }
wrapped:event { a = 1, twice = 2 }
api:in_if { a = 1 }
END
printf 'api:large { n = 5, buffer = "%s", after = 6 }\n' "$(printf '%2999s' | tr ' ' x)" \
	>>"$work/want"
cat >>"$work/want" <<'END'
api:inlined { v = 11 }
api:once { v = 9 }
END
cp "$work/want" "$work/want.alone"
cp "$work/want" "$work/want.cxx"
cat >>"$work/want" <<'END'
api:library { v = 1 }
api:plugin { v = 0 }
api:plugin { v = 1 }
END
cat >>"$work/want.cxx" <<'END'
api:cxx_inline { v = 1 }
api:cxx_template { v = 2 }
api:cxx_template { v = 2.5 }
api:cxx_constructor { member = 4 }
api:cxx_method { member = 4 }
api:cxx_lambda { s = "std", st = 3 }
END

# run NAME WANT COMMAND…: runs it traced and compares
run() {
	name=$1 want=$2
	shift 2
	mkdir "$S/$name" || fail "mkdir $name"
	printf '%s\n' 'api:*' 'wrapped:*' >"$S/$name/user/events" || fail "rules"
	echo start >"$S/$name/control" || fail "start"
	"$@" || fail "$name: exit status $?"
	echo stop >"$S/$name/control" || fail "stop"
	cat "$S/$name/text" >"$work/text"
	TZ=UTC babeltrace2 "$S/$name/trace" >"$work/bt2" 2>"$work/bt2.err" ||
		fail "$name: babeltrace2: $(cat "$work/bt2.err")"
	cmp "$work/text" "$work/bt2" || fail "$name: text and babeltrace2 differ"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" \
		>"$work/have"
	diff "$work/have" "$want" >"$work/diff" ||
		fail "$name: $(cut -c1-300 "$work/diff" | head -n 20)"
	rmdir "$S/$name" || fail "rmdir"
	checks=$((checks + 1))
	echo "$name"
}

# Each compiler with one standard of C and one of C++. SOAK: with both.
wanted() {
	[ -z "${SOAK-}" ] || return 0
	case $1-$2 in gcc-c11 | gcc-c++17 | clang-gnu17 | clang-gnu++20) ;; *) false ;; esac
}
compilers=
for cc in gcc clang; do command -v $cc >/dev/null && compilers="$compilers $cc"; done
for cc in $compilers; do
	cxx=g++
	[ $cc = gcc ] || cxx=clang++
	dir=$work/$cc
	mkdir "$dir"
	for std in c11 gnu17; do
		wanted $cc $std || continue
		$cc -std=$std -O2 $flags -fPIC -shared -o "$dir/liblibrary.so" "$src/library.c" \
			$link || fail "$cc $std: library"
		$cc -std=$std -O2 $flags -fPIC -shared -DPLUGIN -o "$dir/plugin.so" \
			"$src/library.c" $link || fail "$cc $std: plug-in"
		$cc -std=$std -O2 $flags -o "$dir/main" "$src/main.c" "$dir/liblibrary.so" \
			-Wl,-rpath,"$dir" $link -ldl ||
			fail "$cc $std: program"
		run $cc-$std "$work/want" "$dir/main" "$dir/plugin.so"
	done
	# The library as an archive: in the program, in a plug-in, and in a program without any
	# shared library.
	$cc -O0 -g $flags -DALONE -o "$dir/archive" "$src/main.c" "$BUILD/libtrail.a" ||
		fail "$cc: archive"
	run $cc-archive "$work/want.alone" "$dir/archive"
	$cc -O2 $flags -fPIC -shared -DPLUGIN -o "$dir/plugin.so" "$src/library.c" \
		"$BUILD/libtrail.a" || fail "$cc: plug-in, archive"
	run $cc-plugin-archive "$work/want" "$dir/main" "$dir/plugin.so"
	$cc -O2 -static $flags -DALONE -o "$dir/static" "$src/main.c" "$BUILD/libtrail.a" \
		2>"$work/static.err" || {
		grep -v "statically linked applications" "$work/static.err"; fail "$cc: static"; }
	run $cc-static "$work/want.alone" "$dir/static"
	command -v $cxx >/dev/null || continue
	for std in c++17 gnu++20; do
		wanted $cc $std || continue
		for opt in "-O0" "-O2 -fPIE" "-O2 -flto"; do
			case $cxx$opt in clang*flto) continue ;; esac
			$cxx -std=$std $opt $flags -o "$dir/cxx" "$src/main.cc" $link ||
				fail "$cxx $std $opt"
			run $cc-cxx "$work/want.cxx" "$dir/cxx"
		done
	done
done
echo "$checks programs"
