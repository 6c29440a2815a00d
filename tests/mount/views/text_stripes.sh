#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Readers of a long `text`, for which a second thread formats stripes: what they read is the same
# whatever the size of a read, how many of them there are, where they begin and when they end; after
# clear, and while rings are overwritten.
. "$(dirname "$0")/../../lib/mount.sh"

TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
TZ=UTC
export TZ
mount_tree -o tz=UTC
s=$S/long
mkdir "$s" "$s/user/channels/channel0" && echo 65536 >"$s/user/channels/channel0/subbuf_size" &&
	echo 128 >"$s/user/channels/channel0/subbuf_count" &&
	echo 'tick:*' >"$s/user/events" && put start "$s/control" || fail "session"
"$TICKER" 40000 0 4 || fail "ticker"
put stop "$s/control"
copy_image "$s/trace" "$work/trace"
babeltrace2 --clock-gmt "$work/trace" >"$work/theirs" || fail babeltrace2
size=$(wc -c <"$work/theirs")
[ "$size" -gt 12000000 ] || fail "the text is too short: $size bytes"
sum=$(cksum <"$work/theirs")

for bytes in 4096 65536 131072 262144 1048576 3000001; do
	is "reads of $bytes" "$sum" "$(dd if="$s/text" bs=$bytes status=none | cksum)"
done
# More readers than have stripes, some of which end early
readers=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cksum <"$s/text" >"$work/sum.$i" &
	readers="$readers $!"
	[ $((i % 3)) != 0 ] || head -c ${i}000000 "$s/text" | cksum >"$work/head.$i"
done
for reader in $readers; do
	wait $reader || fail "a reader failed"
done
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	is "reader $i" "$sum" "$(cat "$work/sum.$i")"
	[ $((i % 3)) != 0 ] || is "the first ${i}000000 bytes" \
		"$(head -c ${i}000000 "$work/theirs" | cksum)" "$(cat "$work/head.$i")"
done
# One that goes to another place and reads on
for at in 300 5000001; do
	is "$at bytes further on" "$(tail -c +$((70 * 65536 + at + 1)) "$work/theirs" | cksum)" "$(
		{
			dd bs=65536 count=70 status=none >"$work/begin"
			dd bs=65536 skip=$at iflag=skip_bytes status=none
		} <"$s/text" | cksum)"
done

# A clear while a reader has a stripe before it: what it reads then is not of the old text
exec 3<"$s/text"
dd bs=131072 count=40 status=none <&3 >"$work/begin" || fail "dd"
is "before the clear" "$(head -c 5242880 "$work/theirs" | cksum)" "$(cksum <"$work/begin")"
put clear "$s/control"
is "after the clear" 0 "$(cat <&3 | wc -c)"
exec 3<&-

# Readers that are overtaken: each event at most once, in order, in whole lines
rmdir "$s"
mkdir "$s" "$s/user/channels/channel0" && echo 65536 >"$s/user/channels/channel0/subbuf_size" &&
	echo 64 >"$s/user/channels/channel0/subbuf_count" &&
	echo 'tick:*' >"$s/user/events" && put start "$s/control" || fail "session"
"$TICKER" 1500000 0 &
app=$!
many() { [ "$(key events_recorded "$s/status")" -gt 100000 ]; }
within 60 many || fail "few events: $(cat "$s/status")"
for i in 1 2 3; do
	{
		dd bs=131072 count=$((20 * i)) status=none
		sleep 0.3
		cat
	} <"$s/text" >"$work/overtaken.$i" &
	readers="$readers $!"
done
wait
kill -0 $app 2>/dev/null && fail "the ticker did not end"
for i in 1 2 3; do
	[ "$(wc -l <"$work/overtaken.$i")" -gt 10000 ] || fail "reader $i has few lines"
	awk '!/^\[.* }$/ { print "no line: " $0; exit 1 }
		{ n = $NF == "}" ? $(NF - 1) + 0 : -1 }
		NR > 1 && n <= last { print "after " last ": " n; exit 1 }
		{ last = n }' "$work/overtaken.$i" || fail "reader $i"
done
put stop "$s/control" && rmdir "$s" || fail "rmdir"
echo "$checks checks"
