#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `text` after a rotation: an open that follows shows the current chunk, as trace/ does, whether or
# not a process has read the text before. An open that was there before reads on, through what is in
# the archives now, and misses nothing; offsets do not move, and the size does not shrink.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
lines() { wc -l <"$1" | tr -d ' '; }
size() { stat -c %s "$1"; }
same() { # SESSION: text from its start is what babeltrace2 says of trace/
	cat "$S/$1/text" >"$work/text.$1"
	TZ=UTC babeltrace2 "$S/$1/trace" >"$work/bt" 2>/dev/null
	cmp -s "$work/bt" "$work/text.$1" ||
		fail "$1: $(lines "$work/text.$1") lines of text, $(lines \
		"$work/bt") events in trace/"
	checks=$((checks + 1))
}

mount_tree -o tz=UTC
for s in read unread; do
	mkdir "$S/$s" || fail "mkdir $s"
	put "$work/out.$s" "$S/$s/output"
	put 'tick:*' "$S/$s/user/events"
	put start "$S/$s/control"
done
"$ticker" 300 0 || fail ticker

# Three readers of the one: all of it, a part, and one that follows
is "text" 300 "$(cat "$S/read/text" | wc -l | tr -d ' ')"
exec 4<"$S/read/text"
dd bs=1000 count=1 <&4 2>/dev/null >"$work/part"
exec 5<"$S/read/text"
cat <&5 >"$work/follow"
before=$(size "$S/read/text")

for s in read unread; do put rotate "$S/$s/control"; done
for s in read unread; do
	same $s
	is "$s: text of an empty chunk" 0 "$(lines "$work/text.$s")"
done
"$ticker" 40 0 || fail ticker
for s in read unread; do
	same $s
	is "$s: text" 40 "$(lines "$work/text.$s")"
done
cat "$S/read/text" | sed 's/^[^ ]* [^ ]* //' >"$work/a"
cat "$S/unread/text" | sed 's/^[^ ]* [^ ]* //' >"$work/b"
cmp -s "$work/a" "$work/b" || fail "the text depends on who has read it before"
is "the last lines" "$(tail -n 2 "$work/text.read")" "$(tail -n 2 "$S/read/text")"

# The readers that were there
cat <&4 >>"$work/part"
is "a reader that had begun, up to the end when it came" 300 "$(lines "$work/part")"
cat <&4 >>"$work/part"
is "a reader that had begun" 340 "$(lines "$work/part")"
cat <&5 >>"$work/follow"
is "a reader that follows" 340 "$(lines "$work/follow")"
cmp -s "$work/part" "$work/follow" || fail "two readers that were there have different texts"
now=$(size "$S/read/text")
is "the size" "$(wc -c <"$work/follow" | tr -d ' ')" "$now"
[ "$now" -gt "$before" ] || fail "the size shrinks from $before to $now"

# An offset that was remembered stays where it is, for an open that follows, too
is "what stands after it" "$(tail -c +$((before + 1)) "$work/follow" | cksum)" \
	"$(tail -c +$((before + 1)) "$S/read/text" | cksum)"

# Again, with events in between
for s in read unread; do put rotate "$S/$s/control"; done
"$ticker" 7 0 || fail ticker
for s in read unread; do
	same $s
	is "$s: text" 7 "$(lines "$work/text.$s")"
done
cat <&5 >>"$work/follow"
is "a reader that follows" 347 "$(lines "$work/follow")"
exec 4<&- 5<&-
echo "$checks checks"
