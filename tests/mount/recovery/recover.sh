#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trail-recover: what a killed daemon left becomes traces without one: out of the keeper, out of
# copies of its buffers, out of a process that still has them mapped, out of images and core dumps.
# All events are there, as they were in `text`.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
recover=$BUILD/tools/trail-recover
TZ=UTC
export TZ

# recovered OUTPUT [SESSION…]: its traces are what was recorded
recovered() {
	output=$1
	shift
	[ $# -gt 0 ] || set -- one two note
	for s; do
		babeltrace2 "$output/$s" >"$work/text" 2>"$work/err" ||
			fail "babeltrace2: $(cat "$work/err")"
		cmp "$work/text" "$work/$s" ||
			fail "$output/$s: $(wc -l <"$work/text") events, not $(wc -l <"$work/$s")"
		[ -s "$work/err" ] && grep -v discarded "$work/err" && fail "babeltrace2 complains"
		checks=$((checks + 1))
	done
}

mount_tree -o tz=UTC
mkdir "$S/one" "$S/note" "$S/two" "$S/two/user/channels/c" "$S/never" || fail mkdir
for f in one/user/events two/user/channels/c/events never/user/events; do
	echo 'tick:*' >"$S/$f" || fail "$f"
done
echo 4096 >"$S/two/user/channels/c/subbuf_size"
echo 'trail:log' >"$S/note/user/events"
echo 'vpid procname' >"$S/one/user/contexts"
for s in one two note; do
	echo start >"$S/$s/control" || fail "start $s"
done
echo 'a message' >"$MNT/log"
"$ticker" 3000 0 || fail ticker
# One that lives on, with its buffers mapped, and records nothing any more
(ulimit -c unlimited 2>/dev/null; exec "$ticker" 2 100000000) &
alive=$!
ticked() {
	[ "$(grep -c 'n = 0 }' "$S/one/text")" = 2 ]
}
within 20 ticked || fail "the last program does not record"
for s in one two note; do
	cat "$S/$s/text" >"$work/$s"
	[ -s "$work/$s" ] || fail "$s has nothing"
done
[ "$(key events_overwritten "$S/two/status")" -gt 0 ] || fail "nothing was overwritten"

# With the daemon alive, then dead; the directory is not changed
"$recover" -o "$work/out1" "$TRAIL_RUNTIME_DIR" >"$work/log" 2>&1 ||
	fail "beside a daemon: $(cat "$work/log")"
recovered "$work/out1"
pid=$(daemon_pids)
keeper=$(key keeper "$MNT/status")
kill -9 "$pid"
within 5 daemon_ended
find "$TRAIL_RUNTIME_DIR" -type f ! -path '*/apps/*' -exec cksum {} + | sort >"$work/before"
"$recover" -o "$work/out2" "$TRAIL_RUNTIME_DIR" >"$work/log" 2>&1 ||
	fail "from the keeper: $(cat "$work/log")"
has "$(cat "$work/log")" '^keeper: [1-9]'
has "$(cat "$work/log")" '^one: events_recorded 3001 events_discarded 0 '
recovered "$work/out2"
find "$TRAIL_RUNTIME_DIR" -type f ! -path '*/apps/*' -exec cksum {} + | sort >"$work/after"
cmp "$work/before" "$work/after" || fail "the state directory is not what it was"
"$recover" -o "$work/out2" "$TRAIL_RUNTIME_DIR" 2>"$work/err" && fail "a directory that exists"
has "$(cat "$work/err")" 'File exists'
(cd "$work" && "$recover" "$TRAIL_RUNTIME_DIR" | tail -n 1) >"$work/log" || fail "without -o"
recovered "$work/$(cat "$work/log")"

# Copies: buffer by buffer, and all in one image with rubbish before, between and after them, which
# has an old copy of one, too
cp -r "$TRAIL_RUNTIME_DIR" "$work/copy"
mkdir "$work/buffers"
n=0
for fd in /proc/"$keeper"/fd/*; do
	case $(readlink "$fd") in
	/memfd:trail-region*) n=$((n + 1)); cp --sparse=always "$fd" "$work/buffers/$n" ||
		fail "cp $fd" ;;
	esac
done
[ $n -ge 3 ] || fail "the keeper has $n buffers"
"$recover" -o "$work/out3" "$work/copy" "$work"/buffers/* >"$work/log" 2>&1 ||
	fail "from copies: $(cat "$work/log")"
recovered "$work/out3"
head -c 12288 /dev/urandom >"$work/image"
for f in "$work"/buffers/*; do
	cat "$f"
	head -c 4096 /dev/urandom
done >>"$work/image"
head -c 4000 /dev/urandom >>"$work/image"
"$recover" -o "$work/out4" "$work/copy" "$work/image" >"$work/log" 2>&1 ||
	fail "from an image: $(cat "$work/log")"
has "$(cat "$work/log")" "image: $n buffers"
recovered "$work/out4"

# With the keeper gone: what the program has, and its core dump
kill -9 "$keeper"
rm -rf "$work/buffers" "$work/image"
"$recover" -o "$work/out5" "$TRAIL_RUNTIME_DIR" >"$work/log" 2>&1 &&
	fail "nothing was there, but all is well"
has "$(cat "$work/log")" 'there is no keeper'
has "$(cat "$work/log")" "session one: a buffer of channel channel0 and its events are lost"
maps=$(awk '/trail-region/ { print $1 }' "/proc/$alive/maps")
[ -n "$maps" ] || fail "the program has no buffers mapped"
files=$(for m in $maps; do echo "/proc/$alive/map_files/$m"; done)
# shellcheck disable=SC2086
if head -c 1 ${files%% *} >/dev/null 2>&1; then
	"$recover" -o "$work/out6" "$TRAIL_RUNTIME_DIR" $files >"$work/log" 2>&1 ||
		fail "from a process: $(cat "$work/log")"
	recovered "$work/out6" one two
fi
pattern=$(cat /proc/sys/kernel/core_pattern)
case $pattern in
\|* | *%[!p]*) kill $alive ;;
*)
	kill -ABRT $alive
	wait $alive 2>/dev/null
	core=$(echo "$pattern" | sed "s/%p/$alive/g")
	[ -s "$core" ] || core=$core.$alive
	if [ -s "$core" ]; then
		"$recover" -o "$work/out7" "$TRAIL_RUNTIME_DIR" "$core" >"$work/log" 2>&1
		status=$?
		rm -f "$core"
		[ $status = 0 ] || fail "from a core dump: $(cat "$work/log")"
		recovered "$work/out7" one two
	fi
	;;
esac
wait $alive 2>/dev/null
echo "$checks checks"
