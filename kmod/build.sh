#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh KERNEL_BUILD_DIRECTORY OUTPUT_DIRECTORY [TRACE_HEADER…]
#
# Builds trail.ko, and modules with compiled probes for the events of all trace headers (or of those
# named, `sched irq`) that this kernel's headers have: trail_events.ko for what needs only the
# kernel itself, trail_MODULE.ko for what calls into another module. Private structures are
# completed from the kernel's BTF, if there is any (probe/btf.c). What cannot be compiled all the
# same is left out event class by event class (probe/trial.sh); the kernel's performance counters
# record those. OUTPUT/report says what is covered, and what is not and why. OUTPUT/hints is what
# was found out; as hints/SERIES, `hints/6.1`, it saves most of the trials for any kernel of that
# series.
#
# Environment: BOOT (/boot) and MODULES (/lib/modules/RELEASE), where the kernel's BTF is looked for
# besides the build directory and /sys/kernel/btf; JOBS; ARCH and CROSS_COMPILE as Linux has them,
# for another processor.
set -eu
KDIR=$1 OUT=$2
shift 2
HERE=$(cd "$(dirname "$0")" && pwd)
JOBS=${JOBS:-$(nproc)}
SOURCE_HEADERS=14               # trace headers in one source: what takes time is the preamble

mkdir -p "$OUT/tracer"
KDIR=$(cd "$KDIR" && pwd)
OUT=$(cd "$OUT" && pwd)
rm -rf "$OUT/kmod"
cp -r "$HERE" "$OUT/kmod"
cp -r "$HERE/../tracer/abi" "$OUT/tracer/"
GEN=$OUT/kmod/gen
EMPTY=$GEN/empty/1/2/3/4        # for headers that include ../../../some/thing.h which is not shipped
mkdir -p "$GEN/h" "$EMPTY"
# What the names of the tools for object files begin with
TOOLS=${CROSS_COMPILE-}
export KDIR OUT HERE GEN EMPTY TOOLS

say() {
	echo "kmod: $*"
}

kbuild() {
	"$HERE/kbuild.sh" "$KDIR" "$OUT/kmod" -j"$JOBS" "$@" >"$OUT/log" 2>&1
}

# ---- the core, whose command line is then used for trials ----

kbuild || {
	cat "$OUT/log" >&2
	exit 1
}
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' "$KDIR/include/generated/utsrelease.h")
MODULES=${MODULES:-/lib/modules/$release}
HINTS=$HERE/hints/$(echo "$release" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
# Headers whose trial with others would fail
: >"$GEN/alone"
KNOWN=1
[ -e "$HINTS" ] || {
	# Hints of another series say which types may be wanted, but not what cannot be compiled: where
	# something could not, much may be otherwise now.
	KNOWN=
	other=$HERE/hints/$(ls "$HERE/hints" | sort -V | tail -n 1)
	sed -n 's/ \(class\|header\) .*//p' "$other" >"$GEN/alone"
	HINTS=$GEN/hints
	grep ' want ' "$other" >"$HINTS" || :
}
CC=$(sed -n '1s/^[^=]*:= \(.*\) -c -o [^ ]* [^ ]* *\(;.*\)\{0,1\}$/\1/p' "$OUT/kmod/.main.o.cmd" |
	sed 's/^ *//; s/ -Wp,-MMD,[^ ]*//; s/KBUILD_MODFILE=[^ ]*/KBUILD_MODFILE=0/')
# Warnings are of no interest here, but those that are errors in the end. What is included first is
# in trial.h.
TRIAL_CC="$(echo "$CC" | sed 's/ -include [^ ]*//g' | tr ' ' '\n' |
	awk '!/^-(g|W)/ || /^-Wno-/ || /^-Werror=/' | tr '\n' ' ') -I$EMPTY"
COMMON=$(dirname "$(sed -n 's/^include \(.*Makefile\)$/\1/p' "$KDIR/Makefile" | head -n 1)")
[ -d "$COMMON/include/trace" ] || COMMON=$KDIR
export MODULES HINTS KNOWN TRIAL_CC

report() {
	find "$OUT/kmod" -name '*.ko' -exec "${TOOLS}strip" -d {} +
	{
		[ ! -s "$GEN/preamble.h" ] ||
			sed -n 's/^#include <\(.*\)>$/\1/p' "$GEN/preamble.h" |
			grep -vxFf - "$HERE/probe/preamble" | sed 's/^/preamble without /'
		for n in $(cut -d ' ' -f 1 "$GEN/headers" 2>/dev/null); do
			sed "s/^/$n want /" "$GEN/h/$n.wanted"
			sed "s/^/$n /" "$GEN/h/$n.skip"
		done
	} | sort -u >"$OUT/hints"
	{
		echo "$release: $(cat "$GEN"/*.events 2>/dev/null | sort -u |
			wc -l) events have compiled probes" \
			"($(cat "$GEN"/h/*.wanted 2>/dev/null | sort -u |
				wc -l) types from BTF${BTF:+ of $BTF})"
		for m in "$GEN"/*.events; do
			[ ! -e "$m" ] || echo "trail_$(basename "$m" .events): $(wc -l <"$m")"
		done
		echo
		echo "Left out (the performance counters record them):"
		for s in "$GEN"/h/*.skip; do
			[ ! -e "$s" ] || sort -u "$s" | sed "s/^/$(basename "$s" .skip): /"
		done
	} >"$OUT/report"
	head -n 1 "$OUT/report"
	rm -f "$GEN/trial.h.gch" "$GEN"/h/*.o "$GEN"/h/*.btf
}

BTF=
: >"$GEN/headers"
: >"$GEN/dropped"

# ---- types ----

# The kernel's own BTF, as a file
btf() {
	if [ -n "$("${TOOLS}objdump" -h "$KDIR/vmlinux" 2>/dev/null | grep ' \.BTF ')" ]; then
		echo "$KDIR/vmlinux"
	elif [ "$(uname -r)" = "$release" ] && [ -r /sys/kernel/btf/vmlinux ]; then
		echo /sys/kernel/btf/vmlinux
	elif [ -r "${BOOT:-/boot}/vmlinuz-$release" ]; then
		unpack "${BOOT:-/boot}/vmlinuz-$release" &&
			echo "$GEN/vmlinux.btf"
		rm -f "$GEN/vmlinux"
	fi
}

# STRING FILE: where in the file the string is
places_of() {
	LC_ALL=C grep -abo "$(printf "$1")" "$2" | cut -d : -f 1
}

# A kernel image: what is compressed in it begins somewhere with a well-known number.
unpack() {
	while read -r program magic; do
		for at in $(places_of "$magic" "$1" | head -n 3); do
			# What follows it is not to the unpacker's liking.
			tail -c "+$((at + 1))" "$1" | $program -dc >"$GEN/vmlinux" 2>/dev/null || :
			[ -z "$("${TOOLS}objdump" -h "$GEN/vmlinux" 2>/dev/null | grep ' \.BTF ')" ] ||
				{ "${TOOLS}objcopy" --dump-section .BTF="$GEN/vmlinux.btf" \
					"$GEN/vmlinux" /dev/null && return; }
		done
	done <<-E
		xz \\3757zXZ
		zstd \\050\\265/\\375
		gzip \\037\\213\\010
		lz4 \\002!L\\030
	E
	# arm64's image is the kernel as it is in memory. BTF begins with its magic number, version,
	# flags and the length of its header; btf.c reads no more than belongs to it.
	for at in $(places_of '\237\353\1' "$1"); do
		[ "$(echo $(od -An -t u1 -j "$at" -N 8 "$1"))" != "159 235 1 0 24 0 0 0" ] ||
			{ tail -c "+$((at + 1))" "$1" >"$GEN/vmlinux.btf" && return; }
	done
	return 1
}

find_btf() {
	[ -z "$TOOLS" ] || HOSTCC=${HOSTCC:-cc}
	if "${HOSTCC:-${CC%% *}}" -O1 -o "$GEN/btf" "$HERE/probe/btf.c" >"$OUT/log" 2>&1; then
		BTF=$(btf) || :
		[ -n "$BTF" ] || say "no BTF of $release: private structures stay private"
	else
		say "no BTF, because its reader does not compile: $(grep -m 1 error "$OUT/log")"
	fi
	find "$MODULES" -name '*.ko*' >"$GEN/kos" 2>/dev/null || :
}

# ---- what trace headers include without saying so ----

trial_header() {
	echo '#include <linux/compiler-version.h>'
	echo '#include <linux/kconfig.h>'
	echo '#include <linux/compiler_types.h>'
	cat "$GEN/preamble.h"
	echo '#define TRAIL_PREAMBLE'
}

preamble() {
	sed -n 's/^preamble without //p' "$HINTS" >"$GEN/without"
	grep -vxFf "$GEN/without" "$HERE/probe/preamble" | while read -r h; do
		printf '#if __has_include(<%s>)\n#include <%s>\n#endif\n' "$h" "$h"
	done >"$GEN/preamble.h"
	: >"$GEN/none.c"
	for round in 1 2 3 4 5 6 7 8 9 10; do
		trial_header >"$GEN/trial.h"
		(cd "$KDIR" &&
			eval "$TRIAL_CC" -include "$GEN/trial.h" -fsyntax-only "$GEN/none.c") \
			2>"$GEN/errors" && return
		# Whichever of them led to an error goes. Three lines more are in trial.h.
		sed -n 's,.*gen/trial\.h:\([0-9]*\)[:\,].*,\1,p' "$GEN/errors" | sort -un |
			while read -r n; do
			echo "$((n - 3))d"
		done >"$GEN/drop"
		[ -s "$GEN/drop" ] || break
		sed -f "$GEN/drop" "$GEN/preamble.h" >"$GEN/preamble.new"
		mv "$GEN/preamble.new" "$GEN/preamble.h"
	done
	cat "$GEN/errors" >&2
	: >"$GEN/preamble.h"
	trial_header >"$GEN/trial.h"
}
# ---- all headers: lines `name header file` ----

list_headers() {
	for f in "$COMMON"/include/trace/events/*.h; do
		n=$(basename "$f" .h)
		echo "$n trace/events/$n.h $f"
	done
	for f in "$COMMON"/include/ras/*_event.h; do
		[ ! -f "$f" ] || echo "$(basename "$f" .h) ras/$(basename "$f") $f"
	done
	for f in "$COMMON"/arch/x86/include/asm/trace/*.h; do
		[ ! -f "$f" ] || echo "x86_$(basename "$f" .h) asm/trace/$(basename "$f") $f"
	done
	f=$COMMON/arch/x86/include/asm/msr-trace.h
	[ ! -f "$f" ] || echo "x86_msr asm/msr-trace.h $f"
}

wanted() {
	[ $# != 0 ] || exec cat
	only=" $* "
	while read -r n rest; do
		case $only in *" $n "*) echo "$n $rest" ;; esac
	done
}

trials() {
	find_btf
	export BTF
	preamble
	# Precompiled, if the compiler can: it is read some thousand times.
	(cd "$KDIR" && eval "$TRIAL_CC" -x c-header "$GEN/trial.h" -o "$GEN/trial.h.gch") \
		>/dev/null 2>&1 || rm -f "$GEN/trial.h.gch"
	list_headers | wanted "$@" >"$GEN/headers"
	# Without BTF, what wants a type cannot be compiled as it is.
	[ -n "$BTF" ] || sed -n 's/ want .*//p' "$HINTS" >>"$GEN/alone"
	cut -d ' ' -f 1 "$GEN/headers" >"$GEN/names"
	grep -xFf "$GEN/alone" "$GEN/names" | xargs -r -P "$JOBS" -n 1 "$HERE/probe/trial.sh"
	grep -vxFf "$GEN/alone" "$GEN/names" |
		xargs -r -P "$JOBS" -n $SOURCE_HEADERS "$HERE/probe/trial.sh"
}

if [ -d "$COMMON/include/trace/stages" ]; then
	trials "$@"
else
	say "$release: no trace/stages (before Linux 5.18), so no compiled probes: the performance counters record all events"
fi

# ---- sources of several headers each ----

# Source $1 of the .inc files on stdin
emit_source() {
	{
		printf '#ifndef TRAIL_PREAMBLE\n#include "kmod/gen/preamble.h"\n#endif\n'
		sed 's,.*,#include "kmod/gen/h/&.inc",'
	} >"$GEN/$1.c"
}

compiles() {
	(cd "$KDIR" && eval "$TRIAL_CC" -include "$GEN/trial.h" -fsyntax-only "$GEN/$1.c") \
		>/dev/null 2>&1
}

# Sources for the names in file $1, as many as it takes: what compiles by itself need not do so with
# others.
sources=0
split_sources() {
	sources=$((sources + 1))
	set -- "$1" "part$sources"
	emit_source "$2" <"$1"
	if [ "$(wc -l <"$1")" -le 1 ] || { [ "$(wc -l <"$1")" -le $SOURCE_HEADERS ] &&
		compiles "$2"; }; then
		mv "$1" "$GEN/$2.names"
		return
	fi
	rm "$GEN/$2.c"
	awk -v g="$1" -v n="$(wc -l <"$1")" '{ print >(NR <= n / 2 ? g ".a" : g ".b") }' "$1"
	split_sources "$1.a"
	split_sources "$1.b"
}

# A module's table of its probes. The same name twice cannot be.
table() {
	{
		printf '#include "kmod/trail.h"\n'
		sed 's/.*/extern const struct trail_probe trail_event_&;/' "$GEN/$1.events"
		printf 'static const struct trail_probe *const probes[] = {\n'
		sed 's/.*/\t\&trail_event_&,/' "$GEN/$1.events"
		printf '};\n#include "kmod/probe/table.h"\n'
	} >"$GEN/table_$1.c"
}

# The modules of all that is to be built: lines `module name`
plan() {
	while read -r n rest; do
		[ ! -s "$GEN/h/$n.events" ] || echo "events $n"
		for e in "$GEN/h/$n".*.events; do
			[ ! -s "$e" ] || e=$(basename "$e" .events)
			[ ! -s "$GEN/h/$e.events" ] || echo "${e#"$n".} $e"
		done
	done <"$GEN/headers" | sort -u | while read -r m n; do
		grep -Fqx "$n" "$GEN/dropped" || echo "$m $n"
	done
}

make_sources() {
	rm -f "$GEN"/part* "$GEN"/table_* "$GEN"/*.events
	plan >"$GEN/plan"
	sources=0
	# events is there in any case: DKMS installs it.
	for m in $(echo events | cut -d ' ' -f 1 - "$GEN/plan" | sort -u); do
		first=$((sources + 1))
		awk -v m="$m" '$1 == m { print $2 }' "$GEN/plan" >"$GEN/todo"
		while read -r n; do
			cat "$GEN/h/$n.events"
		done <"$GEN/todo" | sort -u >"$GEN/$m.events"
		[ ! -s "$GEN/todo" ] || split_sources "$GEN/todo"
		table "$m"
		echo "obj-m += trail_$m.o"
		echo "trail_$m-y := gen/table_$m.o $(for i in $(seq $first \
			$sources); do [ ! -e "$GEN/part$i.c" ] || printf 'gen/part%d.o ' $i; done)"
	done >"$GEN/list.mk"
	# (An option for all objects would have the core compiled once more.)
	for s in "$GEN"/part*.c; do
		[ ! -e "$s" ] || echo "CFLAGS_gen/$(basename "$s" .c).o := -w -g0" \
			"-I\$(abspath \$(src))/gen/empty/1/2/3/4"
	done >>"$GEN/list.mk"
}

# What kbuild does not like, though it compiled: the headers of the objects that it names, or that
# need the symbols it names.
objections() {
	sed -n 's,.*gen/\(part[0-9]*\)\.o\(: \|\] Error\).*,\1,p' "$OUT/log"
	for s in $(sed -n 's/^ERROR: modpost: .*"\([^"]*\)".*/\1/p; s/^ERROR: modpost: .* symbol \([A-Za-z0-9_]*\)[ ,].*/\1/p' "$OUT/log"); do
		for o in "$GEN"/part*.o; do
			! "${TOOLS}nm" -u "$o" | grep -qw "$s" || basename "$o" .o
		done
	done
}

while :; do
	make_sources
	! kbuild -k || break
	objections | sort -u | while read -r p; do
		cat "$GEN/$p.names"
	done >"$GEN/bad"
	[ -s "$GEN/bad" ] || {
		cat "$OUT/log" >&2
		exit 1
	}
	say "kbuild refuses $(tr '\n' ' ' <"$GEN/bad")"
	while read -r n; do
		echo "header kbuild: $(grep -m 1 -i -E 'error' "$OUT/log")" >>"$GEN/h/${n%%.*}.skip"
	done <"$GEN/bad"
	cat "$GEN/bad" >>"$GEN/dropped"
done
report
