#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# output net://: sessions streamed to a real lttng-relayd. Its files are what trace/ shows, byte for
# byte as babeltrace2 reads them; rotations, clear and the end of a session are as LTTng's; what is
# refused.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
ticker=$BUILD/tests/lib/ticker
need_relay

refused() { # VALUE FILE ERRNO PATTERN
	is "echo '$1' > $2" "$3" "$(tool open "$2" wt write "$1\n")"
	has "$(cat "$S"/*/error)" "$4"
}

start_relay
mount_tree -o tz=UTC

# Addresses
mkdir "$S/bad"
refused net:// "$S/bad/output" EINVAL 'host name or address is missing'
refused net://h:0 "$S/bad/output" EINVAL 'port from 1'
refused net://h/../x "$S/bad/output" EINVAL 'begins with a dot'
put tcp://h "$S/bad/output"
is "one address: data goes to the same host" net://h:5342:5343 "$(cat "$S/bad/output")"
put net://h "$S/bad/output"
is "the default ports" net://h:5342:5343 "$(cat "$S/bad/output")"
put 'net6://[::1]:1/a/b/' "$S/bad/output"
is "IPv6" 'net6://[::1]:1:5343/a/b' "$(cat "$S/bad/output")"
printf 'tcp://a:1\ntcp://b:2\n' >"$S/bad/output" || fail "a pair of addresses"
is "a pair" '"tcp://a:1 tcp://b:2"' "$(cat "$S/bad/output")"
put "$(cat "$S/bad/output")" "$S/bad/output"
is "a pair, written again" '"tcp://a:1 tcp://b:2"' "$(cat "$S/bad/output")"
rmdir "$S/bad"

# All that was emitted is on the relay, and it is what the mount shows.
relay_session plain
is "the default becomes discard" '[default] overwrite discard' "$(cat "$c/loss_mode")"
put start "$S/plain/control"
refused net://other "$S/plain/output" EBUSY 'first started'
"$ticker" 5000 0 3 || fail ticker
put stop "$S/plain/control"
is "nothing is pending" 0 "$(key pending_bytes "$S/plain/status")"
has "$(cat "$S/plain/status")" '^relay connected, protocol 2\.'
d=$(relay_dir plain)
case ${d##*/} in
plain-[0-9]*-[0-9]*) ;;
*) fail "the directory on the relay is $d" ;;
esac
is "the host's directory" "$(hostname)" "$(basename "$(dirname "$d")")"
same_as_trace plain "$d"
is "events" 15000 "$(wc -l <"$work/files")"
cmp "$work/files" "$S/plain/text" || fail "text is not what the relay has"

# It continues after a second start; metadata of new events is added.
put start "$S/plain/control"
put 'text:*' "$S/plain/user/events"
"$BUILD/tests/lib/ticker" 100 || fail ticker
put stop "$S/plain/control"
same_as_trace plain "$d"
rmdir "$S/plain"
read_relay "$d" >"$work/after"
cmp "$work/files" "$work/after" || fail "the end of the session has changed the relay's files"

# Rotation: each chunk is a trace of its own, and together they are all.
relay_session turn
put start "$S/turn/control"
for i in 1 2 3; do
	"$ticker" 1000 0 || fail ticker
	put rotate "$S/turn/control"
done
"$ticker" 500 0 || fail ticker
put stop "$S/turn/control"
is "archives" 3 "$(key archives "$S/turn/status")"
cp "$S/turn/text" "$work/all"
rmdir "$S/turn"
d=$(relay_dir turn)
n=0
for chunk in "$d"/archives/*; do
	read_relay "$chunk" >"$work/chunk"
	n=$((n + 1))
	[ $n = 4 ] || is "events of chunk $n" 1000 "$(wc -l <"$work/chunk")"
done
is "chunks" 4 $n
read_relay "$d" >"$work/union"
cmp "$work/union" "$work/all" || fail "the chunks together are not what was recorded"

# clear: what was recorded before is gone, there and here.
relay_session wipe
put start "$S/wipe/control"
"$ticker" 1000 0 || fail ticker
put clear "$S/wipe/control"
"$ticker" 300 0 || fail ticker
put stop "$S/wipe/control"
d=$(relay_dir wipe)
same_as_trace wipe "$d"
is "events after clear" 300 "$(wc -l <"$work/files")"
put 'regenerate metadata' "$S/wipe/control"
same_as_trace wipe "$d"
rmdir "$S/wipe"

# Overwriting events that the relay has loses nothing.
relay_session ring
put overwrite "$c/loss_mode"
put 4096 "$c/subbuf_size"
confirmed() { [ "$(key pending_bytes "$S/ring/status")" = 0 ]; }
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	put start "$S/ring/control"
	"$ticker" 800 0 || fail ticker
	put stop "$S/ring/control"
	within 60 confirmed || fail "not confirmed: $(cat "$S/ring/status")"
done
is "the relay has all" 9600 "$(read_relay "$(relay_dir ring)" | wc -l)"
[ "$(wc -l <"$S/ring/text")" -lt 9600 ] || fail "nothing was overwritten"
is "overwritten, and lost" 0 "$(key events_overwritten "$S/ring/status")"
# Without a relay they are lost, and counted.
kill_relay
put start "$S/ring/control"
"$ticker" 20000 0 || fail ticker
lost=$(key events_overwritten "$S/ring/status")
[ "$lost" -gt 0 ] || fail "without a relay nothing is lost"
first=$(relay_dir ring)
start_relay
connected() { grep -q '^relay connected' "$S/ring/status"; }
within 60 connected || fail "no connection: $(cat "$S/ring/status")"
tool open "$S/ring/control" w write "stop\n" >/dev/null   # (EIO: not all in 0.8 s)
within 60 confirmed || fail "not confirmed: $(cat "$S/ring/status")"
lost=$(key events_overwritten "$S/ring/status")
d=$(relay_dir ring)
[ "$d" != "$first" ] || fail "the same directory is used again"
is "recorded" 29600 "$(key events_recorded "$S/ring/status")"
is "on the relay, and lost" 29600 \
	"$(($(read_relay "$first" | wc -l) + $(read_relay "$d" | wc -l) + lost))"
is "nothing was resent" 0 "$(key relay_resent_packets "$S/ring/status")"
is "connections" 2 "$(key relay_connections "$S/ring/status")"
rmdir "$S/ring"

# A path instead of the session's name; limits of files. No two sessions have one path.
relay_session named "/a/b"
put 16k "$c/file_size"
put 3 "$c/file_count"
put 4096 "$c/subbuf_size"
put start "$S/named/control"
relay_session again "/a/b"
refused start "$S/again/control" EBUSY "session 'named' writes to this path on the relay"
put "$relay_url/a/c" "$S/again/output"
put start "$S/again/control"
rmdir "$S/again"
"$ticker" 20000 0 || fail ticker
put stop "$S/named/control"
d=$relay_out/$(hostname)/a/b
[ -d "$d" ] || fail "there is no $d"
read_relay "$d" >"$work/files"
for f in "$d"/ust/uid/*/64-bit/channel0_*; do
	[ "$(stat -c %s "$f")" -le 16384 ] || fail "$f is larger than file_size"
done
is "at most file_count files" 3 \
	"$(find "$d" -name 'channel0_[0-9]*_*' ! -name '*.idx' | sed 's/_[0-9]*$//' | sort |
	uniq -c | awk '$1 > n { n = $1 } END { print n }')"
rmdir "$S/named"
echo "$checks checks"
