#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# With TRAIL_DISABLE tracepoints vanish: there is no warning, no argument is evaluated, the object
# has nothing of libtrail and links without it; arguments that TRAIL() refuses are still refused.
cd "$(dirname "$0")/../../.." || exit 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/disable.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/trail"
cp ustlib/trail/*.h "$dir/trail"
checks=0

fail() {
	echo "FAILED: $*"
	exit 1
}

cat >"$dir/t.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <trail/trail.h>

enum colour { RED, GREEN };
static int calls;
static int length(void)
{
	return ++calls;
}
static void context(void *arg, struct trail_value *value)
{
	(void)arg;
	value->type = TRAIL_VALUE_NONE;
}

int main(int argc, char **argv)
{
	const int only_here = argc;
	const char *name = argv[0];
	enum colour colour = GREEN;
	int numbers[3] = { 1, 2, 3 };
	unsigned long flags = 5;

	TRAIL(demo, none);
	TRAIL(demo, plain, only_here, name, numbers);
	TRAIL(demo, call, length());
	if (argc > 5)
		TRAIL_LEVEL(ERR, demo, all, TRAIL_FIELD(n, length() + 1), TRAIL_HEX(flags, flags),
			    TRAIL_NET(net, only_here), TRAIL_BITS(bits, flags, 3),
			    TRAIL_TEXT(text, name, strlen(name)), TRAIL_BYTES(bytes, name, 2),
			    TRAIL_SEQUENCE(seq, numbers, 3), TRAIL_ARRAY(array, numbers, 3),
			    TRAIL_ENUM(colour, colour, RED, GREEN));
	else
		TRAIL(demo, other, TRAIL_VARIANT(v, colour, TRAIL_OPTION(RED, only_here),
						 TRAIL_OPTION(GREEN, name)));
	if (trail_context_register("demo:c", context, NULL) || trail_attach() || trail_seal() ||
	    trail_context_unregister("demo:c"))
		return 1;
	printf("%d\n", calls);
	return 0;
}
C
cp "$dir/t.c" "$dir/t.cc"
cat >>"$dir/t.cc" <<'C'
#include <string>
#include <vector>
struct point { int x, y; };
TRAIL_MEMBERS(point, x, y);
enum class side { LEFT, RIGHT };
TRAIL_LABELS(side, side::LEFT, side::RIGHT);
template <typename T> inline void hit(const T &value)
{
	TRAIL(demo, templated, value);
}
void more(const std::string &s, const std::vector<int> &v, point p, side w);
void more(const std::string &s, const std::vector<int> &v, point p, side w)
{
	TRAIL(demo, more, s, v, p, w);
	hit(s);
	hit(1.5);
}
C

# try LANGUAGE COMPILER [OPTION…]
try() {
	source=$dir/t.$1
	shift
	"$@" -I "$dir" -DTRAIL_DISABLE -Wall -Wextra -Werror -c -o "$dir/t.o" "$source" \
		>"$dir/out" 2>&1 || fail "$*: $(head -n 5 "$dir/out")"
	case $* in
	*-O0*) ;;
	*)
		nm "$dir/t.o" | grep -i 'trail__' && fail "$*: the object has symbols of libtrail"
		;;
	esac
	objdump -h "$dir/t.o" | grep ' trail_' && fail "$*: the object has sections of libtrail"
	"$@" -o "$dir/t" "$dir/t.o" >"$dir/out" 2>&1 || fail "$*: $(head -n 5 "$dir/out")"
	[ "$("$dir/t")" = 0 ] || fail "$*: arguments were evaluated"
	checks=$((checks + 1))
}

for o in -O0 -O2; do
	for std in c11 gnu17; do
		try c "${CC:-gcc}" $o -std=$std
	done
	if command -v "${CXX:-g++}" >/dev/null; then
		try cc "${CXX:-g++}" $o -std=c++17
	fi
done

# refused SOURCE
refused() {
	printf '#include <trail/trail.h>\nvoid f(int i);\nvoid f(int i) { (void)i; %s; }\n' "$1" \
		>"$dir/bad.c"
	"${CC:-gcc}" -I "$dir" -DTRAIL_DISABLE -c -o "$dir/bad.o" "$dir/bad.c" 2>"$dir/out" &&
		fail "'$1' compiles"
	grep -q 'TRAIL: ' "$dir/out" || fail "'$1': $(head -n 3 "$dir/out")"
	checks=$((checks + 1))
}
refused 'TRAIL(demo, sum, i + 1)'
refused 'TRAIL("demo", name, i)'
echo "$checks checks"
