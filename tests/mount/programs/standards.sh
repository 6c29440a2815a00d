#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# <trail/trail.h> with each standard of C and C++ that the compilers have: programs in all of C, C89
# included, record; C++ before 17 gets one sentence as its only error. A program that is linked
# without -ltrail gets a link error that says so.
. "$(dirname "$0")/../../lib/mount.sh"
command -v "${CC:-gcc}" >/dev/null || skip "there is no compiler"
compilers=
for c in gcc clang; do ! command -v $c >/dev/null || compilers="$compilers $c"; done
mount_tree

cat >"$work/t.c" <<'END'
#include <trail/trail.h>
enum colour { RED, GREEN };
int main(void)
{
	unsigned char raw[2] = { 1, 2 };
	const char *text = "text";
	enum colour colour = GREEN;
	int i;

	for (i = 0; i < 2; i++)
		TRAIL(standard, tick, i, text, TRAIL_FIELD(half, i / 2.0),
		      TRAIL_ENUM(colour, colour, RED, GREEN), TRAIL_BYTES(raw, raw, sizeof(raw)));
	if (i)
		TRAIL_LEVEL(ERR, standard, end);
	else
		TRAIL(standard, never);
	return 0;
}
END
cat >"$work/t.cc" <<'END'
#include <trail/trail.h>
enum colour { RED, GREEN };
TRAIL_LABELS(colour, RED, GREEN);
int main()
{
	int i = 1;

	TRAIL(standard, tick, i, TRAIL_FIELD(half, i / 2.0));
	return 0;
}
END

mkdir "$S/s" && put 'standard:*' "$S/s/user/events" && put start "$S/s/control" || fail "session"
n=0
for c in $compilers; do
	for standard in c89 gnu89 c99 c11 gnu11 c17; do
		# (clang's -Wpedantic warns about macros of system headers, too.)
		$c -std=$standard -Wall -Wextra -Wshadow -Werror -I"$top/ustlib" "$work/t.c" \
			-o "$work/t" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD" 2>"$work/err" ||
			fail "$c -std=$standard: $(head -n 5 "$work/err")"
		"$work/t" || fail "$c -std=$standard: exit status $?"
		n=$((n + 1))
	done
done
row='standard:tick: .* i = 1, text = "text", half = 0.5, colour = ( "GREEN" : container = 1 ),'
is "events of all standards" $n "$(grep -c "$row" "$S/s/text")"
is "ends" $n "$(grep -c standard:end: "$S/s/text")"

for c in $compilers; do
	case $c in gcc) c=g++ ;; *) c=$c++ ;; esac
	command -v $c >/dev/null || continue
	for standard in c++98 gnu++98; do
		$c -std=$standard -I"$top/ustlib" -c "$work/t.cc" -o "$work/t.o" 2>"$work/err" &&
			fail "$c -std=$standard compiles TRAIL()"
		is "errors of $c -std=$standard" 1 "$(grep -c 'error:' "$work/err")"
		has "$(cat "$work/err")" 'error:.*needs C++17: compile with -std=c++17'
	done
	for standard in c++11 gnu++14; do
		$c -std=$standard -I"$top/ustlib" -c "$work/t.cc" -o "$work/t.o" 2>"$work/err" &&
			fail "$c -std=$standard compiles TRAIL()"
		is "errors of $c -std=$standard, of two macros" 2 "$(grep -c 'error:' "$work/err")"
		is "… that say it" 2 \
			"$(grep -c 'error:.*TRAIL() needs C++17: compile with -std=c++17' "$work/err")"
	done
	$c -std=c++17 -I"$top/ustlib" -c "$work/t.cc" -o "$work/t.o" 2>"$work/err" ||
		fail "$c -std=c++17: $(head -n 5 "$work/err")"
	# The header alone, for LTTng-UST's macros
	echo '#include <trail/trail.h>' >"$work/header.cc"
	$c -std=c++11 -I"$top/ustlib" -c "$work/header.cc" -o "$work/t.o" 2>"$work/err" ||
		fail "$c -std=c++11, the header: $(head -n 5 "$work/err")"
done

for c in $compilers; do
	$c -I"$top/ustlib" "$work/t.c" -o "$work/t" 2>"$work/err" && fail "links without libtrail"
	has "$(grep 'undefined reference' "$work/err" | head -n 1)" 'link_with_ltrail'
done
echo "$checks checks"
