#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# A kernel channel with an output: its files are what `text` shows and what was recorded; both
# domains at once.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "only root traces the kernel"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
out=$work/out

mount_tree -o tz=UTC
grep -q '^kernel tracefs' "$MNT/version" ||
	skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"
s=$S/k
mkdir "$s" && put "$out" "$s/output"
put sched_switch "$s/kernel/events"
put 'tick:*' "$s/user/events"
put start "$s/control"
"$ticker" 500 100 || fail ticker
# Looking makes events, but comes to an end.
timeout 200 cat "$s/text" >/dev/null || fail "text does not end"
put rotate "$s/control"
"$ticker" 500 100 || fail ticker
put stop "$s/control"
recorded=$(key events_recorded "$s/status")
rmdir "$s" || fail rmdir
for chunk in "$out"/archives/*; do
	TZ=UTC babeltrace2 "$chunk" >>"$work/all" 2>"$work/warnings" ||
		fail "babeltrace2 does not accept it: $(cat "$work/warnings")"
	[ -f "$chunk/kernel/metadata" ] || fail "no kernel trace in ${chunk##*/}"
done
is "chunks" 2 "$(ls "$out/archives" | wc -l)"
is "events" "$recorded" "$(wc -l <"$work/all")"
is "the program's" 1000 "$(grep -c tick:tock "$work/all")"
[ "$(grep -c sched_switch "$work/all")" -gt 100 ] || fail "hardly any sched_switch"
echo "$checks checks"
