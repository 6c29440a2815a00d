#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# `stats` and `top` of a session: the numbers of events, of processes and of pairs, and the times between
# pairs, are those that an independent program counts in babeltrace2's text of the same trace: of
# threads and of processes, with and without contexts, when buffers were overwritten, after a
# program was killed, in the files of an output, and of the kernel.
. "$(dirname "$0")/../../lib/mount.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
python3 -c 'import shlex' 2>/dev/null || skip "there is no python3"
TICKER=${TICKER:-$BUILD/tests/lib/ticker}
PAIRS=$BUILD/tests/mount/views/pairs
[ -x "$TICKER" ] && [ -x "$PAIRS" ] || skip "there is no ticker, or no pairs"
mount_tree

# judge SESSION [FILE]: into $work/judged: events, processes, pairs
judge() {
	babeltrace2 --clock-seconds "$1/trace" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2: $(cat "$work/bt.err")"
	cat "$1/${2:-stats}" >"$work/table" || fail "cannot read $1/${2:-stats}"
	python3 "$top/tests/lib/judge_stats.py" "$work/bt" "$work/table" ${2:+"$2"} >"$work/judged" 2>&1 ||
		fail "$1: $(head -c 2000 "$work/judged")"
	checks=$((checks + 1))
}
run() {
	"$@" || fail "$*"
}
# column TABLE NAME N: of the line whose last word is NAME
column() {
	awk -v t="$1" -v e="$2" -v n="$3" '$1 == t && $NF == e { print $n }' "$work/table"
}

# --- threads, which call functions in each other, of two processes
s=$S/threads
mkdir "$s"
is "nothing yet" "span 0.000000000 - -|events 0             -|lost 0 0 0 0" "$(grep -v '^#' "$s/stats" | paste -sd '|')"
echo 'vpid vtid procname' >"$s/user/contexts"
echo '*' >"$s/user/events"
put start "$s/control"
"$PAIRS" 300 3 &
run "$PAIRS" 200 2
wait $! || fail "pairs"
put stop "$s/control"
judge "$s"
judged=$(cat "$work/judged")
is "threads" "$(wc -l <"$work/bt") 4 2" "$judged"
is "inner" "thread 2600 0 0" "$(awk '$1 == "pair" && $NF == "work:inner" { print $3, $4, $5, $6 }' "$work/table")"
is "only begins" "" "$(column pair work:lonely 4)"
# The second before the last event, and not what was before it.
put start "$s/control"
sleep 1.1
run "$PAIRS" 50 2
put stop "$s/control"
judge "$s" top
[ "$(awk '$1 == "events" { print $2 }' "$work/table")" -lt "$(wc -l <"$work/bt")" ] || fail "top has all events"
put clear "$s/control"
within 20 eval 'grep -q "^events 0 " "$s/stats"' || fail "after clear: $(cat "$s/stats")"
rmdir "$s"

s=$S/live
mkdir "$s"
echo '*' >"$s/user/events"
put start "$s/control"
"$TICKER" 0 2000 >/dev/null &
app=$!
on_top() {
	awk '$1 == "span" { t = $2 } $1 == "event" { print t, $NF }' "$s/top" | grep -q '^1.000000000 tick:tock$'
}
within 20 on_top || fail "the program is not in top: $(cat "$s/top")"
kill $app
wait $app
rmdir "$s"

# --- without contexts: by CPU; buffers of each process know their process
s=$S/plain
mkdir "$s" "$s/user/channels/each"
echo process >"$s/user/channels/each/buffering"
echo 'work:*' >"$s/user/channels/each/events"
put start "$s/control"
run one_cpu "$PAIRS" 100 1
put stop "$s/control"
cat "$s/stats" >"$work/table"
is "by CPU" "cpu 200 0 0" "$(awk '$1 == "pair" && $NF == "work:inner" { print $3, $4, $5, $6 }' "$work/table")"
is "its process" "$(awk '$1 == "events" { print $2 }' "$work/table") -" "$(awk '$1 == "process" { print $3, $6 }' "$work/table")"
is "its name" pairs "$(awk '$1 == "process" { print $NF }' "$work/table")"
rmdir "$s"

# --- overwritten, and a program that is killed
s=$S/small
mkdir "$s" "$s/user/channels/channel0"
echo 8192 >"$s/user/channels/channel0/subbuf_size"
echo 2 >"$s/user/channels/channel0/subbuf_count"
echo vtid >"$s/user/contexts"
echo '*' >"$s/user/events"
put start "$s/control"
"$TICKER" 0 0 >/dev/null &
app=$!
overwritten() {
	[ "$(key events_overwritten "$s/status")" -gt 1000 ]
}
within 20 overwritten || fail "nothing was overwritten"
cat "$s/stats" >/dev/null || fail "stats while events come"
kill -9 $app
wait $app 2>/dev/null
run "$PAIRS" 100 2
put stop "$s/control"
judge "$s"
is "lost" "0 $(key events_overwritten "$s/status")" "$(awk '$1 == "lost" { print $2, $3 }' "$work/table")"
rmdir "$s"

# --- the text that a stat(2) makes is kept for the read after it, until an event comes or goes
s=$S/kept
mkdir "$s" "$s/user/channels/channel0"
echo 4096 >"$s/user/channels/channel0/subbuf_size"
echo 2 >"$s/user/channels/channel0/subbuf_count"
echo '*' >"$s/user/events"
put start "$s/control"
now() {
	stat "$s/stats" >/dev/null && awk '$1 == "events" || $1 == "lost" { print $2, $3 }' "$s/stats" | paste -sd ' '
}
for i in 1 2 3; do
	run "$TICKER" 3
	is "after $i events" "$((3 * i)) 0 0" "$(now | awk '{ print $1, $3, $4 }')"
	is "and again" "$((3 * i)) 0 0" "$(now | awk '{ print $1, $3, $4 }')"
done
run "$TICKER" 2000
judge "$s"
is "what is overwritten meanwhile" "0 $(key events_overwritten "$s/status")" "$(now | awk '{ print $3, $4 }')"
put stop "$s/control"
judge "$s"
put clear "$s/control"
within 20 eval 'grep -q "^events 0 " "$s/stats"' || fail "after clear: $(cat "$s/stats")"
put start "$s/control"
run "$TICKER" 5
is "after clear" 5 "$(now | awk '{ print $1 }')"
rmdir "$s"

# --- an output
s=$S/written
mkdir "$s" "$work/out"
echo 'vtid' >"$s/user/contexts"
echo '*' >"$s/user/events"
put "$work/out" "$s/output"
put start "$s/control"
run "$PAIRS" 200 2
put stop "$s/control"
judge "$s"
rmdir "$s"

# --- the kernel: system calls, interrupts, wakeups
if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/kernel
	mkdir "$s"
	printf '%s\n' 'sched_switch' 'sched_wakeup*' 'irq_*' 'syscall:*' >"$s/kernel/events" || fail "kernel rules"
	echo 'pid tid procname' >"$s/kernel/contexts"
	echo $$ >"$s/kernel/track/pid"
	put start "$s/control"
	ls /proc/self >/dev/null
	put stop "$s/control"
	judge "$s"
	[ "$(column pair syscall:openat 4)" -gt 0 ] || fail "no openat: $(cat "$work/table")"
	rmdir "$s"
fi
echo "$checks checks"
