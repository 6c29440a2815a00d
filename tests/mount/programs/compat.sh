#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 500
#
# Programs with LTTng-UST trace points (trail-lttng(3)): every field macro, in version 0 and 1 of
# the interface, C and C++, gcc and clang; providers in the program, in an archive, in other objects
# that come and go; tracef and tracelog; trail-gen-tp. Where LTTng is installed, the same programs
# and its own examples are recorded by it too: text and event descriptions must be the same.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/lttng.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
mount_tree
src=$work/src
mkdir "$src"
cp "$here"/compat/* "$src/"
ours="-I$top/ustlib/lttng -I$top/ustlib"
flags="-g -Wall -Wextra -Wshadow -Werror -I$src"
link="-L$BUILD -ltrail -Wl,-rpath,$BUILD"
# The first program, and the first of each language, are optimized. SOAK: all are.
fast=-O0
[ -z "${SOAK-}" ] || fast=-O2
# What is loaded by name, without having been linked
LD_LIBRARY_PATH=$BUILD
export LD_LIBRARY_PATH

compilers=
for cc in gcc clang; do command -v $cc >/dev/null && compilers="$compilers $cc"; done

# Version 1 of the interface
mkdir "$src/one"
for f in fields.h provider.c hits.c log.c; do
	sed 's/\<ctf_/lttng_ust_field_/g; s/\<TRACEPOINT_/LTTNG_UST_TRACEPOINT_/g; s/\<TP_\([AFE]\)/LTTNG_UST_TP_\1/g
		s/EVENT_INSTANCE(compat, /EVENT_INSTANCE(compat, pair, compat, /; s/\(EVENT_INSTANCE.*, compat, \)pair, /\1/
		s/\<TRACE_\([A-Z]\)/LTTNG_UST_TRACEPOINT_LOGLEVEL_\1/g; s/\<\(do_\)\{0,1\}tracepoint\(_enabled\)\{0,1\}(/lttng_ust_&/g
		s/\<trace\(f\|log\)(/lttng_ust_&/g' "$src/$f" >"$src/one/$f"
done

# Event descriptions, one per line; what follows from the label before may be said or not.
descriptions() {
	awk '/^event \{/ { on = 1; t = "" } on && !/^\t(id|stream_id) =/ { t = t $0 } /^};/ { if (on && t !~ /"lttng_ust_(s|l)/) print t; on = 0 }' \
		"$1" | sed 's/"green" = 1,/"green",/g; s/"after" = 20,/"after",/g' | sort
}

# traced NAME COMMAND…: what it records is $work/have, and its descriptions $work/described
traced() {
	name=$1
	shift
	mkdir "$S/s" || fail "$name: mkdir"
	echo '* except lttng_ust_statedump:*,lttng_ust_lib:*' >"$S/s/user/events" && echo start >"$S/s/control" || fail "$name: start"
	"$@" || fail "$name: exit status $?"
	echo stop >"$S/s/control" || fail "$name: stop"
	cat "$S/s/text" >"$work/text"
	plain "$work/text" >"$work/have"
	metadata=$(find "$S/s/trace" -name metadata | head -n 1)
	: >"$work/meta"
	if [ -n "$metadata" ]; then
		TZ=UTC babeltrace2 "$S/s/trace" >"$work/bt2" 2>"$work/bt2.err" ||
			fail "$name: babeltrace2: $(cat "$work/bt2.err")"
		cmp "$work/text" "$work/bt2" ||
			fail "$name: text and babeltrace2 differ: $(diff "$work/text" "$work/bt2" |
			cut -c1-400 | head -n 6)"
		babeltrace2 -o ctf-metadata "${metadata%/*}" >"$work/meta" 2>/dev/null ||
			fail "$name: metadata"
	fi
	descriptions "$work/meta" >"$work/described"
	rmdir "$S/s" || fail "$name: rmdir"
	checks=$((checks + 1))
}

# like NAME WANTED COMMAND…
like() {
	want=$2 label=$1
	shift 2
	traced "$label" "$@"
	diff "$work/have" "$want" >"$work/diff" ||
		fail "$label: $(cut -c1-300 "$work/diff" | head -n 20)"
}

# ---- what comes out, spelled out where it says something ----

gcc -O2 $flags $ours -o "$work/first" "$src/hits.c" "$src/provider.c" $link ||
	fail "the first program"
traced first "$work/first"
cp "$work/have" "$work/want"
cp "$work/described" "$work/wanted"
while read -r line; do
	grep -qxF "$line" "$work/want" || fail "no '$line' in: $(cat "$work/want")"
done <"$src/some.text"
is "events" 37 "$(wc -l <"$work/want")"
is "descriptions" 28 "$(wc -l <"$work/wanted")"
has "$(cat "$work/wanted")" '"compat:third".*model.emf.uri = "http://example.com/model?third#one"'
has "$(cat "$work/wanted")" '"compat:second".*loglevel = 2;'
has "$(cat "$work/want")" 'compat:enumerations { colour = ( "warm ones" : container = 10 ), again = ( "warm ones" : container = 10 ), side = ( "middle" : container = 0 ) }'
within 5 test -z "$(ls "$TRAIL_RUNTIME_DIR/apps")"

# Off, nothing is evaluated: the program exits with a failure if it is.
"$work/first" || fail "the program without a session"

# ---- blobs ----

for cc in $compilers; do
	$cc $fast $flags $ours -o "$work/blob" "$src/blob.c" $link || fail "$cc: blobs"
	traced blobs "$work/blob"
	printf 'compat_blob:blob { begin = [ %s ], _all_length = %s, all = [ %s] }\n' \
		'[0] = 0x89, [1] = 0x50' 4 '[0] = 0x89, [1] = 0x50, [2] = 0x4E, [3] = 0x47 ' \
		'[0] = 0x0, [1] = 0xFF' 0 '' | diff - "$work/have" || fail "$cc: blobs"
	is "$cc: comments" '// static length BLOB field with `image/png` media type
// dynamic length BLOB field' "$(sed -n 's,^[[:blank:]]*//,//,p' "$work/meta")"
done

# ---- languages, compilers, linkage ----

# Each standard with one version and each compiler with one standard of C++. SOAK: all with all.
with() { # COMPILER STANDARD VERSION
	[ -z "${SOAK-}" ] || return 0
	case $1-$2-${3#"$src"} in gcc-gnu99- | gcc-c11-/one | clang-c11- | clang-gnu99-/one) ;; *) false ;; esac
}
for cc in $compilers; do
	for std in gnu99 c11 ${SOAK:+gnu17}; do
		for v in "$src" "$src/one"; do
			with $cc $std "$v" || continue
			[ "$v" = "$src" ] || one=-DLTTNG_UST_COMPAT_API_VERSION=1
			$cc -std=$std $fast ${one-} -I"$v" $flags $ours -o "$work/p" "$v/hits.c" \
				"$v/provider.c" $link ||
				fail "$cc $std $v"
			like "$cc $std $v" "$work/want" "$work/p"
			diff "$work/described" "$work/wanted" >/dev/null ||
				fail "$cc $std $v: descriptions differ"
			unset one
		done
	done
	$cc -O0 -fPIE -pie $flags $ours -DCOMPAT_DEFINE_HERE -o "$work/p" "$src/hits.c" \
		"$src/provider.c" $link || fail "$cc -O0"
	like "$cc defined beside the probes" "$work/want" "$work/p"

	case $cc in gcc) cxx=g++ standards=gnu++20 ;; *) cxx=clang++ standards=c++11 ;; esac
	if command -v $cxx >/dev/null; then
		[ -z "${SOAK-}" ] || standards="c++11 gnu++14 c++17 gnu++20"
		for std in $standards; do
			$cxx -x c++ -std=$std -O2 $flags $ours -o "$work/p" "$src/hits.c" \
				"$src/provider.c" $link || fail "$cxx $std"
			like "$cxx $std" "$work/want" "$work/p"
		done
		$cxx -x c++ $fast $flags $ours -c -o "$work/hits.o" "$src/hits.c" &&
			$cc $fast $flags $ours -c -o "$work/provider.o" "$src/provider.c" &&
			$cxx -o "$work/p" "$work/hits.o" "$work/provider.o" $link || fail "$cxx and $cc"
		like "$cxx with probes in C" "$work/want" "$work/p"
	fi

	# Linkage does not depend on the compiler.
	[ $cc = gcc ] || [ -n "${SOAK-}" ] || continue

	# An archive, which the linker takes the provider out of because the call sites ask for it
	$cc -O2 -ffunction-sections -fdata-sections $flags $ours -c -o "$work/provider.o" \
		"$src/provider.c" &&
		rm -f "$work/provider.a" && ar rcs "$work/provider.a" "$work/provider.o" ||
			fail "$cc: archive"
	$cc -O2 -Wl,--gc-sections $flags $ours -o "$work/p" "$src/hits.c" "$work/provider.a" \
		$link || fail "$cc: archive"
	like "$cc archive" "$work/want" "$work/p"
	$cc $fast -static $flags $ours -o "$work/p" "$src/hits.c" "$work/provider.a" \
		"$BUILD/libtrail.a" 2>"$work/static.err" || {
		grep -v "statically linked applications" "$work/static.err"; fail "$cc: static"; }
	like "$cc static" "$work/want" "$work/p"

	# The provider in another object: linked, preloaded, loaded later
	$cc $fast -fPIC -shared $flags $ours -o "$work/libprovider.so" "$src/provider.c" $link ||
		fail "$cc: shared object"
	$cc $fast $flags $ours -o "$work/p" "$src/hits.c" -L"$work" -lprovider -Wl,-rpath,"$work" \
		-ldl || fail "$cc: linked"
	like "$cc linked with the provider" "$work/want" "$work/p"
	$cc $fast $flags $ours -DCOMPAT_DYNAMIC -o "$work/p" "$src/hits.c" -ldl || fail "$cc: dynamic"
	like "$cc preloaded" "$work/want" env LD_PRELOAD="$work/libprovider.so" "$work/p"
	like "$cc loaded" "$work/want" "$work/p" "$work/libprovider.so"
	traced "$cc without provider" "$work/p"
	is "events without a provider" 0 "$(wc -l <"$work/have")"
done

# ---- objects that come and go ----

gcc -O0 $flags $ours -o "$work/objects" "$src/objects.c" -ldl -lpthread || fail "objects"
gcc -O0 -fPIC -shared $flags $ours -DCOMPAT_PLUGIN -o "$work/plugin.so" "$src/objects.c" -ldl ||
	fail "plug-in"
for p in a b; do
	gcc -O0 -fPIC -shared $flags $ours -DCOMPAT_FROM="\"$p\"" -o "$work/$p.so" \
		"$src/tick_provider.c" $link || fail "provider $p"
done
gcc -O0 -fPIC -shared $flags $ours -DCOMPAT_OTHER -o "$work/other.so" "$src/tick_provider.c" \
	$link || fail "provider other"
gcc -O0 -fPIC -shared $flags $ours -DCOMPAT_SLOW -o "$work/slow.so" "$src/tick_provider.c" $link ||
	fail "provider slow"
cd "$work" || exit 2

cat >"$work/objects.want" <<'END'
compat_tick:tick { from = "a", v = 2 }
compat_tick:tick { from = "a", v = 3 }
compat_tick:tick { from = "b", v = 3 }
compat_tick:tick { from = "b", v = 4 }
compat_tick:tick { from = "a", v = 6 }
compat_tick:tick { from = "a", v = 7 }
compat_tick:tick { from = "a", v = 1000 }
compat_tick:tick { from = "b", v = 1000 }
compat_tick:tick { from = "b", v = 9 }
END
like "providers of one name" "$work/objects.want" ./objects 1 +./a.so 2 +./b.so 3 -./a.so 4 \
	-./b.so 5 +./a.so 6 fork=7 \
	+./plugin.so call=./plugin.so -./plugin.so +./b.so -./a.so +./plugin.so call=./plugin.so 9
: >"$work/nothing"
like "other arguments" "$work/nothing" ./objects +./other.so 1 2
traced "a provider that goes while threads are in it" ./objects churn=./slow.so
[ "$(grep -c 'compat_tick:tick' "$work/have")" -gt 10 ] ||
	fail "churn: $(wc -l <"$work/have") events"
./objects churn=./a.so || fail "a provider that goes while its event is off: exit status $?"
cd / || exit 2

# ---- tracef, tracelog ----

for cc in $compilers; do
	$cc $fast $flags $ours -o "$work/log" "$src/log.c" $link || fail "$cc: log"
	traced "$cc log" "$work/log"
	sed 's,file = "[^"]*/,file = ",; s/yyyy*/Y/' "$work/have" >"$work/log.have"
	cat >"$work/log.want" <<'END'
lttng_ust_tracef:event { _msg_length = 5, msg = "plain" }
lttng_ust_tracef:event { _msg_length = 8, msg = "42 words" }
lttng_ust_tracef:event { _msg_length = 0, msg = "" }
lttng_ust_tracef:event { _msg_length = 2002, msg = "Y|7" }
lttng_ust_tracef:event { _msg_length = 12, msg = "a list: x -1" }
lttng_ust_tracelog:LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE { line = 19, file = "log.c", func = "list", _msg_length = 12, msg = "a list: x -1" }
lttng_ust_tracelog:TRACE_EMERG { line = 34, file = "log.c", func = "main", _msg_length = 8, msg = "number 0" }
lttng_ust_tracelog:TRACE_WARNING { line = 35, file = "log.c", func = "main", _msg_length = 2005, msg = "long Y" }
lttng_ust_tracelog:TRACE_DEBUG { line = 36, file = "log.c", func = "main", _msg_length = 4, msg = "last" }
lttng_ust_tracelog:TRACE_DEBUG_LINE { line = 38, file = "log.c", func = "main", _msg_length = 11, msg = "in a branch" }
lttng_ust_tracef:event { _msg_length = 25, msg = "No such file or directory" }
END
	diff "$work/log.have" "$work/log.want" >"$work/diff" ||
		fail "$cc log: $(cut -c1-300 "$work/diff")"
done
has "$(cat "$work/described")" '"lttng_ust_tracelog:TRACE_EMERG".*loglevel = 0;'
has "$(cat "$work/described")" '"lttng_ust_tracef:event".*loglevel = 14;'

# ---- the generator ----

mkdir "$work/gen"
cd "$work/gen" || exit 2
cat >"gen test.tp" <<'END'
# A comment, with TRACEPOINT_EVENT(wrong, name,
/* another(one, here, */ // and(one, more,
#include <stdint.h>
TRACEPOINT_EVENT(compat_gen,	/* the provider */
	made, TP_ARGS(int, v), TP_FIELDS(ctf_integer(int32_t, v, v)))
END
cp "gen test.tp" gentest.tp
gen=$top/tools/trail-gen-tp
CPPFLAGS=$ours "$gen" -v gentest.tp >"$work/gen.out" || fail "trail-gen-tp: $(cat "$work/gen.out")"
has "$(cat "$work/gen.out")" '^Compile command: .*gentest.o'
printf '#include "gentest.h"\nint main(void) { tracepoint(compat_gen, made, 5); return 0; }\n' \
	>main.c
gcc $flags $ours -I. -o main main.c gentest.o $link || fail "what trail-gen-tp made does not link"
echo 'compat_gen:made { v = 5 }' >want
like "trail-gen-tp" want ./main
"$gen" -o x.h "gen test.tp" --output=x.c && [ ! -e x.o ] && cmp -s x.c /dev/null &&
	fail "nothing in x.c"
grep -q '^#define LTTNG_UST_TRACEPOINT_PROVIDER compat_gen$' x.h || fail "provider: $(cat x.h)"
grep -q '^#include "x.h"$' x.c || fail "$(cat x.c)"
for bad in "" "-o x.txt gentest.tp" "missing.tp" "-o x.h gentest.tp gentest.tp" \
	"--wrong gentest.tp"; do
	"$gen" $bad >/dev/null 2>&1 && fail "trail-gen-tp $bad: no failure"
done
"$gen" --help | grep -q usage || fail "help"
cd / || exit 2

# ---- beside LTTng ----

why=$(lttng_missing)
[ -z "$why" ] || { echo "$checks checks; not compared with LTTng: $why"; exit 0; }

# The same programs twice, in $work/theirs and $work/ours; prog is what is run in either
mkdir "$work/theirs" "$work/ours"
for v in theirs ours; do
	[ $v = ours ] && with="$ours" libs="$link -ldl" || { with= libs="-llttng-ust -ldl"; }
	gcc -O0 $with -I"$src" -o "$work/$v/fields" "$src/hits.c" "$src/provider.c" $libs ||
		fail "$v: fields"
	gcc -O0 $with -I"$src" -o "$work/$v/log" "$src/one/log.c" $libs || fail "$v: log"
	! command -v g++ >/dev/null ||
		g++ -x c++ -O0 -Wno-narrowing $with -I"$src/one" -o "$work/$v/cxx" \
		"$src/one/hits.c" "$src/one/provider.c" \
		$libs || fail "$v: C++"
	# Several providers of one name, which come and go
	gcc -O0 $with -I"$src" -o "$work/$v/objects" "$src/objects.c" -ldl -lpthread ||
		fail "$v: objects"
	for p in a b c; do
		gcc -O0 -fPIC -shared $with -I"$src" -DCOMPAT_FROM="\"$p\"" \
			-o "$work/$v/$p.so" "$src/tick_provider.c" $libs || fail "$v: $p"
	done
	echo "cd $work/$v && ./fields && ./log && { [ ! -e cxx ] || ./cxx; } &&
		./objects 1 +./a.so 2 +./b.so 3 +./c.so 4 -./a.so 5 -./c.so 6 +./a.so fork=7" \
		>"$work/$v/run"
	# LTTng's own examples, if they are installed, with fewer events
	for e in easy-ust hello-static-lib gen-tp demo demo-tracef demo-tracelog; do
		[ -d /usr/share/doc/liblttng-ust-dev/examples/$e ] || continue
		[ $v = theirs ] || [ -d "$work/theirs/$e" ] || continue
		cp -r /usr/share/doc/liblttng-ust-dev/examples/$e "$work/$v/$e"
		find "$work/$v/$e" -name '*.c' -exec sed -i 's/i < 10*;/i < 100;/' {} +
		if [ $v = ours ]; then
			mkdir -p "$work/lib"
			ln -sf "$BUILD/libtrail.so" "$work/lib/liblttng-ust.so"
			ln -sf "$top/tools/trail-gen-tp" "$work/lib/lttng-gen-tp"
			make -C "$work/$v/$e" CPPFLAGS="$ours" \
				LDFLAGS="-L$work/lib -Wl,-rpath,$BUILD" PYTHON= \
				LTTNG_GEN_TP_PATH="$work/lib/" \
				>"$work/make.out" 2>&1 ||
					fail "example $e: $(tail -n 20 "$work/make.out")"
		else
			make -C "$work/$v/$e" PYTHON= LTTNG_GEN_TP_PATH= >"$work/make.out" 2>&1 || {
				echo \
					"example $e does not build with LTTng: $(tail -n 1 \
					"$work/make.out")"
				rm -rf "${work:?}/$v/$e"
			}
		fi
	done
	cat >>"$work/$v/run" <<'END'
example() { [ ! -d "$1" ] || { cd $1 && shift && "$@" 2>/dev/null && cd ..; }; }
example easy-ust ./sample && example hello-static-lib ./hello && example gen-tp ./sample && example demo-tracef ./demo-tracef &&
	example demo-tracef ./demo-vtracef && example demo-tracelog ./demo-tracelog && example demo-tracelog ./demo-vtracelog &&
	example demo env LD_PRELOAD="./lttng-ust-provider-ust-tests-demo.so ./lttng-ust-provider-ust-tests-demo3.so" ./demo 0
END
done
record_lttng "$work/theirs" "$work/theirs/run" ||
	{ echo "$checks checks; not compared with LTTng: $(tail -n 1 "$work/lttng.out")"; exit 0; }
plain "$work/theirs/text" >"$work/theirs.text"
# … and imported
mkdir "$S/import" && put "$work/theirs/trace" "$S/import/input"
TZ=UTC babeltrace2 "$S/import/trace" 2>/dev/null | cmp - "$work/theirs/text" || fail "trace/ of the import"
cat "$S/import/text" >"$work/imported"
cmp "$work/imported" "$work/theirs/text" || fail "the text of LTTng's trace, imported"
descriptions "$work/theirs/metadata" >"$work/theirs.described"
[ "$(wc -l <"$work/theirs.text")" -gt 100 ] ||
	fail "LTTng recorded $(wc -l <"$work/theirs.text") events"
like "LTTng" "$work/theirs.text" sh "$work/ours/run"
# The programs that LTTng recorded, with our libraries in place of its own
like "unmodified programs" "$work/theirs.text" env LD_LIBRARY_PATH="$BUILD/lttng" sh "$work/theirs/run"
# It describes all levels of tracelog in use, and events that were not hit.
comm -23 "$work/theirs.described" "$work/described" >"$work/diff"
[ ! -s "$work/diff" ] || fail "descriptions: $(head -n 5 "$work/diff")"
echo "$checks checks; $(wc -l <"$work/theirs.text") events and $(wc -l \
	<"$work/theirs.described") descriptions as LTTng has them"
