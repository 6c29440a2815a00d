#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Applications: before the daemon and after it, forked, with buffers of their own, without
# restartable sections, under valgrind; what apps/ and available/ say of them; the log; and that
# nothing is left of them.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
mkdir -p "$TRAIL_RUNTIME_DIR/apps"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"

key() { sed -n "s/^$1 //p" "$2"; }
same() {
	cat "$1/text" >"$work/text"
	TZ=UTC babeltrace2 "$1/trace" >"$work/bt2" 2>"$work/bt2.err" ||
		fail "babeltrace2: $(cat "$work/bt2.err")"
	cmp "$work/text" "$work/bt2" || fail "$1: text and babeltrace2 differ"
}
session() {
	mkdir "$S/$1" && put '*' "$S/$1/user/events" || fail "session $1"
}

# An application that was there first; no thread of ours is in it.
"$ticker" 20000 1000 &
early=$!
sleep 0.3
[ "$(ls /proc/$early/task | wc -l)" = 1 ] || fail "an extra thread"
mount_tree
within 5 test -d "$MNT/apps/$early" || fail "not in apps: $(ls "$MNT/apps")"
[ "$(cat "$MNT/apps/$early/comm")" = ticker ] || fail "comm"
[ "$(cat "$MNT/apps/$early/uid")" = "$(id -u)" ] || fail "uid"
[ "$(cat "$MNT/apps/$early/tracepoints")" = "tick:tock debug_line" ] || fail "tracepoints"
grep -q '^tick:tock debug_line$' "$MNT/available/user/tracepoints" || fail "available"
session early
put start "$S/early/control"
have_events() { [ -n "$(head -n 1 "$S/early/text")" ]; }
within 5 have_events || fail "an application from before the daemon is not traced"
[ "$(ls /proc/$early/task | wc -l)" = 1 ] || fail "an extra thread when traced"
put stop "$S/early/control"
same "$S/early"
kill $early
wait $early 2>/dev/null
gone() { [ ! -e "$MNT/apps/$early" ] && [ -z "$(ls "$TRAIL_RUNTIME_DIR/apps")" ]; }
within 5 gone || fail "left of a killed application: $(ls "$TRAIL_RUNTIME_DIR/apps")"

# From its first event to its last, and its child's.
session whole
put start "$S/whole/control"
"$ticker" 1000 0 3 fork || fail "ticker"
put stop "$S/whole/control"
same "$S/whole"
for t in 0 1 2 100 101; do
	n=$(grep -c "thread = $t," "$work/text")
	[ "$n" = 1000 ] || fail "thread $t: $n events; $(cat "$S/whole/status")"
done

# A buffer for each process
mkdir "$S/own" && mkdir "$S/own/user/channels/c" || fail "mkdir"
put process "$S/own/user/channels/c/buffering"
put 'tick:*' "$S/own/user/channels/c/events"
put start "$S/own/control"
"$ticker" 10 0 2 fork || fail "ticker"
"$ticker" 10 0 || fail "ticker"
put stop "$S/own/control"
same "$S/own"
[ "$(wc -l <"$work/text")" = 50 ] || fail "$(wc -l <"$work/text") events"
[ "$(ls "$S/own/trace/ust/pid" | grep -c '^ticker-[0-9]*-[0-9]*-[0-9]*$')" = 3 ] ||
	fail "$(ls "$S/own/trace/ust/pid")"
[ "$(ls "$S/own/user/channels/c/streams" | wc -l)" = 3 ] || fail "owners"

# Rings for threads
session threads
put start "$S/threads/control"
TRAIL_RSEQ=0 "$ticker" 500 0 5 fork || fail "ticker without rseq"
GLIBC_TUNABLES=glibc.pthread.rseq=0 "$ticker" 500 0 2 fork || fail "ticker without libc's rseq"
put stop "$S/threads/control"
same "$S/threads"
[ "$(wc -l <"$work/text")" = 5500 ] ||
	fail "$(wc -l <"$work/text") events; $(cat "$S/threads/status")"

# Under valgrind (which has no rseq): the same events, and no complaint.
if command -v valgrind >/dev/null; then
	session valgrind
	put start "$S/valgrind/control"
	valgrind -q --error-exitcode=9 "$ticker" 5 0 2 fork 2>"$work/valgrind" ||
		fail "valgrind: $(cat "$work/valgrind")"
	put stop "$S/valgrind/control"
	same "$S/valgrind"
	[ "$(wc -l <"$work/text")" = 20 ] || fail "valgrind: $(wc -l <"$work/text") events"
fi

# The log
session log
put start "$S/log/control"
printf 'first line\nsecond "line"\n' >"$MNT/log" || fail "log"
put stop "$S/log/control"
same "$S/log"
grep -q ' trail:log: { cpu_id = 0 }, { msg = "first line" }$' "$work/text" ||
	fail "$(cat "$work/text")"
[ "$(wc -l <"$work/text")" = 2 ] || fail "log: $(cat "$work/text")"
within 5 gone || fail "left: $(ls "$TRAIL_RUNTIME_DIR/apps")"
