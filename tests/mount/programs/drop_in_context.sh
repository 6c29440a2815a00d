#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Contexts of the application in programs that were compiled with LTTng-UST's headers: values in
# events and filters, a provider that comes and goes. LTTng's libraries for Java and Python find all
# symbols in $BUILD/lttng.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
printf '#include <lttng/tracepoint.h>\n' | gcc -E - >/dev/null 2>&1 ||
	skip "liblttng-ust-dev is not installed"
gcc -O1 -w -I"$here/compat" -DCOMPAT_FROM='"c"' -o "$work/context" "$here/drop_in/context.c" \
	-llttng-ust -llttng-ust-common -ldl || fail "context.c does not build"
gcc -O1 -w -o "$work/load" -x c - -ldl <<'END2' || fail "load does not build"
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL))
			return puts(dlerror());
	return 0;
}
END2
LD_LIBRARY_PATH=$BUILD/lttng
export LD_LIBRARY_PATH
mount_tree

mkdir "$S/all" "$S/all/user/channels/c" && put 'compat_tick:*' "$S/all/user/channels/c/events" &&
	put '$app.ctx:int $app.ctx:real $app.ctx:none $app.ctx:word' "$S/all/user/channels/c/contexts" ||
	fail "session all"
# Without the contexts: filters find the provider by themselves.
mkdir "$S/some" "$S/some/user/channels/c" || fail "session some"
put 'compat_tick:tick if $app.ctx:int == -5 && $app.ctx:real > 2 && $app.ctx:word == "www*" && v < 3' \
	"$S/some/user/channels/c/events"
put start "$S/all/control"
put start "$S/some/control"
timeout 60 "$work/context" || fail "context: exit status $?"
put stop "$S/all/control"
put stop "$S/some/control"
same_text "$S/all"
sed 's/.*{ cpu_id = [0-9]* }, //' "$work/text" >"$work/have"
# want V INT REAL WORD: tags and values of one event
want() {
	printf '{ _app_ctx_int_tag = ( %s ), _app_ctx_int = { %s }, ' "${2%;*}" "${2#*;}"
	printf '_app_ctx_real_tag = ( %s ), _app_ctx_real = { %s }, ' "${3%;*}" "${3#*;}"
	printf '_app_ctx_none_tag = ( "_none" : container = 0 ), _app_ctx_none = { { } }, '
	printf '_app_ctx_word_tag = ( %s ), _app_ctx_word = { %s } }, ' "${4%;*}" "${4#*;}"
	printf '{ from = "c", v = %s }\n' "$1"
}
int='"_int32" : container = 3;-5' real='"_double" : container = 10;2.5' none='"_none" : container = 0;{ }'
word="\"_string\" : container = 11;\"$(printf '%255s' | tr ' ' w)\""
{
	want 1 "$int" "$real" "$word"
	want 2 "$none" "$none" "$none"
	want 3 "$int" "$real" "$word"
} | diff - "$work/have" >"$work/diff" || fail "values: $(cat "$work/diff")"
same_text "$S/some"
is "filtered" '{ from = "c", v = 1 }' "$(sed 's/.*cpu_id = [0-9]* }, //' "$work/text")"

for so in /usr/lib/*/jni/liblttng-ust-*.so.0 /usr/lib/*/liblttng-ust-python-agent.so.1; do
	[ -e "$so" ] || continue
	# The loggers' libraries name that of contexts, which is beside them.
	LD_BIND_NOW=1 LD_LIBRARY_PATH=$BUILD/lttng:${so%/*} timeout 60 "$work/load" "$so" >"$work/out" 2>&1 ||
		fail "$so: $(cat "$work/out")"
	checks=$((checks + 1))
done
echo "$checks checks"
