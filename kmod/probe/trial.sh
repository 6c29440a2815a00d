#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# trial.sh NAME…: for build.sh, whose variables it takes from the environment: compiles the probes
# of one trace header again and again, and has the types that they miss from BTF, or leaves classes
# out, until it compiles. Several headers are compiled in one source with what the hints know of
# them, because most of the time of a trial goes into the preamble; if that fails, in two halves.
# Makes in $GEN/h:
#	NAME.inc		what a source includes to have these probes
#	NAME.MODULE.inc		those that call functions of another module
#	NAME.events		their names (and NAME.MODULE.events)
#	NAME.skip		lines `class CLASS WHY`, `header WHY`
#	NAME.wanted		types that BTF is asked for
set -u
export LC_ALL=C
ROUNDS=100
ERRORS=40        # of one trial: for each one with an unknown name gcc looks through all names for what may have been meant

# ---- types ----

# Files of modules that may have the header's types; what is compressed is unpacked.
modules() {
	[ -d "$MODULES" ] || return 0
	patterns=$(sed -n "s/^$name //p" "$HERE/probe/owners")
	for p in ${patterns:-$name "*[-_]$name" "${name}_core" "${name}-core"}; do
		grep "/$(echo "$p" | sed 's/[-_]/[-_]/g; s/\*/[^\/]*/g')\.ko[.a-z]*\$" "$GEN/kos"
	done | sort -u | head -n 4 | while read -r ko; do
		case $ko in
		*.xz) xz -dc "$ko" ;;
		*.zst) zstd -dqc "$ko" ;;
		*.gz) gzip -dc "$ko" ;;
		*) cat "$ko" ;;
		esac >"$GEN/h/$name.$(basename "$ko").btf" &&
			echo "$GEN/h/$name.$(basename "$ko").btf"
	done
}

# Those wanted, as C. A name that no BTF has is not asked for again.
types() {
	grep -o '\<struct [A-Za-z_][A-Za-z_0-9]*' "$file" | sed 's/$/;/' | sort -u >"$me.types.h"
	[ -n "$BTF" ] && [ -s "$me.wanted" ] || return 0
	"$GEN/btf" "$BTF" <"$me.wanted" >"$me.types" 2>"$me.missing"
	if [ -s "$me.missing" ]; then
		[ -e "$me.modules" ] || modules >"$me.modules"
		"$GEN/btf" "$BTF" $(cat "$me.modules") <"$me.wanted" >"$me.types" 2>"$me.missing"
	fi
	cat "$me.types" >>"$me.types.h"
	cat "$me.missing" >>"$me.never"
	grep -vxFf "$me.never" "$me.wanted" >"$me.new"
	mv "$me.new" "$me.wanted"
}

# Which of the header's types that a pattern finds are not complete. Structures are wanted only if an
# error asks for them, enumerations and NAME_t from the beginning.
incomplete() {
	grep -o "$1" "$file" | sort -u | while read -r tag; do
		grep -q "^[[:space:]]*$tag[[:space:]]*{" "$file" ||
			echo "extern char trail_size[sizeof($tag)];"
	done | awk '{ sub(/trail_size/, "&" NR); print }' >"$me.sizes.c"
	[ -s "$me.sizes.c" ] || return 0
	compile "$me.sizes.c" -fsyntax-only 2>&1 | sed -n "s/.*incomplete type '\\([^']*\\)'.*/\\1/p; s/.*: error: '\\([a-z_0-9]*\\)' undeclared.*/any \\1/p" | sort -u
}

# Whether there was anything new in it
want() {
	sort -u | grep -vxFf "$me.never" | grep -vxFf "$me.wanted" >"$me.new"
	cat "$me.new" >>"$me.wanted"
	[ -s "$me.new" ]
}

# ---- trials ----

compile() {
	(cd "$KDIR" && eval "$TRIAL_CC -include $GEN/trial.h $(printf '%s ' "$2" "${3-}" "${4-}" "${5-}") -fmax-errors=$ERRORS -fno-diagnostics-show-caret \
		-ftrack-macro-expansion=0" '"$1"')
}

# A source of the header without classes $2…, as $1
emit() {
	to=$1
	shift
	{
		echo "#include \"kmod/gen/h/$name.types.h\""
		echo "#define TRAIL_ORIGIN \".rodata.trail.$name\""
		for c in "$@"; do
			echo "#define TRAIL_SKIP_$c 1"
		done
		printf '#define CREATE_TRACE_POINTS\n#define TRAIL_HEADER <%s>\n#include TRAIL_HEADER\n' "$header"
		printf '#undef CREATE_TRACE_POINTS\n#include "kmod/probe/probe.h"\n#undef TRAIL_HEADER\n#undef TRAIL_ORIGIN\n'
		for c in "$@"; do
			echo "#undef TRAIL_SKIP_$c"
		done
	} >"$to.inc"
	echo "#include \"$to.inc\"" >"$to.c"
}

skipped() {
	sed -n 's/^class \([^ ]*\) .*/\1/p' "$me.skip" | sort -u
}

give_up() {
	echo "header $*" >>"$me.skip"
	rm -f "$me".*inc "$me".*events
	exit 0
}

# One round of repairs by the errors of the last trial; fails if there is nothing more to be done.
repair() {
	awk -v header="$file" -v types="$me.types.h" -f "$HERE/probe/errors.awk" "$me.errors" |
		awk '!had[$0]++' >"$me.actions"
	sed -n 's/^unwant //p' "$me.actions" >"$me.unwanted"
	if [ -s "$me.unwanted" ]; then
		cat "$me.unwanted" >>"$me.never"
		grep -vxFf "$me.unwanted" "$me.wanted" >"$me.new"
		cmp -s "$me.new" "$me.wanted" || {
			mv "$me.new" "$me.wanted"
			types
			return
		}
	fi
	fresh=
	for f in $(sed -n 's/^empty //p' "$me.actions"); do
		[ ! -e "$EMPTY/$f" ] || continue
		mkdir -p "$EMPTY/$(dirname "$f")" && : >"$EMPTY/$f" && fresh=1
	done
	if [ -n "$BTF" ]; then
		{
			sed -n 's/^want \([^ ]* [^ ]*\)$/\1/p' "$me.actions"
			! grep -qx 'want all' "$me.actions" || incomplete '\<struct [A-Za-z_][A-Za-z_0-9]*'
		} | want && fresh=1
	fi
	if [ -n "$fresh" ]; then
		types
		return
	fi
	# The cause is not known: without the classes that the errors are in, or if that was tried,
	# without the header.
	before=$(skipped | wc -l)
	grep '^class ' "$me.actions" | awk '!had[$2]++' >>"$me.skip"
	[ "$(skipped | wc -l)" -gt "$before" ]
}

settle() {
	options=$1
	round=0
	while :; do
		emit "$me" $(skipped)
		compile "$me.c" $options 2>"$me.errors" && return
		round=$((round + 1))
		[ $round -le $ROUNDS ] && repair ||
			give_up \
			"$(sed -n 's/^header //p; s/^class [^ ]* //p' "$me.actions" | head -n 1)"
	done
}

# ---- functions that are not the kernel's own ----

# Lines `CLASS SYMBOL OWNER`; OWNER is ? if no module exports it.
foreign() {
	"${TOOLS}nm" -u "$me.o" | awk '$2 !~ /^trail_/ { print $2 }' |
		awk 'FILENAME == ARGV[1] { if ($5 == "") owner[$2] = $3; next } !($1 in owner) { print $1, "?" } ($1 in owner) && owner[$1] != "vmlinux" { print $1, owner[$1] }' \
			"$KDIR/Module.symvers" - >"$me.symbols"
	[ -s "$me.symbols" ] || return 0
	"${TOOLS}objdump" -r "$me.o" | awk -v list="$me.symbols" '
		BEGIN { while ((getline line <list) > 0) { split(line, w, " "); owner[w[1]] = w[2] } }
		/^RELOCATION RECORDS FOR/ { s = $4; sub(/^\[/, "", s); sub(/\]:$/, "", s); next }
		{
			sym = $3
			sub(/[-+]0x[0-9a-f]*$/, "", sym)
			if (sym in owner && s ~ /trail_probe_/) { c = s; sub(/.*trail_probe_/, "", c); sub(/\.(part|isra|constprop|cold).*/, "", c); print c, sym, owner[sym] }
		}' | sort -u
}

classes() {
	"${TOOLS}nm" "$1" | sed -n 's/.* [tT] trail_probe_\([A-Za-z0-9_]*\)$/\1/p' | sort -u
}

events() {
	"${TOOLS}nm" "$1" | sed -n 's/.* trail_event_\([A-Za-z0-9_]*\)$/\1/p' | sort -u
}

compiled() {
	settle "-ffunction-sections -c -o $me.o"
}

# What is known before the first trial; fails if the hints say that the header cannot be compiled
begin() {
	name=$1
	me=$GEN/h/$name
	header=$(awk -v n="$name" '$1 == n { print $2 }' "$GEN/headers")
	file=$(awk -v n="$name" '$1 == n { print $3 }' "$GEN/headers")
	rm -f "$me".*
	: >"$me.never"
	sed -n "s/^$name want //p" "$HINTS" >"$me.wanted"
	sed -n "s/^$name \(class\|header\)/\1/p" "$HINTS" >"$me.skip"
	[ -n "$BTF" ] || : >"$me.wanted"
	! grep -q '^header' "$me.skip" || return 1
	types
	emit "$me" $(skipped)
}

# ---- several headers at once ----

# Lines `HEADER CLASS`: the probes that the events of each header name
origins() {
	"${TOOLS}objdump" -r "$me.o" | awk '
		/^RELOCATION RECORDS FOR/ { s = $4; sub(/^\[/, "", s); sub(/\]:$/, "", s); next }
		s ~ /^\.rodata\.trail\./ && $3 ~ /trail_probe_/ {
			c = $3
			sub(/[-+]0x[0-9a-f]*$/, "", c)
			sub(/.*trail_probe_/, "", c)
			print substr(s, 15), c
		}'
}

# The names of those that need a trial of their own: those with a probe that calls what is not the
# kernel's own function.
calling() {
	foreign | cut -d ' ' -f 1 >"$me.classes"
	origins | awk -v list="$me.classes" '
		BEGIN { while ((getline c <list) > 0) calls[c] = 1 }
		$2 in calls { print $1 }' | sort -u
}

together() {
	for n in "$@"; do
		shift
		! begin "$n" || set -- "$@" "$n"
	done
	[ $# != 0 ] || return 0
	me=$GEN/h/$1.together
	printf "#include \"$GEN/h/%s.inc\"\n" "$@" >"$me.c"
	if compile "$me.c" -ffunction-sections -c -o "$me.o" 2>"$me.errors"; then
		alone=$(calling)
		"${TOOLS}objdump" -t "$me.o" | sed -n \
			's/.* \.rodata\.trail\.\([^ \t]*\)[ \t].* trail_event_\([A-Za-z0-9_]*\)$/\1 \2/p' |
			sort -u >"$me.all"
		for n in "$@"; do
			sed -n "s/^$n //p" "$me.all" >"$GEN/h/$n.events"
		done
		for n in $alone; do
			"$0" "$n"
		done
		rm -f "$me".*
		return
	fi
	rm -f "$me".*
	[ $# != 1 ] || {
		"$0" "$1"
		return
	}
	half=$(($# / 2))
	first=
	while [ $half -gt 0 ]; do
		first="$first $1"
		shift
		half=$((half - 1))
	done
	"$0" $first
	"$0" "$@"
}

if [ $# != 1 ]; then
	together "$@"
	exit
fi

# ---- one header ----

begin "$1" || exit 0
if [ -n "$BTF" ] && [ -z "$KNOWN" ] && incomplete \
	'\<enum [A-Za-z_][A-Za-z_0-9]*\|\<[a-z][a-z_0-9]*_t\>' | want; then
	types
fi
if ! compile "$me.c" -ffunction-sections -c -o "$me.o" 2>"$me.errors"; then
	settle -fsyntax-only
	compiled
fi
foreign >"$me.foreign"
if grep -q ' ?$' "$me.foreign"; then
	sed -n 's/^\([^ ]*\) \([^ ]*\) ?$/class \1 calls \2, which is not exported/p' \
		"$me.foreign" >>"$me.skip"
	compiled
fi
all=$(classes "$me.o")
for owner in $(awk '$3 != "?" { print $3 }' "$me.foreign" | sort -u); do
	own=$(awk -v o="$owner" '$3 == o { print $1 }' "$me.foreign" | sort -u)
	module=$(basename "$owner" | tr - _)
	emit "$me.$module" $(skipped; echo "$all" | grep -vxF "$own")
	compile "$me.$module.c" -c -o "$me.$module.o" 2>"$me.errors" || {
		rm -f "$me.$module.inc"
		continue
	}
	events "$me.$module.o" >"$me.$module.events"
done
others=$(awk '$3 != "?" { print $1 }' "$me.foreign" | sort -u)
emit "$me" $(skipped; echo "$others")
if [ -n "$others" ]; then
	compile "$me.c" -c -o "$me.o" 2>"$me.errors" || give_up "$(grep -m 1 error: "$me.errors")"
fi
events "$me.o" >"$me.events"
