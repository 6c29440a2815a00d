#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Applications of 32 and of 64 bits of one user, at once: each word size has buffers, streams and a
# trace of its own, named as LTTng names them; also after the daemon was killed, in snapshots and in
# an output.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
. "$(dirname "$0")/../../lib/bits32.sh"
build_bits32 ticker
u=ust/uid/$(id -u)
# The traces below a directory
traces() { (cd "$1" && find . -name metadata | sed 's,^\./,,; s,/metadata$,,' | sort |
	tr '\n' ' '); }
both="$u/32-bit $u/64-bit "
# ticks DIRECTORY: events that babeltrace2 finds there
ticks() { TZ=UTC babeltrace2 "$1" 2>"$work/warnings" | grep -c tick:tock; }

mount_tree -o tz=UTC
for name in ring out; do
	s=$S/$name
	mkdir "$s" "$s/user/channels/c" || fail mkdir
	[ $name = ring ] || put "$work/out" "$s/output"
	put 'tick:*' "$s/user/channels/c/events"
	put 16K "$s/user/channels/c/subbuf_size"
	put 1024 "$s/user/channels/c/subbuf_count"
	put start "$s/control"
done
s=$S/ring
"$work/ticker" 1000 100 &
one=$!
"$BUILD/tests/lib/ticker" 1000 100 || fail "the program of 64 bits"
wait $one || fail "the program of 32 bits"
is "traces" "$both" "$(traces "$s/trace")"
is "streams" "$(id -u) $(id -u)-32-bit " "$(ls "$s/user/channels/c/streams" | tr '\n' ' ')"
for bits in 32 64; do
	is "events of $bits bits" 1000 "$(ticks "$s/trace/$u/$bits-bit")"
	has "$(cat "$s/trace/$u/$bits-bit/metadata")" "architecture_bit_width = $bits;"
done
same_text "$s"

# Both keep their places while the daemon is killed and comes again.
"$work/ticker" 0 1000 >"$work/ticks32" &
one=$!
"$BUILD/tests/lib/ticker" 0 1000 >"$work/ticks64" &
two=$!
more() { [ "$(ticks "$s/trace/$u/$1-bit")" -gt "$2" ]; }
within 20 more 32 1000 || fail "no events of 32 bits"
within 20 more 64 1000 || fail "no events of 64 bits"
kill -9 $(daemon_pids)
within 10 daemon_ended
fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
mount_tree -o tz=UTC
is "traces after the daemon was killed" "$both" "$(traces "$s/trace")"
n=$(ticks "$s/trace/$u/32-bit")
m=$(ticks "$s/trace/$u/64-bit")
within 20 more 32 "$n" || fail "no more events of 32 bits after the daemon was killed"
within 20 more 64 "$m" || fail "no more events of 64 bits after the daemon was killed"
kill $one $two
wait
mkdir "$s/snapshots/x" || fail snapshot
is "traces of the snapshot" "$both" "$(traces "$s/snapshots/x")"
for name in ring out; do
	put stop "$S/$name/control"
	is "discarded of $name" 0 "$(key events_discarded "$S/$name/status")"
done
is "traces of the output" "$both" "$(traces "$work/out")"
for bits in 32 64; do
	hits=$((1000 + $(cat "$work/ticks$bits")))
	is "events of $bits bits in the snapshot" $hits "$(ticks "$s/snapshots/x/$u/$bits-bit")"
	is "events of $bits bits in the output" $hits "$(ticks "$work/out/$u/$bits-bit")"
done

# With buffers per process
mkdir "$S/pid" "$S/pid/user/channels/c" || fail mkdir
put process "$S/pid/user/channels/c/buffering"
put 'tick:*' "$S/pid/user/channels/c/events"
put start "$S/pid/control"
"$work/ticker" 10 0 || fail "the program of 32 bits"
has "$(cat "$S/pid/trace/ust/pid"/ticker-*/metadata)" 'architecture_bit_width = 32;'

# Buffers that such a program has no addresses for are smaller there
mkdir "$S/large" "$S/large/user/channels/c" || fail mkdir
put 1M "$S/large/user/channels/c/subbuf_size"
put 32 "$S/large/user/channels/c/subbuf_count"
put 'tick:*' "$S/large/user/channels/c/events"
put start "$S/large/control"
"$work/ticker" 1000 0 || fail "the program of 32 bits"
is "events in large buffers" 1000 "$(grep -c tick:tock "$S/large/text")"
for name in ring out pid large; do rmdir "$S/$name" || fail rmdir; done
echo "$checks checks"
