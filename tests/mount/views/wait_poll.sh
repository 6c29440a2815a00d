#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# What blocks, and how it ends: wait, pipe, streams; poll on status; interrupted reads; the end of
# the mount.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree -o tz=UTC
mkdir "$S/s" || fail mkdir
cd "$S/s" || exit 2
echo 'trail:log' >user/events || fail events

# wait: until something in status changes after the open
exec 3<wait
cat <&3 >"$work/wait" &
reader=$!
exec 3<&-
sleep 0.3
kill -0 $reader 2>/dev/null || fail "wait does not wait"
echo start >control || fail start
within 5 sh -c "! kill -0 $reader 2>/dev/null" || fail "wait does not end"
has "$(cat "$work/wait")" '^state active$'
exec 3<wait
echo stop >control
has "$(timeout 200 cat <&3)" '^state inactive$'
exec 3<&-

# A change between open and read is not missed, counters alone are no change
echo start >control
exec 3<wait
echo x >"$MNT/log"
timeout 0.5 cat <&3 >/dev/null && fail "wait ended for a counter"
exec 3<&-

# poll on status
is "poll at once" "none" "$(tool open status r cat 100000 poll 0 | tail -n 1)"
is "poll after a change" "pri err" \
	"$(tool open status r read 100000 sh 'echo stop >control' poll 100000 | tail -n 1 |
		sed 's/ $//')"
is "poll while it changes" "pri err" \
	"$(tool open status r read 100000 sh '(sleep 0.3; echo start >control) &' poll 100000 |
		tail -n 1 | sed 's/ $//')"
is "a read renews it" "none" \
	"$(tool open status r read 100000 sh 'echo stop >control' poll 100000 pread 0 100000 poll \
		0 | tail -n 1 | sed 's/ $//')"
is "poll on a channel's status" "pri err" \
	"$(tool open user/channels/channel0/status r read 100000 sh 'echo start >control' poll \
		100000 | tail -n 1 | sed 's/ $//')"
is "other files can be polled" "in" "$(tool open control r poll -1 | sed 's/ $//')"

# pipe: what is held first, then as it happens
timeout 200 cat pipe >"$work/pipe" &
reader=$!
within 5 grep -q 'msg = "x"' "$work/pipe" || fail "pipe does not begin with what is held"
echo 'happens now' >"$MNT/log"
within 5 grep -q 'happens now' "$work/pipe" || fail "pipe does not show what happens"
for i in 1 2 3 4 5; do echo "line $i" >"$MNT/log"; done
within 5 grep -q 'line 5' "$work/pipe" || fail "pipe lacks the line"
kill -0 $reader || fail "pipe ended"
echo stop >control || fail stop
within 5 sh -c "! kill -0 $reader 2>/dev/null" || fail "pipe does not end with the session"
wait $reader || fail "cat pipe: $?"
cmp "$work/pipe" text || fail "pipe and text differ"

# Two readers each have their own place
echo clear >control || fail clear
timeout 200 cat pipe >"$work/p1" &
timeout 200 cat pipe >"$work/p2" &
sleep 0.2
echo start >control
for i in 1 2 3; do echo "both $i" >"$MNT/log"; done
within 5 grep -q 'both 3' "$work/p1" || fail "first reader"
within 5 grep -q 'both 3' "$work/p2" || fail "second reader"
echo stop >control
wait
cmp "$work/p1" "$work/p2" || fail "two readers see different things"

# head ends it
echo start >control
(for i in 1 2 3 4 5 6 7 8; do sleep 0.05; echo "head $i" >"$MNT/log"; done) &
is "cat pipe | head" 5 "$(timeout 200 cat pipe | head -n 5 | wc -l | tr -d ' ')"
wait

# O_NONBLOCK and poll
mkdir "$S/quiet" || fail mkdir
is "nothing, without blocking" "EAGAIN EAGAIN " \
	"$(tool open "$S/quiet/pipe" rn read 100 read 100 | tr '\n' ' ')"
echo 'trail:log' >"$S/quiet/user/events"
echo start >"$S/quiet/control"
is "poll finds nothing" none "$(tool open "$S/quiet/pipe" r poll -200)"
is "poll finds what comes" "in " \
	"$(tool open "$S/quiet/pipe" r sh "(sleep 0.3; echo p >$MNT/log) &" poll -100000)"
is "a polled event is not lost" 1 \
	"$(tool open "$S/quiet/pipe" rn poll -100000 cat 10000 | grep -c 'msg = "p"')"
is "a read anywhere is the next" "in" \
	"$(tool open "$S/quiet/pipe" rn poll -100000 pread 100 100 | tr '\n' ' ' |
	sed 's/ *[0-9]* *$//')"
# A pipe looks like a regular file: head(1) wants to go back to where the second line ended.
echo r >"$MNT/log"
echo r >"$MNT/log"
timeout 200 head -n 2 "$S/quiet/pipe" >"$work/two" 2>"$work/two.err" ||
	fail "head -n 2 pipe: $(cat "$work/two.err")"
is "head -n 2 pipe" "2 0" "$(wc -l <"$work/two") $(wc -l <"$work/two.err")"

# Streams
stream=$(find "$S/quiet/user/channels/channel0/streams" -type f | sort | head -n 1)
[ -n "$stream" ] || fail "no stream"
for f in "$S"/quiet/user/channels/channel0/streams/*/*; do
	timeout 200 cat "$f" >"$work/stream.$(basename "$f")" &
done
sleep 0.3
echo q >"$MNT/log"
echo stop >"$S/quiet/control"
wait
magic=$(cat "$work"/stream.* | head -c 4 | od -An -tx1 | tr -d ' ')
is "a stream begins with a packet" c11ffcc1 "$magic"

# Interrupted and killed reads
echo clear >"$S/quiet/control"
rmdir "$S/quiet"
mkdir "$S/quiet"
for f in pipe wait; do
	is "interrupted read of $f" EINTR "$(tool interrupt 200 "$S/quiet/$f")"
	cat "$S/quiet/$f" >/dev/null &
	reader=$!
	sleep 0.2
	kill -9 $reader
	within 5 sh -c "! kill -0 $reader 2>/dev/null" || fail "a killed reader of $f stays"
done
wait
i=0
while [ $i -lt 30 ]; do
	timeout 0.05 cat "$S/quiet/pipe" "$S/quiet/wait" >/dev/null
	i=$((i + 1))
done

# rmdir ends reads
cat "$S/quiet/pipe" >"$work/p1" &
one=$!
cat "$S/quiet/wait" >"$work/p2" &
two=$!
sleep 0.3
rmdir "$S/quiet" || fail "rmdir while a process reads"
within 5 sh -c "! kill -0 $one 2>/dev/null" || fail "rmdir does not end a read of pipe"
within 5 sh -c "! kill -0 $two 2>/dev/null" || fail "rmdir does not end a read of wait"

# text never blocks, and its size does not shrink
timeout 200 cat text >/dev/null || fail "text blocks"
size=$(stat -c %s text)
echo grow >"$MNT/log"
is "text grows while it is open" 1 "$(tool open text r read 1 sh "echo more >$MNT/log" size | awk -v s="$size" \
	'END { print ($1 > s) }')"

# More waiting readers than there are threads
i=0
while [ $i -lt 40 ]; do
	timeout 200 cat wait >/dev/null &
	i=$((i + 1))
done
sleep 0.5
timeout 200 cat status >/dev/null || fail "waiting readers block others"

# The end of the mount answers all
pid=$(daemon_pids)
cd /
kill "$pid" || fail "cannot find the daemon"
within 10 sh -c '! grep -qs " $MNT fuse" /proc/self/mounts' ||
	fail "SIGTERM does not unmount while a process reads"
within 5 sh -c "! kill -0 $pid 2>/dev/null" || fail "the daemon stays"
wait
echo "$checks checks"
