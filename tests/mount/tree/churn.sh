#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 180
#
# Thousands of sessions that come and go, idle, started and recording; hundreds of readers of every
# kind that die in the middle. The daemon's memory, descriptors and threads are what they were
# before.
. "$(dirname "$0")/../../lib/mount.sh"
sessions=${CHURN_SESSIONS:-100} readers=${CHURN_READERS:-200} crowds=20
[ -z "${SOAK-}" ] || sessions=10000 readers=10000 crowds=100
mount_tree
pid=$(daemon_pids)
rss() { awk '/^RssAnon/ { print $2 }' "/proc/$pid/status"; }
descriptors() { find "/proc/$pid/fd" -mindepth 1 | wc -l; }
threads() { find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l; }

# come_and_go COUNT
come_and_go() {
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		mkdir "$S/s" || fail "mkdir, round $i"
		case $((i % 4)) in
		1) echo 'a:*' >"$S/s/user/events" && echo start >"$S/s/control" ||
			fail "start, round $i" ;;
		2)
			echo 'trail:log' >"$S/s/user/events" && echo start >"$S/s/control" &&
				echo "message $i" >"$MNT/log" || fail "log, round $i"
			[ $((i % 50)) != 2 ] || grep -q "message $i" "$S/s/text" ||
				fail "no message in round $i"
			;;
		3) mkdir "$S/s/user/channels/c" "$S/s/user/channels/d" &&
			rmdir "$S/s/user/channels/c" || fail "channel, round $i" ;;
		esac
		rmdir "$S/s" || fail "rmdir, round $i"
	done
}
# An allocator keeps free memory between blocks in use. (10,000 sessions: 0.4 kB of each.)
small() { [ "$(rss)" -le $((before + 4096)) ]; }
# as_before WHAT: within the noise of an allocator; waits for moments that are still held
as_before() {
	[ -n "${SAN-}" ] || within 15 small || fail "$1: memory: $before kB before, $(rss) kB now"
	calm() { [ "$(key frozen_bytes "$MNT/status")" = 0 ] && [ "$(descriptors)" -le "$fds" ] &&
		[ "$(threads)" -le "$tasks" ]; }
	within 15 calm || fail "$1: $fds descriptors before, $(descriptors) now; $tasks threads, $(threads); $(key frozen_bytes "$MNT/status") bytes frozen"
	echo "$1: $before kB before, $(rss) kB after; $fds descriptors"
}

# By the hundred
crowds() {
	names=$(seq -f 'crowd%.0f' 100)
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		# shellcheck disable=SC2086
		(cd "$S" && mkdir $names && rmdir $names) || fail "crowd $i: $(cat "$MNT/error")"
	done
}

come_and_go 100
crowds 1
before=$(rss) fds=$(descriptors) tasks=$(threads)
come_and_go "$sessions"
as_before "$sessions sessions"
crowds $crowds
as_before "${crowds}00 sessions"
is "sessions" 0 "$(key sessions "$MNT/status")"
is "directories of sessions" "" "$(ls "$TRAIL_RUNTIME_DIR/sessions")"

# Readers: some kB held, and a recording that continues
mkdir "$S/r" "$S/r/user/channels/c" && echo 64k >"$S/r/user/channels/c/subbuf_size" &&
	echo 'trail:log' >"$S/r/user/channels/c/events" &&
	echo start >"$S/r/control" || fail "session"
seq -f 'message %.0f of those that are read and read again' 3000 >"$MNT/log"
stream=$(find "$S/r/user/channels/c/streams" -type f | head -n 1)
packets=$(find "$S/r/trace" -type f -size +40k ! -name '*.idx' | head -n 1)
[ -n "$stream" ] && [ -n "$packets" ] || fail "no stream"
# die COUNT: each has read a part, or waits for more, or has just begun, and is killed
die() {
	n=0
	while [ $n -lt "$1" ]; do
		pids=
		for f in "$S/r/text" "$S/r/pipe" "$stream" "$packets" "$S/r/wait"; do
			cat "$f" >/dev/null 2>&1 &
			pids="$pids $!"
			dd if="$f" of="$work/fifo" bs=512 2>/dev/null &
			pids="$pids $!"
			n=$((n + 2))
		done
		[ $((n % 100)) != 0 ] || echo "message in round $n" >"$MNT/log"
		[ $((n % 40)) != 0 ] || sleep 0.05
		# shellcheck disable=SC2086
		kill -9 $pids 2>/dev/null
		# shellcheck disable=SC2086
		wait $pids 2>/dev/null
	done
}
# What is written there stays there, so that its writers stand after a pipe's worth of bytes.
mkfifo "$work/fifo" && exec 4<>"$work/fifo"
die 100
sleep 2         # until what that needed was given back
before=$(rss) fds=$(descriptors)
die "$readers"
as_before "$readers readers"
is "text" "$(key events_recorded "$S/r/status")" "$(wc -l <"$S/r/text")"
[ "$(timeout 200 head -c 20000 "$S/r/pipe" | wc -c)" = 20000 ] || fail "pipe does not work any more"
echo stop >"$S/r/control" && rmdir "$S/r" || fail "stop, rmdir"
is "buffers" 0 "$(key buffers "$MNT/status")"
echo "$checks checks"
