#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Where inclusion sets leave threads out, pictures show no thread as running when it did not run: a
# second session records each switch of all CPUs in the meantime, and each run of a thread in
# chrome.json and timeline.html must be one there, from one switch of its CPU to the next. A CPU
# runs one thread at a time. Where Chromium is installed and starts, a CPU's row is blank when no
# record says what the CPU runs.
. "$(dirname "$0")/../../lib/mount.sh"

python3 -c 'import json' 2>/dev/null || skip "there is no python3"
mount_tree
[ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version" ||
	skip "nothing is traced in the kernel here"
know_pids

# record NAME RULE…: a program that sleeps and works, beside others that only work
record() {
	d=$work/$1
	s=$S/$1
	shift
	mkdir "$d" "$s" "$S/truth" && mkfifo "$work/go" || fail "mkdir"
	printf '%s\n' "$@" >"$s/kernel/events"
	echo sched_switch >"$S/truth/kernel/events"
	for channel in "$s" "$S/truth"; do
		echo 4M >"$channel/kernel/channels/channel0/subbuf_size"
		echo 4 >"$channel/kernel/channels/channel0/subbuf_count"
	done
	echo 'pid tid procname' >"$s/kernel/contexts"
	sh -c 'read x <"$1"; n=0
		while [ $n -lt 60 ]; do sleep 0.001; n=$((n + 1)); ls / >/dev/null; done' \
		sh "$work/go" &
	p=$!
	busy=
	for i in 1 2 3 4; do
		sh -c 'while :; do n=0; while [ $n -lt 2000 ]; do n=$((n + 1)); done; sleep 0; done' &
		busy="$busy $!"
	done
	echo $p >"$s/kernel/track/pid" || fail "track"
	put start "$S/truth/control"
	put start "$s/control"
	echo >"$work/go"
	wait $p
	put stop "$s/control"
	put stop "$S/truth/control"
	kill $busy
	wait $busy 2>/dev/null
	for f in json chrome.json perfetto timeline.html flame.svg flame.folded; do
		cat "$s/export/$f" >"$d/$f" || fail "cannot read $f"
	done
	cat "$s/stats" >"$d/stats" && cat "$S/truth/export/json" >"$d/truth" || fail "cannot read"
	rmdir "$s" "$S/truth"
	rm "$work/go"
}

# judge NAME
judge() {
	if [ -n "$chromium" ]; then
		python3 "$top/tests/lib/browse_runs.py" "$work/$1" >"$work/browsed" 2>&1
		case $? in
		0) echo "# $1: $(cat "$work/browsed") blank columns" ;;
		77) chromium= && echo "# chromium does not work here: $(tail -n 1 "$work/browsed")" ;;
		*) fail "$1: $(tail -n 5 "$work/browsed")" ;;
		esac
	fi
	python3 "$top/tests/lib/judge_runs.py" "$work/$1/truth" "$work/$1" >"$work/judged" 2>&1
	case $? in
	0) checks=$((checks + 1)) ;;
	77) skip "$1: $(cat "$work/judged")" ;;
	*) fail "$1: $(tail -n 5 "$work/judged")" ;;
	esac
	read -r runs unknown <"$work/judged"
	echo "# $1: $runs runs, $unknown switches to threads that run for an unknown time"
	[ "$runs" -gt 20 ] && [ "$unknown" -gt 20 ] || fail "$1: too few: $(cat "$work/judged")"
	python3 "$top/tests/lib/judge_slices.py" "$work/$1/json" "$work/$1/chrome.json" \
		"$work/$1/perfetto" "$work/$1/timeline.html" "$work/$1/flame.svg" "$work/$1/stats" \
		"$work/$1/flame.folded" tracked >"$work/judged" 2>&1 ||
		fail "$1: $(tail -c 3000 "$work/judged")"
	checks=$((checks + 1))
}
chromium=$(command -v chromium)
record calls sched_switch sched_waking 'sched_wakeup*' 'syscall:*'
judge calls
# Without system calls, only switches to the idle thread say who is in the sets.
record interrupts sched_switch 'irq_softirq_*'
judge interrupts
echo "$checks checks"
