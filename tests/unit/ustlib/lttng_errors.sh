#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# The headers in ustlib/lttng refuse an instance whose arguments are not those of its class, as
# LTTng-UST's do (where they are installed, they judge, too). tools/trail-gen-tp may be called
# through a Python, which programs for LTTng do.
top=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/lttng-errors.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
checks=0
ours="-I$top/ustlib/lttng -I$top/ustlib"
fail() {
	echo "FAILED: $*"
	exit 1
}

cat >inst.h <<'END2'
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER inst
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./inst.h"
#if !defined(INST_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define INST_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT_CLASS(inst, class, LTTNG_UST_TP_ARGS(int, a, const char *, s),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_string(s, s)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(inst, class, inst, one, LTTNG_UST_TP_ARGS(ARGS))
#endif
#include <lttng/tracepoint-event.h>
END2
printf '#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n#define LTTNG_UST_TRACEPOINT_DEFINE\n#include "inst.h"\n' >inst.c
theirs=$(printf '#include <lttng/tracepoint.h>\n' | gcc -E - >/dev/null 2>&1 && echo yes)
# instance RESULT ARGUMENT…: compiles with these arguments, or (1) does not
instance() {
	want=$1
	shift
	for flags in "$ours" ${theirs:+-DTHEIRS}; do
		${CC:-gcc} -w -DARGS="$*" $flags -I. -c -o inst.o inst.c >out 2>&1
		[ $? = "$want" ] || fail "$flags: ($*) does not exit with $want: $(cat out)"
		checks=$((checks + 1))
	done
}
instance 0 "int, a, const char *, s"
instance 0 "int, other, const char *, names"
instance 1 "const char *, s, int, a"
instance 1 "int, a"
instance 1 "long, a, const char *, s"
instance 1 "int, a, const char *, s, int, more"

cat >made.tp <<'END2'
LTTNG_UST_TRACEPOINT_EVENT(made, event, LTTNG_UST_TP_ARGS(int, v),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, v, v)))
END2
if command -v python3 >/dev/null; then
	CPPFLAGS=$ours python3 -W error "$top/tools/trail-gen-tp" -v -o made.h -o made.c -o made.o made.tp >out 2>&1 ||
		fail "python3 trail-gen-tp: $(cat out)"
	grep -q '^Compile command: .*made.o' out && [ -s made.o ] || fail "python3 trail-gen-tp: $(cat out)"
	python3 "$top/tools/trail-gen-tp" --help | grep -q '^usage: trail-gen-tp' || fail "help"
	python3 "$top/tools/trail-gen-tp" missing.tp 2>/dev/null && fail "no failure"
	checks=$((checks + 3))
fi
echo "$checks checks"
