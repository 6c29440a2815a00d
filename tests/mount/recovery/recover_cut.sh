#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trail-recover -c of a trace that a writer left before it made index/: the headers of the packets
# say where the last whole one ends. Packets of another form are left as they are.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
recover=$BUILD/tools/trail-recover

text() { babeltrace2 "$1" 2>"$work/bt.err"; }

"$recover" --help >"$work/help" || fail "--help: exit status $?"
has "$(cat "$work/help")" '^usage: trail-recover'

mount_tree -o tz=UTC
mkdir "$S/one" "$S/one/user/channels/c" || fail mkdir
put "$work/out" "$S/one/output"
put 4096 "$S/one/user/channels/c/subbuf_size"
put 'tick:*' "$S/one/user/channels/c/events"
put start "$S/one/control"
one_cpu "$BUILD/tests/lib/ticker" 1000 0 || fail ticker
rmdir "$S/one" || fail rmdir

trace=$(find "$work/out" -name metadata)
trace=${trace%/*}
for stream in "$trace"/c_*; do [ ! -s "$stream" ] || break; done
rm -r "$trace/index"
text "$work/out" >"$work/before"
is "events" 1000 "$(wc -l <"$work/before")"
is "cuts of a whole trace" "" "$("$recover" -c "$work/out")"

size=$(stat -c %s "$stream")
for bytes in 50 100 3000; do
	# After the empty packet at the beginning, of 84 bytes, there is one of 4 KiB.
	tail -c +85 "$stream" | head -c $bytes >"$work/half"
	cat "$work/half" >>"$stream"
	text "$work/out" >"$work/damaged" && fail "babeltrace2 reads half a packet"
	line=$("$recover" -c "$work/out") || fail "-c: exit status $?"
	has "$line" "^$stream: $bytes bytes cut, [1-9][0-9]* whole packets left, $size bytes left\$"
	text "$work/out" >"$work/after"
	cmp "$work/before" "$work/after" || fail "the cut trace is not as it was"
done

# The same magic number, and another form: nothing is known of it.
mkdir "$work/other"
head -c 4 "$stream" >"$work/other/stream"
head -c 200 /dev/zero >>"$work/other/stream"
has "$("$recover" -c "$work/other")" 'other/stream: left as it is'
is "its size" 204 "$(stat -c %s "$work/other/stream")"
echo "$checks checks"
