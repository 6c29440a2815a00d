#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The state directory fails. A start that cannot write there leaves no descriptor open. A rotation
# whose directories have moved, but which cannot be noted, is undone: the chunk continues where it
# was, and the next rotation has all of it.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
ticker=$BUILD/tests/lib/ticker
HEADS_FAIL=$work/fail
export HEADS_FAIL
can_mount
LD_PRELOAD=$BUILD/tests/mount/output/libheads.so "$TRAILFS" "$MNT" -o tz=UTC,wait=100000 \
	>"$work/daemon.log" 2>&1 || {
	[ "$(id -u)" = 0 ] ||
		skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
	fail "cannot mount"
}
events() { TZ=UTC babeltrace2 "$1" 2>"$work/warnings" | grep -c tick:tock; }
descriptors() { ls /proc/"$(daemon_pids)"/fd | wc -l; }

s=$S/s
mkdir "$s" "$s/user/channels/c" || fail mkdir
put "$work/out" "$s/output"
put 'tick:*' "$s/user/channels/c/events"
echo 0 >"$HEADS_FAIL"
is "start" EIO "$(tool open "$s/control" w write 'start\n')"
before=$(descriptors)
for i in 1 2 3 4 5; do
	is "start" EIO "$(tool open "$s/control" w write 'start\n')"
done
as_before() { [ "$(descriptors)" = "$before" ]; }
within 10 as_before || fail "$before descriptors before five more failures, $(descriptors) after"
rm "$HEADS_FAIL"
put start "$s/control"

"$ticker" 100 0 || fail ticker
echo 2 >"$HEADS_FAIL"
is "rotate" EIO "$(tool open "$s/control" w write 'rotate\n')"
has "$(cat "$s/error")" 'Input/output error'
rm "$HEADS_FAIL"
is "the chunk is where it was" "$work/out/ust" "$(ls -d "$work/out/ust")"
is "archives" '' "$(ls "$work/out/archives")"
"$ticker" 100 0 || fail ticker
is "events in trace/" 200 "$(events "$s/trace")"
put rotate "$s/control"
is "archives after the next rotation" 1 "$(ls "$work/out/archives" | wc -l)"
is "events in the archive" 200 "$(events "$work/out/archives")"
"$ticker" 100 0 || fail ticker
put stop "$s/control"
rmdir "$s" || fail rmdir
is "events in all" 300 "$(events "$work/out/archives")"
echo "$checks checks"
