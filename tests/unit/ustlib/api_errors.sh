#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# What the compiler says of arguments of TRAIL() that it cannot take: an expression without a name,
# a type that cannot be recorded: the sentence has the field. And what it must take without a
# warning.
cd "$(dirname "$0")/../../.." || exit 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/api_errors.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
bad=0
tried=0

complain() {
	echo "FAILED: $1"
	grep -E 'error|warning' "$dir/out" | cut -c1-300 | head -n 5
	bad=$((bad + 1))
}

# source LANGUAGE ARGUMENTS…: a call for each
source() {
	printf '#include <trail/trail.h>\n#include <errno.h>\n'
	[ "$1" = c ] && printf '#include <stdbool.h>\n' ||
		printf '#include <array>\n#include <memory>\n#include <string>\n#include <vector>\n'
	cat <<'END'
struct s { int a; struct s *n; int b[3]; int bits : 3; };
enum colour { RED, GREEN };
int f(int);
void g(struct s *p, struct s v, int i, int j, int n, int arr[4]);
void g(struct s *p, struct s v, int i, int j, int n, int arr[4])
{
	int m[2][3] = { { 0 } }, vla[n];
	struct s ss[2] = { v, v };
	long double ld = 1;
	const char *str = "x";
	bool yes = 1;
	float fl = 1;
	double dd[2] = { 0 };
	const int ci = 1;
	volatile int vi = 1;

	vla[0] = 0;
	(void)p, (void)i, (void)j, (void)arr, (void)m, (void)vla, (void)ss, (void)ld, (void)str, (void)yes, (void)fl, (void)dd, (void)ci, (void)vi;
END
	shift
	for arguments; do printf '\tTRAIL(a, b, %s);\n' "$arguments"; done
	echo '}'
}

# compile LANGUAGE: with each compiler; prints their names if they take it
compile() {
	for compiler in gcc clang; do
		case $1 in
		c) command=$compiler flags="-std=gnu11 -x c" ;;
		*) command=$(echo $compiler | sed 's/gcc/g++/; s/clang/clang++/') \
			flags="-std=c++17 -x c++" ;;
		esac
		command -v $command >/dev/null || continue
		tried=$((tried + 1))
		limit=-fmax-errors=0
		[ $compiler = gcc ] || limit=-ferror-limit=0
		$command $flags -Wall -Wextra -Wshadow -pedantic -Wno-vla -Wno-vla-extension \
			-Wno-unknown-warning-option -Werror -Iustlib \
			$limit -fsyntax-only "$dir/source" >"$dir/out" 2>&1
		code=$?
		"$2" $command $code
	done
}
must_pass() { [ "$2" = 0 ] || complain "$1 does not take what it must take"; }
must_fail() {
	while read -r sentence; do
		# (gcc 12 puts a backslash before quotes)
		tr -d '\\' <"$dir/out" | grep -qF -- "$sentence" ||
			complain "$1 does not say '$sentence'"
	done <"$dir/sentences"
}

# fails ARGUMENTS SENTENCE: for check_fails
fails() {
	printf '%s\n' "$1" >>"$dir/arguments"
	printf '%s\n' "$2" >>"$dir/sentences"
}
# nameless EXPRESSION…
nameless() {
	for e; do fails "$e" \
		"the field ${e#i, } has no name: write TRAIL_FIELD(name, ${e#i, })"; done
}
# check_fails LANGUAGE: all of them in one source
check_fails() {
	source "$1" >"$dir/source"
	sed -i '$d' "$dir/source"
	sed 's/.*/\tTRAIL(a, b, &);/; $s/$/\n}/' "$dir/arguments" >>"$dir/source"
	compile "$1" must_fail
	rm "$dir/arguments" "$dir/sentences"
}

no="is of a type that cannot be recorded"
common() {
	nameless 'i + 1' 'i % 3' 'i, i - j' 5 -i '(i + 1)' 'i++' 'p->a * 2' '!i' 'i ? i : j' \
		'i == j' 'p && p->a'
	fails '"abc"' '"abc" has no name'
	fails v "the field v $no"
	fails ld "the field ld $no"
	fails 'i, TRAIL_FIELD(what, v)' "the field what $no"
	fails ss "the field ss $no"
	fails m "the field m $no"
	fails 'TRAIL_SEQUENCE(x, ss, 2)' "the field x $no"
	fails 'TRAIL_ENUM(y, fl, RED)' "the field y is neither an integer nor an enumeration"
	fails 'TRAIL_ENUM(z, p, RED)' "the field z is neither an integer nor an enumeration"
}
common
nameless '++i'
fails vla "the field vla $no: an array of variable length"
check_fails c
common
nameless 'static_cast<long>(i)'
fails 'TRAIL_FIELD(words, std::vector<std::string>())' "the field words $no"
fails 'TRAIL_FIELD(owner, std::make_unique<int>(1))' "the field owner $no"
check_fails c++

# --- provider and event
names() {
	source "$1" >"$dir/source"
	sed -i '$d' "$dir/source"
	cat >>"$dir/source" <<'END'
	TRAIL("hello", tick, i);
	TRAIL(hello, "tick", i);
	TRAIL_LEVEL(ERR, "hello", "tick");
	TRAIL(a::b, tick, i);
	TRAIL(a, b::c);
	TRAIL(a.b, tick);
	TRAIL(a, a.b, i);
	TRAIL(a-b, tick);
	TRAIL(f(i), tick);
	TRAIL(a, f(i), i);
	TRAIL(a, b c, i);
}
END
	for sentence in '"hello": provider' '"tick", i: provider' '"tick": provider' \
		'a::b: provider' 'b::c: provider' 'a.b: provider' 'a.b, i: provider' \
		'a-b: provider' 'f(i): provider' 'f(i), i: provider' 'b c, i: provider'; do
		echo "TRAIL: $sentence and event are one identifier each, without quotes"
	done >"$dir/sentences"
	compile "$1" must_fail
	source "$1" >"$dir/source"
	sed -i '$d' "$dir/source"
	# Words of the language and macros are names, too.
	cat >>"$dir/source" <<'END'
	TRAIL(linux, default, TRAIL_FIELD(x, "a:b.c-d"));
	TRAIL(register, NULL);
	TRAIL(errno, errno, i);
	TRAIL(Ab_9, a2_b9Z0, p->a);
}
END
	compile "$1" must_pass
}
names c
names c++

both="i:p->a, p->n->a, v.a, v.b:arr, arr[i + 1], v.b[0]:errno:f(i), *p->b:&v, p, str, yes, fl, dd, ci, vi:(int)fl, +v.bits, +i"
both="$both:(void *)p, (void *)(p->n), (long)f(i):TRAIL_ENUM(colour, (enum colour)i, RED, GREEN), TRAIL_ENUM(n, n, RED)"
both="$both:TRAIL_FIELD(n, i + 1), TRAIL_FIELD(literal, \"x\"), TRAIL_FIELD(dd, dd), m[0], &f:TRAIL_SEQUENCE(x, dd, 2), TRAIL_ARRAY(y, dd, 2), TRAIL_SEQUENCE(z, vla, n)"
IFS=:
set -- $both
unset IFS
source c "$@" >"$dir/source"
compile c must_pass
source c++ "$@" 'v.bits, TRAIL_FIELD(s, std::string("x") + "y"), TRAIL_FIELD(v, std::vector<double>{1.5}), TRAIL_FIELD(a, (std::array<short, 2>{}))' \
	>"$dir/source"
compile c++ must_pass

[ $tried -gt 0 ] || { echo "there is no gcc and no clang"; exit 77; }
echo "$tried compilations"
[ $bad = 0 ]
