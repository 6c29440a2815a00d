#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Compiled programs of LTTng-UST 2.16, whose providers have version 4, run with the libraries of
# $BUILD/lttng: their events are recorded, with blobs (blobs.sh). An event with a field of an unknown
# type is left out alone, a provider of an unknown version whole; `problem` lines and
# LTTNG_UST_DEBUG say so.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ -e "$BUILD/lttng/liblttng-ust.so.1" ] || fail "there is no $BUILD/lttng"
src=$here
flags="-std=gnu11 -D_GNU_SOURCE -O1 -w -I$top"
gcc $flags -o "$work/blobs" "$src/drop_in/blobs.c" -L"$BUILD/lttng" -l:liblttng-ust.so.1 \
	-Wl,--allow-shlib-undefined || fail "blobs does not build"
LD_LIBRARY_PATH=$BUILD/lttng
export LD_LIBRARY_PATH
mount_tree -o tz=UTC

blob_events() { # PROVIDER
	printf '%s:blob { begin = [ %s ], _all_length = %s, all = [ %s] }\n' \
		"$1" '[0] = 0x89, [1] = 0x50' 4 '[0] = 0x89, [1] = 0x50, [2] = 0x4E, [3] = 0x47 ' \
		"$1" '[0] = 0x0, [1] = 0xFF' 0 ''
}
events() { # SESSION: without times and CPUs
	same_text "$1"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text"
}

s=$S/new
mkdir "$s" "$s/user/channels/c" && put '*:* except lttng_ust_*' "$s/user/channels/c/events" && put start "$s/control"
mkfifo "$work/end"
LTTNG_UST_DEBUG=1 "$work/blobs" <"$work/end" >"$work/out" 2>"$work/debug" &
program=$!
exec 3>"$work/end"
within 60 grep -q hit "$work/out" || fail "the program does not run: $(cat "$work/debug")"
has "$(cat "$MNT/apps/$program/status")" "problem .*new:strange.*a field has a type"
has "$(cat "$MNT/apps/$program/status")" 'problem .*future:\*.*has a version'
has "$(cat "$work/debug")" 'new:strange is never recorded: a field has a type'
has "$(cat "$work/debug")" 'future:\* is never recorded: its provider has a version'
exec 3>&-
wait $program || fail "the program ended with $?"
put stop "$s/control"
blob_events new >"$work/want"
events "$s" | diff "$work/want" - || fail "blobs"
is "discarded" 0 "$(key events_discarded "$s/status")"
rmdir "$s"

# A filter on a field that is not recorded
mkdir "$s" "$s/user/channels/c" && put 'new:* if first[0] == 0x89' "$s/user/channels/c/events" &&
	put start "$s/control"
echo | "$work/blobs" >"$work/out" || fail "the program ended with $?"
put stop "$s/control"
blob_events new | head -n 1 >"$work/want"
events "$s" | diff "$work/want" - || fail "a filter on a blob"
rmdir "$s"

# What the compiler makes of LTTng's own headers, with blobs where they have them, or else only
# with the version of those that do.
headers=$(printf '#include <lttng/ust-events.h>\n' | LC_ALL=C gcc -E -H -w - 2>&1 >/dev/null |
	sed -n 's/^\. *\(.*\)\/ust-events\.h$/\1/p')
[ -n "$headers" ] || { echo "liblttng-ust-dev is not installed: only the hand-made program"; exit 0; }
mkdir "$work/src" "$work/new" && cp "$src"/compat/* "$work/src/" && cp -r "$headers" "$work/new/lttng"
sed 's/\(define LTTNG_UST_PROVIDER_MAJOR[[:blank:]]*\)3$/\14/' "$headers/ust-events.h" \
	>"$work/new/lttng/ust-events.h"
grep -q 'PROVIDER_MAJOR[[:blank:]]*4' "$work/new/lttng/ust-events.h" ||
	fail "$headers has neither version 3 nor 4"
compiled() { # OUTPUT SOURCE…
	to=$work/$1
	shift
	(cd "$work/src" && LD_LIBRARY_PATH='' gcc -O1 -w -I. -I"$work/new" -o "$to" "$@" \
		-llttng-ust -llttng-ust-common -ldl -lpthread) || fail "$to does not build"
}
grep -q blob "$headers/ust-events.h" && what=blob || what=hits
if [ $what = blob ]; then compiled blob blob.c; else compiled hits hits.c provider.c; fi
mkdir "$s" "$s/user/channels/c" && put '*:* except lttng_ust_*' "$s/user/channels/c/events" && put start "$s/control"
"$work/$what" || fail "the compiled program ended with $?"
put stop "$s/control"
if [ $what = blob ]; then
	blob_events compat_blob >"$work/want"
	events "$s" | diff "$work/want" - || fail "compiled blobs"
else
	[ "$(key events_recorded "$s/status")" -gt 0 ] ||
		fail "version 4 records nothing: $(cat "$s/status")"
	grep '^problem' "$s/status" && fail "events of version 4 are left out"
fi
rmdir "$s"
