#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# TRAIL_SCOPE and TRAIL_LOCATION in C++17 and C++20: what is recorded, in which order, and the pairs
# that follow; and that a program without trace points (TRAIL_DISABLE) needs no library.
. "$(dirname "$0")/../../lib/mount.sh"
CXX=${CXX:-g++}
command -v "$CXX" >/dev/null || skip "there is no $CXX"
mount_tree
mkdir "$S/s" && printf '%s\n' 'scope:*' 'my_app:*' >"$S/s/user/events" || fail "session"
tried=
for standard in 17 20; do
	flags="-std=c++$standard -Wall -Wextra -Wshadow -Wconversion -Werror -O2 -I$top/ustlib"
	# shellcheck disable=SC2086
	$CXX $flags -o "$work/main" "$here/scope/main.cc" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" \
		2>"$work/err" || fail "C++$standard: $(head "$work/err")"
	# shellcheck disable=SC2086
	$CXX $flags -DTRAIL_DISABLE -o "$work/none" "$here/scope/main.cc" 2>"$work/err" ||
		fail "C++$standard with TRAIL_DISABLE: $(head "$work/err")"
	"$work/none" || fail "without trace points"
	# shellcheck disable=SC2086
	$CXX $flags -o "$work/example" "$top/docs/examples/scope.cc" -L"$BUILD" -ltrail \
		-Wl,-rpath,"$BUILD" 2>"$work/err" || fail "C++$standard: $(head "$work/err")"
	put start "$S/s/control"
	"$work/main" && "$work/example" || fail "exit status $?"
	put stop "$S/s/control"
	cat >"$work/want" <<'END'
scope:load_begin { path = "/a", n = 2, errno = 7 }
scope:inner_begin { function = "main" }
scope:twice_begin { v = 3 }
scope:twice_end { }
scope:twice_begin { v = 1.5 }
scope:twice_end { }
scope:inner_end { }
scope:load_end { }
scope:caught { at = { file = "main.cc", line = 39, function = "main" } }
scope:alone_begin { i = 0 }
scope:alone_end { }
scope:alone_begin { i = 1 }
scope:alone_end { }
my_app:load_begin { path = "/index.html" }
my_app:load_end { }
my_app:loaded { size = 11 }
END
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$S/s/text" \
		>"$work/text"
	grep -v scope:failed "$work/text" | diff - "$work/want" >"$work/diff" ||
		fail "C++$standard: $(cat "$work/diff")"
	if grep -q scope:failed "$work/text"; then
		has "$(grep scope:failed "$work/text")" \
			'^scope:failed { code = 7, where = { file = ".*/scope/main.cc", line = 44, function = "int main'
		tried="$tried with std::source_location"
	fi
	is "pairs of twice" 2 "$(awk '$1 == "pair" && $NF == "scope:twice" { print $4 }' "$S/s/stats")"
	put clear "$S/s/control"
	tried="$tried C++$standard"
done
echo "$checks checks:$tried"
