#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Files that are open while their session or channel is removed: what a reader gets was recorded.
# A text that is cut ends with an error, not as if that were all.
. "$(dirname "$0")/../../lib/mount.sh"

TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
TZ=UTC
export TZ
mount_tree -o tz=UTC
s=$S/s

# Two channels, of which the first one has much
make_session() {
	mkdir "$s" "$s/user/channels/channel0" "$s/user/channels/other" &&
		echo 1048576 >"$s/user/channels/channel0/subbuf_size" &&
		echo 16 >"$s/user/channels/channel0/subbuf_count" &&
		echo 'tick:*' >"$s/user/channels/channel0/events" &&
		echo 'trail:log' >"$s/user/channels/other/events" &&
		echo start >"$s/control" || fail "session"
	"$TICKER" 200000 0 || fail "ticker"
	echo "another channel" >"$MNT/log"
	put stop "$s/control"
}

# are_recorded FILE: whole lines of $work/all
are_recorded() {
	awk 'NR == FNR { sub(/^\[[^]]*\] \([^)]*\) /, ""); known[$0]; next }
		{ sub(/^\[[^]]*\] \([^)]*\) /, "") }
		!($0 in known) { print "not recorded: " $0; exit 1 }' "$work/all" "$1" ||
		fail "${1##*/} has what was not recorded"
}

for read in no some all; do
	make_session
	[ $read != all ] || cat "$s/text" >"$work/all"
	exec 3<"$s/text"
	[ $read = no ] || head -c 400000 <&3 >"$work/begin"
	copy_image "$s/trace" "$work/trace.$read"
	rmdir "$s" || fail rmdir
	cat <&3 >"$work/rest" 2>"$work/err"
	status=$?
	exec 3<&-
	babeltrace2 --clock-gmt "$work/trace.$read" >"$work/all" || fail babeltrace2
	[ $read = no ] && : >"$work/begin"
	at=$(wc -c <"$work/begin") size=$(wc -c <"$work/rest")
	# After a gap it continues with what the reader had copied before, of the other channel.
	cat "$work/begin" "$work/rest" >"$work/read"
	are_recorded "$work/read"
	if [ $((at + size)) -lt "$(wc -c <"$work/all")" ]; then
		[ $status != 0 ] || fail "$read: the text is cut without an error"
		has "$(cat "$work/err")" "Stale file handle"
	else
		is "$read: status" 0 $status
	fi
	echo "$read: $size of $(($(wc -c <"$work/all") - at)) bytes"
done

# A file of trace/ that was opened and not read
make_session
copy_image "$s/trace" "$work/copy"
babeltrace2 --clock-gmt "$work/copy" >"$work/all" || fail babeltrace2
file=$(cd "$work/copy" && find . -name 'channel0_*' -size +500k | head -n 1)
exec 3<"$s/trace/$file"
rmdir "$s" || fail rmdir
cat <&3 >"$work/copy/$file" || fail "a file of trace/ cannot be read"
exec 3<&-
rm -rf "$work/copy/${file%/*}/index"
babeltrace2 --clock-gmt "$work/copy" 2>/dev/null >"$work/after" || fail "no trace: $file"
are_recorded "$work/after"

# A channel is removed while its events are read
make_session
exec 3<"$s/text"
head -c 400000 <&3 >"$work/begin"
rmdir "$s/user/channels/channel0" || fail "rmdir of a channel"
cat <&3 >"$work/rest" || fail "text"
exec 3<&-
awk '!/^\[.* }$/ && NR > 1 { print "no line: " $0; exit 1 }
	NR > 1 && / tick:/ { n = $(NF - 1) + 0; if (n <= last) { print "after " last ": " n; exit 1 }
		last = n }' "$work/rest" || fail "the rest"
has "$(tail -n 1 "$work/rest")" "another channel"
rmdir "$s" || fail rmdir
echo "$checks checks"
