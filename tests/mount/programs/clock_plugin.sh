#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Clock plug-ins (LTTNG_UST_CLOCK_PLUGIN): sessions with the clock `plugin` have the times, and in
# the metadata the clock, of the program's plug-in; other sessions have the tracer's at the same
# time. CPU plug-ins (LTTNG_UST_GETCPU_PLUGIN): the context cpu_id, in events and filters.
# Programs rebuilt with our headers, and where LTTng's are installed unmodified ones.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
src=$work/src
mkdir "$src"
cp "$here"/compat/tick* "$here"/plugins/* "$src/"

# build INCLUDE LIBRARY…: $work/simulation, $work/clock.so
build() {
	include=$1
	shift
	(cd "$src" && gcc -O1 -w -I. $include -rdynamic -o "$work/simulation" simulation.c tick_provider.c \
		"$@" -ldl && gcc -O1 -w $include -fPIC -shared -o "$work/clock.so" clock.c "$@" &&
		gcc -O1 -w $include -fPIC -shared -o "$work/getcpu.so" getcpu.c "$@") ||
		fail "building with $*"
}
# session NAME [CLOCK [CTF VERSION]]
session() {
	mkdir "$S/$1" && put 'compat_tick:*' "$S/$1/user/events" || fail "session $1"
	put "${2-mono}" "$S/$1/clock" && put "${3-1.8}" "$S/$1/ctf_version" || fail "session $1"
	put start "$S/$1/control"
}
# simulate FREQUENCY [COUNT]
simulate() { FREQ=$1 LTTNG_UST_CLOCK_PLUGIN=$work/clock.so one_cpu "$work/simulation" ${2-} </dev/null || fail "simulation: $?"; }
# shown FILE: "TIME VALUE" of the program's first events
shown() { sed -n 's/^\[\([^]]*\)\].* v = \([1-5]\) }$/\1 \2/p' "$1"; }


# recorded NAME [CTF VERSION]: in sessions NAME, with the clock `plugin`, and NAME-mono
recorded() {
	session "$1" plugin ${2-}
	session "$1-mono"
	simulate 1000 3000
	simulate 1024 10
	mkfifo "$work/$1.end"
	"$work/simulation" <"$work/$1.end" &
	exec 3>"$work/$1.end"
	count=$((3 * 5 + 3010))
	within 60 all_came "$1-mono" || fail "$1-mono: $(tail -n 1 "$S/$1-mono/text")"
	has "$(cat "$S/$1/status")" '^other_clock [1-9]'
	has "$(cat "$S/$1/status")" '^plugin_clock virtual_time 1000 Hz$'
	is "$1: pipe" '00:00:05.001000000 2' \
		"$(timeout 60 head -n 5 "$S/$1/pipe" >"$work/pipe"; shown "$work/pipe" | sed -n 2p)"
	exec 3>&-
	wait $!
	put stop "$S/$1/control"
	put stop "$S/$1-mono/control"
	judge "$1"
	shown "$S/$1-mono/text" | grep '^00:00:05' && fail "$1-mono has virtual times"
}
# cpus NAME: the plug-in's numbers, with rings of CPUs and of threads
cpus() {
	mkdir "$S/$1" && put 'compat_tick:*' "$S/$1/user/events" && put cpu_id "$S/$1/user/contexts" &&
		mkdir "$S/$1/user/channels/some" || fail "session $1"
	put 'compat_tick:* if $ctx.cpu_id == 5001' "$S/$1/user/channels/some/events"
	put start "$S/$1/control"
	for rseq in 0 1; do
		LTTNG_UST_DEBUG=1 TRAIL_RSEQ=$rseq LTTNG_UST_GETCPU_PLUGIN=$work/getcpu.so one_cpu \
			"$work/simulation" </dev/null 2>"$work/debug" || fail "CPU plug-in: $?"
		has "$(cat "$work/debug")" "CPU plug-in: $work/getcpu.so is used"
	done
	put stop "$S/$1/control"
	seen='s/.*tick: { cpu_id = [0-9]* },\(.*\) { from = .* v = \([0-9]\) }$/\1\2/p'
	is "$1: contexts and a filter" "$(for i in 1 2; do printf '%s\n' ' { cpu_id = 5000 },1' \
		2 ' { cpu_id = 5001 },2' ' { cpu_id = 4000 },3' ' { cpu_id = 70000000 },4' \
		' { cpu_id = 0 },5'; done | sort)" "$(sed -n "$seen" "$S/$1/text" | sort)"
	has "$(LTTNG_UST_DEBUG=1 LTTNG_UST_GETCPU_PLUGIN=/none "$work/simulation" </dev/null 2>&1)" \
		'CPU plug-in: /none: cannot open'
}
all_came() { [ "$(grep -c tick "$S/$1/text")" = $count ]; }

# judge NAME: the virtual times, here and by babeltrace2
judge() {
	same_text "$S/$1"
	shown "$work/text" >"$work/have"
	printf '%s\n' '00:00:05.000000000 1' '00:00:05.001000000 2' '00:00:05.001000000 3' \
		'19:26:40.000000000 4' '15:47:35.552000000 5' | cmp - "$work/have" ||
		fail "$1: $(cat "$work/have")"
	is "$1: events" 3005 "$(wc -l <"$work/text")"
	is "$1: discarded" 0 "$(key events_discarded "$S/$1/status")"
	is "$1: json" "$(grep -c . "$work/text")" "$(wc -l <"$S/$1/export/json")"
	has "$(tail -n 1 "$work/text")" '15:47:38.5510.* v = 6 }$'
}

mount_tree
build "-I$top/ustlib/lttng -I$top/ustlib" -L"$BUILD" -ltrail -Wl,-rpath,"$BUILD"
recorded ours
metadata=$(find "$S/ours/trace" -name metadata)
for line in 'name = "virtual_time";' 'uuid = "0f7e2a54-91c3-4d3b-8a3a-3d0cb1f1a001";' 'freq = 1000;' \
	'description = "The \\"time\\" of a simulation";' 'offset = 0;'; do
	has "$(babeltrace2 -o ctf-metadata "${metadata%/*}")" "$line"
done
is "the virtual times of the trace" "5000 5001 5001 70000000 $((1 << 41))" \
	"$(babeltrace2 --clock-cycles "$S/ours/trace" | sed -n 's/^\[0*\([0-9]*\)\].* v = [1-5] }$/\1/p' | xargs)"

cpus cpus

# The session keeps its clock when a daemon dies.
kill -9 $(daemon_pids)
within 60 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
judge ours
is "the clock after the daemon's death" 'mono tai [plugin]' "$(cat "$S/ours/clock")"

# Not with times of others
mkdir "$S/live" && put plugin "$S/live/clock" && put 1s "$S/live/live_period" &&
	put '*' "$S/live/user/events" || fail "live"
echo start >"$S/live/control" 2>/dev/null && fail "it has a live_period"
has "$(cat "$S/live/error")" 'clock is plugin has no live_period'

# With LTTng's headers and libraries, then run with ours
printf '#include <lttng/tracepoint.h>\n' | gcc -E - >/dev/null 2>&1 && [ -e "$BUILD/lttng/liblttng-ust.so.1" ] || {
	echo "$checks checks; liblttng-ust-dev is not installed"
	exit 0
}
build "" -llttng-ust -llttng-ust-common
export LD_LIBRARY_PATH="$BUILD/lttng"
recorded unmodified
cpus unmodified-cpus
echo "$checks checks"
