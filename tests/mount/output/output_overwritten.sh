#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What an overwriting session has overwritten before its output could write it is a gap in the
# sequence numbers of the packets: babeltrace2 warns of lost packets, in the files, in trace/ and on a
# relay, and text and json have the same number. After kill -9 the numbers continue.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
faulty_disk
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC
s=$S/s
mkdir "$s" "$s/user/channels/c" || fail mkdir
put 4K "$s/user/channels/c/subbuf_size"
put 4 "$s/user/channels/c/subbuf_count"
put overwrite "$s/user/channels/c/loss_mode"
put 'tick:*' "$s/user/channels/c/events"
put "$disk/out" "$s/output"
put start "$s/control"

# packets FILE…: the sum of the lost packets of which warnings speak
packets() {
	sed -n 's/.*Tracer discarded \([0-9]*\) packets\{0,1\} .*/\1/p' "$@" |
		awk '{ n += $1 } END { print n + 0 }'
}
emitted=0
emit() {
	one_cpu "$ticker" "$1" 0 || fail ticker
	emitted=$((emitted + $1))
}
# overwrite: 2000 events while nothing can be written
overwrite() {
	echo 'write EIO' >"$control"
	emit 2000
	: >"$control"
}
# check WHAT: the files have a gap, of the same number for all readers
check() {
	all_written "$s"
	TZ=UTC babeltrace2 "$work/back/out" >"$work/theirs" 2>"$work/warnings"
	lost=$((emitted - $(grep -c tick:tock "$work/theirs")))
	[ $lost -gt 1000 ] || fail "$1: only $lost events were overwritten"
	is "$1: status" $lost "$(key events_overwritten "$s/status")"
	gap=$(packets "$work/warnings")
	[ "$gap" -gt "${before:-0}" ] || fail "$1: babeltrace2 warns of $gap lost packets, $before before"
	before=$gap
	is "$1: text" "$gap" "$(grep '^WARNING' "$s/text" | packets)"
	is "$1: json" "$gap" "$(sed -n 's/^{.*"lost_packets":\([0-9]*\).*/\1/p' "$s/export/json" |
		awk '{ n += $1 } END { print n + 0 }')"
	copy_image "$s/trace" "$work/trace"
	is "$1: trace/" "$gap" "$(babeltrace2 "$work/trace" 2>&1 >/dev/null | packets)"
	rm -rf "$work/trace"
	# A packet has at most 4096 bytes of events of at least 8 bytes.
	[ $((gap * 512)) -ge $lost ] || fail "$1: $gap packets are too few for $lost events"
}

emit 100
all_written "$s"
is "no gap yet" 0 "$(babeltrace2 "$work/back/out" 2>&1 >/dev/null | packets)"
overwrite
emit 50
check "a gap"
overwrite
emit 50
check "another one"
echo 'write EIO' >"$control"
emit 2000
kill -9 $(daemon_pids)
within 20 daemon_ended || fail "the daemon lives"
: >"$control"
mount_tree -o tz=UTC
check "after kill -9"
put stop "$s/control"
is "the end" "$before" "$(babeltrace2 "$work/back/out" 2>&1 >/dev/null | packets)"

# A relay that is stopped while the ring is overwritten again and again
if command -v lttng-relayd >/dev/null; then
	. "$top/tests/lib/relay.sh"
	trap 'code=$?; stop_relay; : >"$control"; umount -l "$disk" 2>/dev/null; (exit $code); clean_up' EXIT
	start_relay
	relay_session r
	put 4K "$c/subbuf_size"
	put overwrite "$c/loss_mode"
	put start "$S/r/control"
	one_cpu "$ticker" 100 0 || fail ticker
	put stop "$S/r/control"         # waits until the relay has all
	put start "$S/r/control"
	stop_process "$relay_pid"
	one_cpu "$ticker" 2000000 0 || fail ticker
	kill -CONT "$relay_pid"
	put stop "$S/r/control"
	put start "$S/r/control"
	one_cpu "$ticker" 100 0 || fail ticker
	put stop "$S/r/control"
	read_relay "$(relay_dir r)" >"$work/theirs"
	lost=$((2000200 - $(wc -l <"$work/theirs")))
	gap=$(packets "$work/warnings")
	echo "# relay: $lost events in $gap packets"
	[ $lost -gt 0 ] || fail "the relay lost nothing"
	is "overwritten before the relay had it" $lost "$(key events_overwritten "$S/r/status")"
	[ "$gap" -gt 0 ] && [ $((gap * 512)) -ge $lost ] ||
		fail "$lost events are not on the relay, with a gap of $gap packets"
fi
echo "$checks checks"
