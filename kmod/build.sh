#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh KERNEL_BUILD_DIRECTORY OUTPUT_DIRECTORY [TRACE_HEADER…]
#
# Builds trail.ko, and modules with compiled probes for the events of all trace headers (or of those named, `sched irq`) that this kernel's
# headers have: trail_events.ko for what needs only the kernel itself, trail_MODULE.ko for what calls into another module. What cannot be
# compiled, because a structure is private or a function is not exported, is left out event class by event class; the kernel's performance
# counters record those. OUTPUT/report says what is covered, OUTPUT/skip what was left out and why; a file hints/RELEASE that is such a list
# from an earlier time saves most of the trials.
set -eu
KDIR=$1 OUT=$2
shift 2
HERE=$(cd "$(dirname "$0")" && pwd)
JOBS=${JOBS:-$(nproc)}
ROUNDS=12
# 6.12's headers come with a vmlinux, for which kbuild would want pahole.
MAKEK="make -C $KDIR M=$OUT/kmod CONFIG_DEBUG_INFO_BTF_MODULES= -j$JOBS"

mkdir -p "$OUT/tracer"
OUT=$(cd "$OUT" && pwd)
rm -rf "$OUT/kmod"
cp -r "$HERE" "$OUT/kmod"
for file in modabi modring abi contextkind filterword filterops filterrun; do
	cp "$HERE/../tracer/$file.h" "$OUT/tracer/"
done
GEN=$OUT/kmod/gen
mkdir -p "$GEN"

say() {
	echo "kmod: $*"
}

# ---- the core, whose command line is then used for trials ----

$MAKEK modules >"$OUT/log" 2>&1 || {
	cat "$OUT/log" >&2
	exit 1
}
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' "$KDIR/include/generated/utsrelease.h")
CC=$(sed -n '1s/^[^=]*:= \(.*\) -c -o [^ ]* [^ ]* *\(;.*\)\{0,1\}$/\1/p' "$OUT/kmod/.main.o.cmd" |
	sed 's/ -Wp,-MMD,[^ ]*//; s/KBUILD_MODFILE=[^ ]*/KBUILD_MODFILE=0/')
COMMON=$(dirname "$(sed -n 's/^include \(.*Makefile\)$/\1/p' "$KDIR/Makefile" | head -n 1)")
[ -d "$COMMON/include/trace" ] || COMMON=$KDIR
[ -d "$COMMON/include/trace/stages" ] || {
	say "$release: no trace/stages (before Linux 5.18): no compiled probes"
	exit 0
}

# Compiles $1 from $KDIR, as kbuild does, with more options: where the sources' relative paths begin.
compile() {
	source=$1
	shift
	(cd "$KDIR" && eval "$CC -Wno-error -w $*" '"$source"')
}

# ---- what trace headers include without saying so ----

preamble() {
	{
		echo '#define TRAIL_PREAMBLE'
		while read -r h; do
			printf '#if __has_include(<%s>)\n#include <%s>\n#endif\n' "$h" "$h"
		done
	} <"$OUT/kmod/probe/preamble" >"$GEN/preamble.h"
	echo '#include "kmod/gen/preamble.h"' >"$GEN/trial.c"
	for round in 1 2 3 4 5 6; do
		compile "$GEN/trial.c" -fsyntax-only 2>"$GEN/errors" && return
		# Whichever of them led to an error goes.
		sed -n 's,.*gen/preamble\.h:\([0-9]*\)[:\,].*,\1,p' "$GEN/errors" | sort -un |
			sed 's,$,d,' >"$GEN/drop"
		[ -s "$GEN/drop" ] || break
		sed -f "$GEN/drop" "$GEN/preamble.h" >"$GEN/preamble.new"
		mv "$GEN/preamble.new" "$GEN/preamble.h"
	done
	cat "$GEN/errors" >&2
	return 1
}

# ---- all headers: lines `name header file` ----

list_headers() {
	for f in "$COMMON"/include/trace/events/*.h; do
		n=$(basename "$f" .h)
		echo "$n trace/events/$n.h $f"
	done
	for f in "$COMMON"/include/ras/*_event.h; do
		[ -f "$f" ] && echo "$(basename "$f" .h) ras/$(basename "$f") $f"
	done
	for f in "$COMMON"/arch/x86/include/asm/trace/*.h; do
		[ -f "$f" ] && echo "x86_$(basename "$f" .h) asm/trace/$(basename "$f") $f"
	done
	[ -f "$COMMON/arch/x86/include/asm/msr-trace.h" ] && echo "x86_msr asm/msr-trace.h $COMMON/arch/x86/include/asm/msr-trace.h"
	return 0
}

wanted() {
	if [ $# = 0 ]; then
		cat
	else
		only=" $* "
		while read -r n rest; do
			case $only in *" $n "*) echo "$n $rest" ;; esac
		done
	fi
}

# A header on its own, as part of a source.
emit() {
	printf '#define CREATE_TRACE_POINTS\n#define TRAIL_HEADER <%s>\n#include TRAIL_HEADER\n' "$1"
	printf '#undef CREATE_TRACE_POINTS\n#include "kmod/probe/probe.h"\n#undef TRAIL_HEADER\n'
}

# Source $1 of the names on stdin
emit_source() {
	{
		echo '#include "kmod/gen/preamble.h"'
		echo '#include "kmod/gen/skip.h"'
		while read -r n; do
			grep -q "^header $n " "$OUT/skip" || emit "$(awk -v n="$n" '$1 == n { print $2 }' "$GEN/headers")"
		done
	} >"$GEN/$1.c"
}

write_skip() {
	sed -n 's/^class \([^ ]*\) .*/#define TRAIL_SKIP_\1 1/p' "$OUT/skip" | sort -u >"$GEN/skip.h"
}

# Lines `class NAME header why` for what the errors of a trial are about; `header NAME why` where it is the header as a whole.
blame() {
	awk -v headers="$GEN/headers" '
	BEGIN {
		while ((getline line <headers) > 0) {
			split(line, h, " ")
			name[h[3]] = h[1]
			short[h[2]] = h[3]
			n = 0
			while ((getline text <h[3]) > 0) {
				n++
				if (match(text, /^[ \t]*(TRACE_EVENT|DECLARE_EVENT_CLASS|DEFINE_EVENT)[A-Z_]*\(/)) {
					rest = substr(text, RLENGTH + 1)
					sub(/,.*/, "", rest)
					gsub(/[ \t]/, "", rest)
					if (rest == "") pending = n
					else { at[h[3], n] = rest }
				} else if (pending == n - 1 && pending) {
					rest = text
					sub(/,.*/, "", rest)
					gsub(/[ \t]/, "", rest)
					at[h[3], n - 1] = rest
					pending = 0
				}
			}
			close(h[3])
			lines[h[3]] = n
		}
	}
	function file_of(path,   s) {
		for (s in short)
			if (substr(path, length(path) - length(s)) == "/" s) return short[s]
		return ""
	}
	# The class that line n of f is in
	function class_of(f, n) {
		for (; n > 0; n--)
			if ((f, n) in at) return at[f, n]
		return ""
	}
	function finish(   f, c) {
		if (why == "" || place == "") return
		f = substr(place, 1, index(place, SUBSEP) - 1)
		c = class_of(f, substr(place, index(place, SUBSEP) + 1) + 0)
		if (fatal || c == "") print "header " name[f] " " why
		else print "class " c " " name[f] " " why
		why = ""
	}
	# Errors are told with the way there: included from, in function, error, notes of macros.
	/: (fatal )?error:/ {
		finish()
		why = $0
		sub(/.*error: /, "", why)
		fatal = /fatal error/
		place = ""
		if (fatal && includer != "") { place = includer }
	}
	{
		line = $0
		sub(/^ *(In file included from|from) /, "", line)
		if (match(line, /^[^ :]+:[0-9]+/)) {
			where = substr(line, 1, RLENGTH)
			path = where
			sub(/:[0-9]+$/, "", path)
			num = where
			sub(/.*:/, "", num)
			f = file_of(path)
			if (f != "") {
				if ($0 ~ /included from|^ +from/) includer = f SUBSEP num
				else if (why != "" && place == "") place = f SUBSEP num
			} else if ($0 ~ /^In file included from/) includer = ""
		}
	}
	END { finish() }' "$1" | sort -u
}

# Trials of source $1 until it compiles
settle() {
	round=0
	while :; do
		emit_source "$1" <"$GEN/$1.names"
		write_skip
		compile "$GEN/$1.c" -ffunction-sections -c -o "$GEN/$1.trial.o" -fmax-errors=0 -ftrack-macro-expansion=0 \
			-fno-diagnostics-show-caret 2>"$GEN/$1.errors" && return
		blame "$GEN/$1.errors" >"$GEN/$1.blame"
		[ -s "$GEN/$1.blame" ] || break
		# A class that was left out already and still makes errors: then its whole header.
		while read -r kind what header rest; do
			if [ "$kind" = header ]; then
				echo "header $what $header $rest"
			elif grep -q "^class $what " "$OUT/skip"; then
				echo "header $header its $what: $rest"
			else
				echo "class $what $header $rest"
			fi
		done <"$GEN/$1.blame" >"$GEN/$1.more"
		cat "$GEN/$1.more" >>"$OUT/skip"
		round=$((round + 1))
		[ $round -lt $ROUNDS ] || break
	done
	say "$1 cannot be settled; left out: $(tr '\n' ' ' <"$GEN/$1.names")"
	sed 's/^\(.*\)$/header \1 not settled/' "$GEN/$1.names" >>"$OUT/skip"
	emit_source "$1" <"$GEN/$1.names"
}

# ---- which modules, by what functions are called ----

owners() {
	awk 'FILENAME == ARGV[1] { owner[$2] = $3; next } { print $1, ($1 in owner ? owner[$1] : "?") }' "$KDIR/Module.symvers" - |
		awk '$2 != "vmlinux"'
}

# Lines `symbol class` for what source $1 needs that is not the kernel's own nor trail.ko's
foreign() {
	[ -f "$GEN/$1.trial.o" ] || return 0
	nm -u "$GEN/$1.trial.o" | awk '$2 !~ /^trail_/ { print $2 }' | owners >"$GEN/$1.foreign"
	[ -s "$GEN/$1.foreign" ] || return 0
	objdump -r "$GEN/$1.trial.o" | awk -v list="$GEN/$1.foreign" '
		BEGIN { while ((getline line <list) > 0) { split(line, w, " "); owner[w[1]] = w[2] } }
		/^RELOCATION RECORDS FOR/ { s = $4; sub(/^\[/, "", s); sub(/\]:$/, "", s); next }
		{
			sym = $3
			sub(/[-+]0x[0-9a-f]*$/, "", sym)
			if (sym in owner && s ~ /trail_probe_/) { c = s; sub(/.*trail_probe_/, "", c); print sym, owner[sym], c }
		}' | sort -u
}

class_header() {
	for f in $(awk '{ print $3 }' "$GEN/headers"); do
		grep -Eq "(TRACE_EVENT|DECLARE_EVENT_CLASS)[A-Z_]*\\($1," "$f" && awk -v f="$f" '$3 == f { print $1 }' "$GEN/headers" && return
	done
	for f in $(awk '{ print $3 }' "$GEN/headers"); do
		grep -Eq "^[[:space:]]*$1,|\\([[:space:]]*$1," "$f" && awk -v f="$f" '$3 == f { print $1 }' "$GEN/headers" && return
	done
}

# ---- all of it ----

: >"$OUT/skip"
[ -f "$HERE/hints/$release" ] && cp "$HERE/hints/$release" "$OUT/skip"
list_headers | wanted "$@" >"$GEN/headers"
preamble

# Few sources with many headers each: what takes time is the preamble.
parts=$(($(wc -l <"$GEN/headers") / 16 + 1))
sed -n 's/^module \([^ ]*\) \([^ ]*\)$/\1 \2/p' "$OUT/skip" >"$GEN/elsewhere"
awk -v n=$parts -v g="$GEN" 'FILENAME == ARGV[1] { other[$1] = 1; next } !($1 in other) { print $1 >(g "/part" i++ % n ".names") }' \
	"$GEN/elsewhere" "$GEN/headers"

sources=$(cd "$GEN" && ls part*.names 2>/dev/null | sed 's/\.names//')
running=0
write_skip
settle_all() {
	for s in $1; do
		settle "$s" &
		running=$((running + 1))
		[ $running -lt "$JOBS" ] || {
			wait
			running=0
		}
	done
	wait
	running=0
}
settle_all "$sources"
for s in $sources; do
	emit_source "$s" <"$GEN/$s.names"
done
write_skip
for s in $sources; do
	foreign "$s"
done >"$GEN/calls"
while read -r sym owner class; do
	h=$(class_header "$class")
	[ -n "$h" ] || continue
	if [ "$owner" = '?' ]; then
		echo "class $class $h calls $sym, which is not exported"
	else
		echo "module $h $(basename "$owner")"
	fi
done <"$GEN/calls" | sort -u >>"$OUT/skip"
write_skip
# Headers that need a module leave their part for a source of their own.
sed -n 's/^module \([^ ]*\) \([^ ]*\)$/\1 \2/p' "$OUT/skip" | sort -u -k1,1 >"$GEN/elsewhere"
for s in $sources; do
	awk 'FILENAME == ARGV[1] { other[$1] = 1; next } !($1 in other)' "$GEN/elsewhere" "$GEN/$s.names" >"$GEN/names.new"
	mv "$GEN/names.new" "$GEN/$s.names"
	emit_source "$s" <"$GEN/$s.names"
done
{
	for s in $sources; do
		echo "events $s"
	done
	while read -r n module; do
		awk -v n="$n" '$1 == n { found = 1 } END { exit !found }' "$GEN/headers" || continue
		echo "$n" >"$GEN/own_$n.names"
		emit_source "own_$n" <"$GEN/own_$n.names"
		echo "$(echo "$module" | tr - _) own_$n"
	done <"$GEN/elsewhere"
} >"$GEN/modules"

# A module's table of its probes: the names are those that its sources define.
table() {
	{
		printf '#include "kmod/trail.h"\n'
		sed 's/.*/extern const struct trail_probe trail_event_&;/'
		printf 'static const struct trail_probe *const probes[] = {\n'
		sed 's/.*/\t\&trail_event_&,/' "$GEN/$1.events"
		printf '};\n#include "kmod/probe/table.h"\n'
	} <"$GEN/$1.events" >"$GEN/table_$1.c"
}

for m in $(awk '{ print $1 }' "$GEN/modules" | sort -u); do
	for s in $(awk -v m="$m" '$1 == m { print $2 }' "$GEN/modules"); do
		compile "$GEN/$s.c" -E -P 2>/dev/null | grep -o 'extern const struct trail_probe trail_event_[A-Za-z0-9_]*' |
			sed 's/.*trail_event_//'
	done | sort -u >"$GEN/$m.events"
	[ -s "$GEN/$m.events" ] || continue
	table "$m"
	echo "obj-m += trail_$m.o"
	echo "trail_$m-y := gen/table_$m.o $(awk -v m="$m" '$1 == m { printf "gen/%s.o ", $2 }' "$GEN/modules")"
done >"$GEN/list.mk"

$MAKEK modules >"$OUT/log" 2>&1 || {
	cat "$OUT/log" >&2
	exit 1
}
for m in "$OUT"/kmod/*.ko; do
	strip -d "$m"
done
sort -u "$OUT/skip" >"$GEN/skip.sorted"
mv "$GEN/skip.sorted" "$OUT/skip"
{
	echo "$release: $(cat "$GEN"/*.events | sort -u | wc -l) events have compiled probes, in $(ls "$OUT"/kmod/trail_*.ko | wc -l) modules"
	for m in "$GEN"/*.events; do
		echo "trail_$(basename "$m" .events): $(wc -l <"$m")"
	done
	echo
	echo 'Left out (the performance counters record them):'
	grep -v '^module' "$OUT/skip"
} >"$OUT/report"
head -n 1 "$OUT/report"
