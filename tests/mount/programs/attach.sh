#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Nothing is lost because a program, a thread, a child or a session begins: threads that hit while
# another attaches wait for it, and a program that begins while a session is active has attached
# before main. A daemon that stands still is waited for once.
. "$(dirname "$0")/../../lib/mount.sh"
burst=$BUILD/tests/mount/programs/burst
mount_tree
pid=$(daemon_pids)
there() { [ -e "$1" ]; }

session() { # NAME [BUFFERING]: a session with room for all, not started
	mkdir "$S/$1" "$S/$1/user/channels/c" && echo 1M >"$S/$1/user/channels/c/subbuf_size" &&
		echo discard >"$S/$1/user/channels/c/loss_mode" &&
			echo 'burst:*' >"$S/$1/user/channels/c/events" || fail "session $1"
	[ -z "${2-}" ] || echo "$2" >"$S/$1/user/channels/c/buffering" || fail "$1: buffers $2"
}

all() { # NAME COUNT: recorded, and none discarded
	is "$1: discarded" 0 "$(key events_discarded "$S/$1/status")"
	is "$1: recorded" "$2" "$(key events_recorded "$S/$1/status")"
	is "$1: different" "$2" "$(sort -u "$S/$1/text" | wc -l)"
	rmdir "$S/$1" || fail "rmdir $1"
}

for threads in 1 4 64; do
	count=$((6400 / threads))
	# The session was there first
	session before
	echo start >"$S/before/control" || fail start
	"$burst" $threads $count || fail "burst: $?"
	all before $((threads * count))

	# … it was started while the program ran
	session while
	"$burst" $threads $count "$work/go$threads" &
	app=$!
	within 20 there "$work/go$threads.here" || fail "burst is not there"
	echo start >"$S/while/control" || fail start
	: >"$work/go$threads"
	wait $app || fail "burst: $?"
	all while $((threads * count))

	# … and in a child, which records in buffers of its user or of its own
	for buffers in user process; do
		session fork $buffers
		echo start >"$S/fork/control" || fail start
		"$burst" $threads $count fork || fail "burst: $?"
		all fork $((threads * count))
	done
done

# What began while a session was active needs no answer at its first hit.
session asked
echo start >"$S/asked/control" || fail start
"$burst" 4 100 "$work/asked" &
app=$!
within 20 there "$work/asked.here" || fail "burst is not there"
stop_process "$pid"
: >"$work/asked"
wait $app
status=$?
kill -CONT "$pid"
is "exit status" 0 $status
all asked 400

# A daemon that stands still is waited for once: not for each tracepoint, thread or object, nor
# again at the end.
session still
echo start >"$S/still/control" || fail start
stop_process "$pid"
begin=$(date +%s)
TRAIL_ATTACH_TIMEOUT=5000 timeout 200 "$burst" 4 100
status=$?
end=$(date +%s)
kill -CONT "$pid"
is "exit status" 0 $status
[ $((end - begin)) -lt 10 ] || fail "waited for $((end - begin)) s, and not 5"
counted() { [ "$(awk '/^events_(recorded|discarded)/ { n += $2 } END { print n + 0 }' "$S/still/status")" = 400 ]; }
within 20 counted || fail "neither recorded nor counted: $(cat "$S/still/status")"
rmdir "$S/still" || fail "rmdir still"
echo "$checks checks"
