#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon is killed while programs read trace/ and streams/ of sessions that record. The next
# daemon continues both: a reader gets each byte once, of the image that it began with. If a part of
# what it was reading was overwritten meanwhile, it gets ESTALE and no other bytes.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/next_daemon.sh"
for p in babeltrace2 python3; do
	command -v $p >/dev/null || skip "there is no $p"
done
ticker=$BUILD/tests/lib/ticker
writer=
trap 'code=$?; kill $writer 2>/dev/null; (exit $code); clean_up' EXIT

mount_first
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
put 4M "$S/s/user/channels/c/subbuf_size"
put discard "$S/s/user/channels/c/loss_mode"
put 'tick:*' "$S/s/user/channels/c/events"
put start "$S/s/control"
taskset -c "$first_cpu" "$ticker" 0 100 >"$work/ticks" &
writer=$!
many() { [ "$(grep -c tick:tock "$S/s/text")" -ge 1000 ]; }
within 60 many || fail "nothing is recorded"

# ---- trace/: the shell has the image, and three files of it open ----
cd "$S/s/trace" || fail cd
# (An image is a process' own: the shell itself looks up the names.)
set -- */*/*/*/*
metadata= stream=
for f; do
	case $f in
	*/metadata) metadata=$f ;;
	*/index) index=$(echo "$f"/*) ;;
	*) stream=$f ;;
	esac
done
exec 7<"$metadata" 8<"$stream" 9<"$index"
cd /
mkdir -p "$work/copy/index"
pieces() { # DESCRIPTOR FILE
	dd bs=700 count=3 status=none <&"$1" >>"$2" || fail "a read of ${2#"$work"/}"
}
for i in 1 2 3; do
	pieces 7 "$work/copy/metadata"
	pieces 8 "$work/copy/${stream##*/}"
	pieces 9 "$work/copy/index/${index##*/}"
	replace
done
cat <&7 >>"$work/copy/metadata" || fail "metadata"
cat <&8 >>"$work/copy/${stream##*/}" || fail "a stream file"
cat <&9 >>"$work/copy/index/${index##*/}" || fail "an index"
exec 7<&- 8<&- 9<&-
babeltrace2 "$work/copy" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2: $(cat "$work/bt.err")"
grep -q 'Invalid\|rror' "$work/bt.err" && fail "babeltrace2: $(cat "$work/bt.err")"
n=$(sed -n 's/.* n = \([0-9]*\) .*/\1/p' "$work/bt" | awk '$1 != NR - 1 { bad = 1 } END { print bad ? "no" : NR }')
[ "$n" != no ] && [ "$n" -ge 1000 ] || fail "the copy of trace/ has not the numbers from 0 on: $n"
# It is the image of the time of the open, and not a later one.
[ "$n" -lt "$(grep -c tick:tock "$S/s/text")" ] || fail "the copy has later events"
checks=$((checks + 2))
# After that nothing of the image is left with the keeper.
images() { ls -l "/proc/$(sed -n 's/^keeper //p' "$MNT/status")/fd" | grep -c 'trail-image'; }
none_left() { [ "$(images)" = 0 ]; }
within 30 none_left || fail "the keeper has $(images) images"

# ---- streams/, of a reader that polls and takes parts of a packet ----
set -- "$S"/s/user/channels/c/streams/*/*
cat >"$work/reader.py" <<'END'
import os, select, sys
path, asks, answers = sys.argv[1:]
f = open(path, "rb", 0)
fd = os.open(path, os.O_RDONLY)
got = b""
asks, answers = open(asks, "w"), open(answers)
# Until here the session records, so that these two opens end with it.
print("stop", file=asks, flush=True)
answers.readline()
whole = f.readall()
for size in (500, 1, 40, 70000, 3, 500):
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(60000)
    got += os.read(fd, size)
    print("next", file=asks, flush=True)
    answers.readline()
while True:
    more = os.read(fd, 100000)
    got += more
    if not more:
        break
if got != whole:
    sys.exit("%d bytes, of %d" % (len(got), len(whole)))
print(len(got))
END
mkfifo "$work/asks" "$work/answers"
python3 "$work/reader.py" "$1" "$work/asks" "$work/answers" >"$work/reader" 2>"$work/reader.err" &
reader=$!
exec 7<"$work/asks" 8>"$work/answers"
while read -r line <&7; do
	if [ "$line" = stop ]; then
		kill "$writer"
		wait "$writer"
		put stop "$S/s/control"
	else
		replace
	fi
	echo go >&8
done
wait "$reader" || fail "a reader of streams/: $(cat "$work/reader.err")"
[ "$(cat "$work/reader")" -gt 20000 ] || fail "the stream is too short for this test"
exec 7<&- 8>&-

# ---- what a reader has begun with is overwritten ----
mkdir "$S/o" "$S/o/user/channels/c" || fail mkdir
put 256K "$S/o/user/channels/c/subbuf_size"
put 4 "$S/o/user/channels/c/subbuf_count"
put overwrite "$S/o/user/channels/c/loss_mode"
put 'tick:*' "$S/o/user/channels/c/events"
put start "$S/o/control"
taskset -c "$first_cpu" "$ticker" 1000000 0 || fail ticker
cd "$S/o/trace" || fail cd
set -- */*/*/*/c_*
exec 8<"$1"
cd /
dd bs=700 count=1 status=none <&8 >"$work/part" || fail "a read of a stream file"
replace
within 60 answers || fail "no other daemon"
taskset -c "$first_cpu" "$ticker" 1000000 0 || fail ticker
cat <&8 >"$work/rest" 2>"$work/rest.err" && fail "what was overwritten was read"
has "$(cat "$work/rest.err")" 'Stale file handle'
# (The kernel has read ahead: these bytes are of the old image.)
[ "$(wc -c <"$work/rest")" -lt 300000 ] || fail "bytes came of what was overwritten"
exec 8<&-
echo "$n events of an image, $(cat "$work/reader") bytes of a stream, $checks checks"
