#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The output cannot be written, and since the last packet in the files events were only discarded:
# trace/ tells them by an empty packet in a file of its own (.unwritten). It begins after the last
# packet in the files, so that readers keep both in order.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
faulty_disk

# begins FILE: when its packets begin, as the index says; the last one is the last line
begins() {
	od -An -v -t u8 -w72 --endian=big -j 16 "$1" | awk '{ print $4 }'
}
say() {
	printf %s "$1" >&8
	head -c 1 <&9 >"$work/byte"
}

mount_tree -o tz=UTC
s=$S/s
mkdir "$s" "$s/user/channels/c" || fail mkdir
put 4096 "$s/user/channels/c/subbuf_size"
put "$disk/out" "$s/output"
put 'lossy:*' "$s/user/channels/c/events"
put start "$s/control"
mkfifo "$work/in" "$work/out"
taskset -c "$first_cpu" "$BUILD/tests/mount/output/lossy" <"$work/in" >"$work/out" &
app=$!
exec 8>"$work/in" 9<"$work/out"
# Two packets. The second has one event, so that it begins with the last time that the buffer knows.
for i in 1 2; do
	say e
	all_written "$s"
done
echo 'write EIO' >"$control"
say c
say c
copy_image "$s/trace" "$work/trace"
: >"$control"
file=$(find "$work/trace" -name "c_$first_cpu.idx")
rest=$(find "$work/trace" -name "c_$first_cpu.unwritten.idx")
[ -n "$rest" ] || fail "nothing is unwritten: $(find "$work/trace")"
last=$(begins "$file" | tail -n 1)
next=$(begins "$rest" | head -n 1)
[ "$next" -gt "$last" ] || fail "the unwritten packet begins at $next, the one before it at $last"
is "events" 2 "$(TZ=UTC babeltrace2 "$work/trace" 2>"$work/warnings" | grep -c lossy:small)"
has "$(cat "$work/warnings")" 'discarded 2 events'
exec 8>&- 9<&-
wait $app || fail "the program: $?"
echo "$checks checks"
