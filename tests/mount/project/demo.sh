#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 180
#
# make demo: it agrees with babeltrace2, loses nothing, shows only what it starts itself, on few
# lines, without colours in a file.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ -x "$BUILD/tools/demo_app" ] || skip "there is no demo_app"
[ "$(id -u)" = 0 ] || skip "the demo's kernel events need root"
# Programs that the demo did not start
mkdir "$work/foreign" && cp /bin/true "$work/foreign/stranger" || fail "a program"
(while :; do "$work/foreign/stranger"; sleep 0.01; done) &
strangers=$!
"$top/tools/demo.sh" >"$work/out" 2>&1
status=$?
kill $strangers
[ $status = 0 ] || fail "the demo ends with $status: $(cat "$work/out")"
grep -q "$(printf '\033')" "$work/out" && fail "colours in a file"
grep -q stranger "$work/out" &&
	fail "events of programs that the demo did not start: $(grep stranger "$work/out")"
has "$(cat "$work/out")" '^No event was lost'
lines=$(wc -l <"$work/out")
[ "$lines" -le 180 ] || fail "$lines lines"
first=$(grep -n -m 1 '^\[[0-9:.]*\] ' "$work/out" | cut -d : -f 1)
[ "${first:-1000}" -le 60 ] || fail "the first event is in line ${first:-none}"
checks=$((checks + 6))
echo "$checks checks"
