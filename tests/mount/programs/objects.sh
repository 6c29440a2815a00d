#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Libraries that come and go: what apps/ and available/ show follows at once, and so do the events.
# State dumps: at the start of a session and when one is asked for.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
mkfifo "$work/in" "$work/out"
LD_PRELOAD=$BUILD/libtrail-dl.so "$BUILD/tests/mount/programs/loader" \
	"$BUILD/tests/mount/programs/libplug.so" <"$work/in" >"$work/out" &
pid=$!
exec 8>"$work/in" 9<"$work/out"
tell() {
	printf '%s' "$1" >&8
	[ "$(dd bs=1 count=1 <&9 2>/dev/null)" = "$1" ] || fail "loader: $1"
}
app=$MNT/apps/$pid
within 5 test -d "$app" || fail "not in apps"
shown() { grep -q '^plug:hit debug_line$' "$app/tracepoints" &&
	grep -q '^plug:hit ' "$MNT/available/user/tracepoints"; }
not_shown() { ! grep -q '^plug:hit ' "$app/tracepoints" &&
	! grep -q '^plug:hit ' "$MNT/available/user/tracepoints"; }
not_shown || fail "plug:hit before its library"
tell o
within 2 shown || fail "plug:hit is not shown: $(cat "$app/tracepoints")"
grep -q 'plug:hit { int32 n }' "$app/fields" || grep -q '^plug:hit' "$app/fields" ||
	fail "fields: $(cat "$app/fields")"
grep -q 'libplug.so' "$app/status" || fail "status: $(cat "$app/status")"
tell c
within 2 not_shown || fail "plug:hit is still shown"

mkdir "$S/s" && echo '*' >"$S/s/user/events" && echo start >"$S/s/control" || fail "session"
dumps() { grep -c ' lttng_ust_statedump:start: ' "$S/s/text"; }
tell t
[ "$(dumps)" = 1 ] || fail "$(dumps) state dumps at the start"
grep -q "lttng_ust_statedump:bin_info: .*path = \"$BUILD/tests/mount/programs/loader\"" \
	"$S/s/text" || fail "no bin_info of the program"
tell t
[ "$(dumps)" = 1 ] || fail "$(dumps) state dumps, though the second was not requested"
echo 'regenerate statedump' >"$S/s/control" || fail "regenerate statedump"
[ "$(dumps)" = 1 ] || fail "$(dumps) state dumps of a program that hits no tracepoint"
tell t
[ "$(dumps)" = 2 ] || fail "$(dumps) state dumps, not 2"
for i in 1 2 3; do
	tell o
	tell h
	tell c
	tell t
done
[ "$(grep -c ' plug:hit: ' "$S/s/text")" = 3 ] ||
	fail "$(grep -c ' plug:hit: ' "$S/s/text") of plug:hit: $(cat "$S/s/status")"
[ "$(grep -c ' lttng_ust_dl:dlopen: ' "$S/s/text")" = 3 ] ||
	fail "dlopen: $(grep -c dlopen: "$S/s/text")"
exec 8>&- 9<&-
wait $pid || fail "loader: exit status $?"
