#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# live_period: babeltrace2 follows a session by way of the relay, and gets every event, in order;
# the mount shows the same meanwhile; a reader that is killed and one that comes after it, with
# kernel and user events in one session; what is refused.
# SOAK=1: a run of 30 s, and how late its events come.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay

refused() { # VALUE FILE ERRNO PATTERN
	is "echo '$1' > $2" "$3" "$(tool open "$2" wt write "$1\n")"
	has "$(cat "$S"/*/error)" "$4"
}
connected() { grep -q '^relay connected' "$S/live/status"; }
follows() { "$ticker" 10 0 2 && [ -s "$work/live" ]; }
# The run with the most threads is the one that is looked at: its threads are 3 to 5.
seen() { grep -c 'thread = [345],' "$work/live"; }
all_seen() { [ "$(seen)" = $((3 * ticks)) ]; }

ticks=2000 pause=200 clock=--clock-gmt out=$work/live
without_time() { cat; }
if [ -n "${SOAK-}" ]; then
	ticks=30000 pause=1000 clock=--clock-seconds out=$work/lines
	without_time() { sed 's/^[^)]*) //'; }
	${CC:-cc} -o "$work/delays" "$top/tests/bench/delays.c" || skip "no compiler"
	mkfifo "$out"
	tee "$work/live" <"$out" | grep --line-buffered 'thread = [345],' |
		"$work/delays" >"$work/late" &
fi

start_relay
mount_tree -o tz=UTC
relay_session live
is "live_period" 0 "$(cat "$S/live/live_period")"
refused 1 "$S/live/live_period" EINVAL 'from 10ms'
refused 2h "$S/live/live_period" EINVAL 'from 10ms'
put 200ms "$S/live/live_period"
is "live_period" 200000 "$(cat "$S/live/live_period")"
has "$(cat "$S/live/config")" '^live_period = 200000'
put start "$S/live/control"
refused 1s "$S/live/live_period" EBUSY 'first started'
within 20 connected || fail "not connected: $(cat "$S/live/status")"

TZ=UTC babeltrace2 $clock --input-format=lttng-live \
	"net://127.0.0.1:$live_port/host/$(hostname)/live" \
	>"$out" 2>"$work/live.err" &
reader=$!
# A reader begins with what is sent after it has come.
within 30 follows || fail "the reader gets nothing: $(cat "$work/live.err")"
"$ticker" $ticks $pause 6 || fail ticker
# The session is active all the time: these come because of the period.
within 30 all_seen
is "events that the reader has before the session is stopped ($(cat "$work/live.err"))" \
	$((3 * ticks)) "$(seen)"
grep 'thread = [345],' "$work/live" | without_time >"$work/live.run"
grep 'thread = [345],' "$S/live/text" | without_time | cmp - "$work/live.run" ||
	fail "text is not what the reader has got"
put stop "$S/live/control"
same_as_trace live "$(relay_dir live)"
rmdir "$S/live"
within 30 sh -c "! kill -0 $reader 2>/dev/null" ||
	fail "the reader does not see the end of the session"
wait $reader || fail "babeltrace2: $(cat "$work/live.err")"
[ -z "${SOAK-}" ] || {
	within 10 [ -s "$work/late" ]
	read -r n median most <"$work/late"
	is "events of the run" $((3 * ticks)) "$n"
	echo "live: $n events, $median ms late, at most $most"
	# Half of the events come within two periods however busy the machine is.
	[ "${median%.*}" -le 400 ] || fail "half of the events are later than two periods"
}
grep -v '^$' "$work/live.err" | grep -q 'E PLUGIN\|ERROR' &&
	fail "babeltrace2: $(cat "$work/live.err")"

# Kernel and user events in one session, with streams that stay empty: the reader waits for none of
# them. A relay has one reader for a session; a reader that is killed leaves its place to the next.
follow() { # SESSION
	TZ=UTC babeltrace2 --clock-gmt --input-format=lttng-live \
		"net://127.0.0.1:$live_port/host/$(hostname)/$1" >"$work/live" 2>"$work/live.err" &
	reader=$!
}
# The relay may not have noticed yet that the reader before was killed.
follows_busy() {
	kill -0 $reader 2>/dev/null || follow busy
	"$ticker" 1 0 && [ -s "$work/live" ]
}
wanted() { grep "thread = [23],\|tid = $pid " "$1"; }
seen_all() { wanted "$work/live" | cmp -s - "$work/text"; }

relay_session busy
s=$S/busy kernel=
[ "$(id -u)" != 0 ] || grep -q '^kernel none' "$MNT/version" || kernel=yes
if [ -n "$kernel" ]; then
	put syscall:getppid "$s/kernel/events"
	put tid "$s/kernel/contexts"
fi
mkdir "$s/user/channels/empty" && put 'none:*' "$s/user/channels/empty/events"
put 100ms "$s/live_period"
put start "$s/control"
follow busy
within 30 follows_busy || fail "the reader gets nothing: $(cat "$work/live.err")"
kill -9 $reader
wait $reader 2>/dev/null
"$ticker" 300 0 2 || fail ticker
: >"$work/live"
within 60 follows_busy || fail "the next reader gets nothing: $(cat "$work/live.err")"
"$ticker" 2000 100 4 &
program=$!
pid=none
[ -z "$kernel" ] || pid=$("$BUILD/tests/lib/calls" 3000)
# Reading the mount meanwhile takes nothing from the relay.
timeout 20 cat "$s/text" >/dev/null || fail "text does not end"
wait $program || fail ticker
wanted "$s/text" >"$work/text"
is "events of the program" 4000 "$(grep -c 'thread = [23],' "$work/text")"
[ -z "$kernel" ] || is "system calls" 6000 "$(grep -c "tid = $pid " "$work/text")"
within 60 seen_all ||
	fail "the reader has not what text has: $(cat "$work/live.err"; wanted "$work/live" |
	cmp - "$work/text")"
put stop "$s/control"
same_as_trace busy "$(relay_dir busy)"
rmdir "$s"
within 30 sh -c "! kill -0 $reader 2>/dev/null" ||
	fail "the reader does not see the end of the session"
wait $reader || fail "babeltrace2: $(cat "$work/live.err")"
echo "$checks checks"
