#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# An output on a file system that fails (EIO, ENOSPC; writes, new files, renames, fsync) and then
# does not; and on one that hangs for seconds: what was written stays whole, what does not fit into
# the buffers is discarded and counted, `status` and `error` say so, and recording continues by
# itself. The chunks together are what was emitted less what was counted, each event once.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker

ill() { grep -q "^output_error $1" "$s/status"; }
remains='^$'    # what may stay in `error`: a failed fsync stays as long as the output does
silent() { ! grep -v "$remains" "$s/error" | grep -q .; }
well() { ! grep -q '^output_error' "$s/status"; }
session() { # NAME: 4 sub-buffers of 16K on each CPU
	s=$S/$1
	mkdir "$s" "$s/user/channels/channel0" || fail "mkdir $1"
	put 16K "$s/user/channels/channel0/subbuf_size"
	put 4 "$s/user/channels/channel0/subbuf_count"
	put "$disk/$1" "$s/output"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
	emitted=0
}
# (On one CPU: its ring has a file when the disk begins to fail.)
tick() { # COUNT MICROSECONDS
	one_cpu "$ticker" "$1" "$2" || fail ticker
	emitted=$((emitted + $1))
}
# shown: text and trace/ have all that was recorded, in files or not
shown() {
	cat "$s/text" >"$work/text.told" || fail "cannot read text"
	# (What is lost is told by babeltrace2 on standard error.)
	grep -v '^WARNING: Tracer ' "$work/text.told" >"$work/text"
	TZ=UTC timeout 200 babeltrace2 "$s/trace" >"$work/moment" 2>"$work/warnings" ||
		fail "babeltrace2 does not accept trace/: $(cat "$work/warnings")"
	cmp "$work/text" "$work/moment" ||
		fail "trace/ is not what text has: $(diff "$work/text" "$work/moment" | head -n 4)"
	is "events in text" "$(key events_recorded "$s/status")" \
		"$(wc -l <"$work/text" | tr -d ' ')"
	is "losses, as trace/ tells them" "$(key events_discarded "$s/status")" \
		"$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/warnings" |
			awk '{ n += $1 } END { print n + 0 }')"
	[ ! -e "$work/text.before" ] ||
		cmp -n "$(stat -c %s "$work/text.before")" "$work/text" "$work/text.before" ||
		fail "text has changed"
	mv "$work/text" "$work/text.before"
	kinds=$(find "$s/trace" -name '*.unwritten' | wc -l)
}
begins() { # WHAT HOW ERROR: it fails until the user is informed, and then so long that events are discarded
	for what in $(echo "$1" | tr + ' '); do echo "$what $2"; done >"$work/next" &&
		cat "$work/next" >"$control"
	i=0
	until ill "$3"; do
		i=$((i + 1))
		[ $i -lt 1000 ] || fail "$1 $2 is not told: $(cat "$s/status")"
		tick 2000 0
		sleep 0.05
	done
	has "$(cat "$s/error")" "$3"
	before=$(key events_discarded "$s/status")
	tick 20000 0
	[ "$(key events_discarded "$s/status")" -gt $((before + 5000)) ] ||
		fail "$1 $2: nothing is discarded: $(cat "$s/status")"
}
ends() { # [VERB]: the next success takes away what is in `error`
	: >"$control"
	within 20 well || fail "it does not continue: $(cat "$s/status")"
	[ -z "${1-}" ] || put "$1" "$s/control"
	put 0 "$s/rotate_size"
	within 20 silent || fail "error, when all is well again: $(cat "$s/error")"
}
# whole: the session has stopped; its files have all that was not counted as discarded, once
whole() {
	drained() { [ "$(key pending_bytes "$s/status")" = 0 ]; }
	within 20 drained || fail "not all is written: $(cat "$s/status")"
	TZ=UTC timeout 200 babeltrace2 "$disk/${s##*/}" >"$work/all" 2>"$work/warnings" ||
		fail "babeltrace2 does not accept it: $(cat "$work/warnings")"
	lost=$(key events_discarded "$s/status")
	is "events and losses" "$emitted" $(($(wc -l <"$work/all") + lost))
	is "recorded" "$(key events_recorded "$s/status")" "$(wc -l <"$work/all" | tr -d ' ')"
	is "losses, as babeltrace2 finds them" "$lost" \
		"$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/warnings" |
			awk '{ s += $1 } END { print s + 0 }')"
	# (A ticker counts from 0: n falls where the next one begins.)
	sed -n 's/^\[\([0-9:.]*\)\].* n = \([0-9]*\).*/\1 \2/p' "$work/all" | sort |
		uniq -d >"$work/twice"
	[ ! -s "$work/twice" ] || fail "events are there twice: $(head -n 3 "$work/twice")"
}

faulty_disk
mount_tree -o tz=UTC

# --- writes fail; a stop, a start and a snapshot meanwhile
session eio
cat "$s/pipe" >"$work/pipe" &
pipe=$!
tick 5000 20
shown
is "what is not written" 0 "$kinds"
begins write EIO 'Input/output error'
shown
[ "$kinds" -gt 0 ] || fail "all is written"
tick 3000 20
shown
is "stop" EIO "$(tool open "$s/control" w write 'stop\n')"
has "$(cat "$s/error")" 'cannot be written: Input/output error'
is "state" inactive "$(key state "$s/status")"
wait $pipe
grep -v '^WARNING: Tracer ' "$work/pipe" | cmp - "$work/text.before" || fail "pipe is not what text has"
[ "$(key pending_bytes "$s/status")" -gt 0 ] || fail "nothing is pending"
put start "$s/control"
mkdir "$s/snapshots/x" || fail "a snapshot meanwhile"
[ -n "$(find "$s/snapshots/x" -name metadata)" ] || fail "nothing is in the snapshot"
# What was written before can be read.
TZ=UTC babeltrace2 "$disk/eio/ust" >"$work/before" 2>"$work/warnings" ||
	fail "babeltrace2 does not accept it: $(cat "$work/warnings")"
[ -s "$work/before" ] || fail "nothing was written"
shown
ends
shown
tick 1000 20
shown
put stop "$s/control"
rm -rf "$disk/eio/snapshots"
whole
shown
is "what is not written" 0 "$kinds"
rm "$work/text.before"
TZ=UTC babeltrace2 "$s/trace" 2>/dev/null | cmp - "$work/all" || fail "trace/ is something else"
grep -v "^WARNING: Tracer " "$s/text" | cmp - "$work/all" || fail "text is something else"
rmdir "$s" || fail rmdir

# --- new files cannot be made, then not moved: rotations of all kinds
session rotated
tick 3000 20
put rotate "$s/control"
begins make ENOSPC 'No space left'
echo rotate >"$s/control" 2>/dev/null && fail "a rotation without room for its directories"
has "$(cat "$s/error")" 'No space left'
ends rotate
tick 1000 20
put rotate "$s/control"
echo 'rename EIO' >"$control"
echo rotate >"$s/control" 2>/dev/null && fail "a rotation that cannot rename"
has "$(cat "$s/status")" '^rotation_error Input/output error'
tick 3000 20
# A rotation that can be neither completed nor undone: the next one completes it.
last=$(ls "$disk/rotated/archives" | wc -l)
begun() { [ "$(ls "$work/back/rotated/archives" | wc -l)" -gt "$last" ]; }
echo '/rotated/kernel hang' >"$control"
(echo rotate >"$s/control") 2>/dev/null &
rotates=$!
within 20 begun || fail "no rotation begins"
printf 'rename EIO\n/rotated/kernel EIO\n' >"$work/next" && mv "$work/next" "$control"
wait $rotates && fail "a rotation that cannot be completed"
within 20 grep -q '^rotation_error Input/output error' "$s/status" || fail "$(cat "$s/status")"
: >"$control"
sleep 1.1       # (The name of an archive has the second of its end.)
put rotate "$s/control"
is "archives" $((last + 1)) "$(ls "$disk/rotated/archives" | wc -l)"
tick 1000 20
# A disk that does not say whether there is a directory: the chunk does not end without it.
echo '/rotated/ust EIO' >"$control"
echo rotate >"$s/control" 2>/dev/null && fail "a rotation of a directory that cannot be looked up"
has "$(cat "$s/status")" '^rotation_error Input/output error'
: >"$control"
put rotate "$s/control"
tick 3000 20
cat "$s/text" >/dev/null        # … so that there are files
# Half a packet is there, and cannot be cut off again: such a file is no part of a chunk.
begins write+cut EIO 'Input/output error'
echo rotate >"$s/control" 2>/dev/null && fail "a rotation of what is not whole"
has "$(cat "$s/status")" '^rotation_error Input/output error'
ends rotate
tick 1000 20
# (Another thread may sync the files of an earlier chunk at the moment at which fsync fails, too.)
remains='may not be on the disk'
put 50ms "$s/rotate_period"
begins all EIO 'Input/output error'
: >"$control"
put 0 "$s/rotate_period"
tick 1000 20
ends rotate
put stop "$s/control"
[ "$(key archives "$s/status")" -ge 3 ] || fail "$(cat "$s/status")"
whole
for chunk in "$disk"/rotated/archives/*; do
	timeout 200 babeltrace2 "$chunk" >/dev/null 2>"$work/warnings" ||
		fail "babeltrace2 does not accept $chunk: $(cat "$work/warnings")"
done
rmdir "$s" || fail rmdir

remains='^$'

# --- fsync fails: that is reported, and nothing else happens
session sync
tick 1000 20
echo 'sync EIO' >"$control"
put stop "$s/control"
told() { grep -q '^sync_error Input/output error' "$s/status"; }
within 10 told || fail "a failed fsync is not told: $(cat "$s/status")"
has "$(cat "$s/error")" 'may not be on the disk'
: >"$control"
whole
rmdir "$s" || fail rmdir

# … so a rotation does call it, and one disk that hangs delays no other session. (FUSE lets nothing
# else use a file or directory while it is synced, so verbs wait.)
fusermount3 -u "$MNT" || fail "unmount"
within 60 daemon_ended || fail "the daemon does not end"
mount_tree -o tz=UTC,wait=800
session hanging
tick 1000 20
echo 'sync hang' >"$control"
put rotate "$s/control"
syncing() { [ "$(key syncing_files "$1")" -gt 0 ]; }
within 10 syncing "$s/status" || fail "a rotation syncs nothing: $(cat "$s/status")"
mkdir "$S/elsewhere" && put "$work/elsewhere" "$S/elsewhere/output" &&
	put 'tick:*' "$S/elsewhere/user/events"
put start "$S/elsewhere/control"
"$ticker" 100 0 || fail ticker
put stop "$S/elsewhere/control"
synced() { ! syncing "$S/elsewhere/status"; }
within 20 synced || fail "one disk waits for the other: $(cat "$S/elsewhere/status")"
rmdir "$S/elsewhere" || fail rmdir
syncing "$s/status" || fail "it does not hang"
: >"$control"
synced() { ! syncing "$s/status"; }
within 20 synced || fail "it does not continue: $(cat "$s/status")"
rmdir "$s" || fail rmdir

# --- all hangs: the tree answers, a stop does not wait for long, and everything arrives
mkdir "$S/other" "$S/other/user/channels/c" && put 'tick:*' "$S/other/user/channels/c/events" &&
	put start "$S/other/control"
session hung
tick 3000 20
echo 'all hang' >"$control"
tick 20000 0
soon() { timeout 200 "$@" || fail "held up: $*"; }
soon cat "$MNT/status" >/dev/null
soon cat "$s/status" >"$work/status"
soon cat "$S/other/text" | grep -q 'tick:tock' || fail "nothing in another session"
soon sh -c 'echo rotate >"$1"' sh "$s/control"
has "$(soon cat "$s/status")" '^pending rotation [0-9]*%$'
soon sh -c 'echo "regenerate metadata" >"$1"' sh "$s/control"
has "$(soon cat "$s/status")" '^pending metadata [0-9]*%$'
soon sh -c 'echo stop >"$1"' sh "$s/control"
soon sh -c 'echo start >"$1"' sh "$s/control"
soon sh -c 'echo snapshot >"$1"' sh "$s/control"
soon mkdir "$S/new"
soon sh -c 'echo "$1" >"$2/output"' sh "$work/newplace" "$S/new"
soon rmdir "$S/new"
soon ls -R "$S/other" >/dev/null
: >"$control"
idle() { ! grep -q '^pending ' "$s/status"; }
within 20 idle || fail "it does not continue: $(cat "$s/status")"
tick 1000 20
put stop "$s/control"
rm -rf "$disk/hung/snapshots"
whole
rmdir "$s" || fail rmdir

# --- removed while nothing can be written: the files are whole
rmdir "$S/other" || fail rmdir
fusermount3 -u "$MNT" || fail "unmount"
within 60 daemon_ended || fail "the daemon does not end"
mount_tree -o tz=UTC
session lost
tick 3000 20
echo 'write EIO' >"$control"
tick 3000 20
rmdir "$s" 2>"$work/err" && fail "rmdir of a session whose data cannot be written"
has "$(cat "$work/err")" 'Input/output error'
put clear "$s/control"
rmdir "$s" || fail "rmdir after a clear"
: >"$control"
timeout 200 babeltrace2 "$disk/lost" >"$work/all" 2>"$work/warnings" ||
	fail "babeltrace2 does not accept it: $(cat "$work/warnings")"
echo "$checks checks"
