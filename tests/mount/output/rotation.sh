#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rotations: by hand, by time, by size, and not any more; each chunk is a trace of its own with
# LTTng's name, and all of them together have each event once. (adversarial/output_rotate.sh and
# output_load.sh do it under load.)
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
out=$work/out
archives() { key archives "$s/status"; }
more() { [ "$(archives)" -gt "$before" ]; }
events() { TZ=UTC babeltrace2 "$1" 2>/dev/null | wc -l; }

mount_tree -o tz=UTC
s=$S/r
mkdir "$s" || fail mkdir
is "without an output" EINVAL "$(tool open "$s/control" w write 'rotate\n')"
put "$out" "$s/output"
put 'tick:*' "$s/user/events"
is "before the first start" EINVAL "$(tool open "$s/control" w write 'rotate\n')"
put start "$s/control"
"$ticker" 100 0 || fail ticker

# By hand: when the write returns, it is there; status tells the same
put rotate "$s/control"
is "archives" 1 "$(archives)"
is "rotation" idle "$(key rotation "$s/status")"
is "chunk" 1 "$(key chunk "$s/status")"
is "pending" '' "$(grep '^pending rotation' "$s/status")"
first=$(ls "$s/archives")
has "$first" '^20[0-9]\{6\}T[0-9]\{6\}+0000-20[0-9]\{6\}T[0-9]\{6\}+0000-0$'
is "the last" "$first" "$(key last_archive "$s/status")"
is "the same directory" "$first" "$(ls "$out/archives")"
is "events of the chunk" 100 "$(events "$s/archives/$first")"
is "… and in the files" 100 "$(events "$out/archives/$first")"
is "events of the new one" 0 "$(events "$s/trace")"
"$ticker" 50 0 || fail ticker
is "events of the new one" 50 "$(events "$s/trace")"
is "text of the new one" 50 "$(wc -l <"$s/text" | tr -d ' ')"
put rotate "$s/control"
is "text of a chunk without events" 0 "$(wc -l <"$s/text" | tr -d ' ')"
is "events of the second" 50 "$(events "$s/archives/$(ls "$s/archives" | grep -- '-1$')")"

# An archive belongs to the user: it may go while the session continues.
mv "$out/archives/$first" "$work/away" || fail "mv of an archive"
is "the archives that are left" 1 "$(ls "$s/archives" | wc -l | tr -d ' ')"
put rotate "$s/control"
is "events of an archive that was moved" 100 "$(events "$work/away")"
mv "$work/away" "$out/archives/$first" || fail "mv of an archive"

# By time
put 100ms "$s/rotate_period"
is "reads back" 100000 "$(cat "$s/rotate_period")"
before=$(archives)
within 20 more || fail "rotate_period does nothing: $(cat "$s/status")"
put 0 "$s/rotate_period"

# By size: as much as there may be in a chunk, and a look more
put 64k "$s/rotate_size"
is "reads back" 65536 "$(cat "$s/rotate_size")"
before=$(archives)
emitted=150
big() { "$ticker" 5000 5 && emitted=$((emitted + 5000)) && more; }
within 20 big || fail "rotate_size does nothing: $(cat "$s/status")"

# Not any more
put 0 "$s/rotate_size"
put rotate "$s/control"
before=$(archives)
big && fail "it continues rotating: $(cat "$s/status")"
is "reads back" "0 0" "$(cat "$s/rotate_size") $(cat "$s/rotate_period")"

# An inactive session; and the end, with which the last chunk is archived, too
put stop "$s/control"
put rotate "$s/control"
is "archives of an inactive session" $((before + 1)) "$(archives)"
lost=$(key events_discarded "$s/status")
recorded=$(key events_recorded "$s/status")
is "emitted" $emitted $((recorded + lost))
rmdir "$s" || fail rmdir
is "what is not in the archives" archives "$(ls "$out")"
sum=0
for chunk in "$out"/archives/*; do
	babeltrace2 "$chunk" >/dev/null 2>"$work/err" ||
		fail "babeltrace2 does not accept $chunk: $(cat "$work/err")"
	sum=$((sum + $(events "$chunk")))
done
is "events of all chunks" "$recorded" $sum
is "numbers" "$(ls "$out/archives" | wc -l | tr -d ' ')" \
	"$(ls "$out/archives" | sed 's/.*-//' | sort -un | wc -l | tr -d ' ')"
echo "$checks checks"
