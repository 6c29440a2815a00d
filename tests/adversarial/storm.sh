#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# 20 processes x 4 threads, ten million events, unthrottled: every event is read, or counted as
# discarded or overwritten, exactly; babeltrace2 accepts the trace from the mount and `text` is what
# it prints; in both loss modes. Meanwhile readers of pipe, text, trace/ and status run.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
each=${STORM_EVENTS:-125000}
processes=20 threads=4

# What was counted up to now, one way or the other
counted() {
	echo $(($(key events_recorded "$s/status") + $(key events_discarded "$s/status")))
}

one() { # loss mode, subbuf_size, subbuf_count
	rm -f "$slots" "$TMPDIR/go" "$TMPDIR"/count.*
	make_session storm "$1" "$2" "$3"
	put start "$s/control"
	timeout 1000 cat "$s/pipe" >"$TMPDIR/pipe" &
	pipe=$!
	i=0 pids=
	while [ $i -lt $processes ]; do
		"$bin/writer" "$slots" $i $threads "$each" 0 "$TMPDIR/go" >"$TMPDIR/count.$i" &
		pids="$pids $!"
		i=$((i + 1))
	done
	# When each has recorded its first event, and so is attached, they all begin.
	all_traced() { [ "$(head -c $((processes * 64)) "$slots" 2>/dev/null |
		od -An -v -t u8 -w64 | awk '$1' | wc -l)" = $processes ]; }
	within 90 all_traced || fail "not all writers are traced"
	before=$(counted)
	: >"$TMPDIR/go"
	(while :; do
		timeout 200 cat "$s/status" "$s/user/channels/channel0/status"
		timeout 200 tail -n 1 "$s/text"
		(copy_image "$s/trace" "$TMPDIR/copy") >&2 && rm -rf "$TMPDIR/copy"
		sleep 0.2
	done >/dev/null 2>"$TMPDIR/readers.err") &
	readers=$!
	for pid in $pids; do
		wait "$pid" || fail "a writer ended with status $?"
	done
	kill $readers
	wait $readers 2>/dev/null
	put stop "$s/control"
	wait $pipe || fail "pipe did not end"
	alive

	emitted=$(cat "$TMPDIR"/count.* | awk '{ s += $1 } END { printf "%d", s }')
	expect "emitted" "$emitted" = $((processes * threads * each))
	discarded=$(key events_discarded "$s/status")
	overwritten=$(key events_overwritten "$s/status")
	same_text "$s"
	tally
	read=$(key events "$TMPDIR/tally")
	echo "$1: emitted $emitted, read $read, recorded $(key events_recorded \
		"$s/status"), discarded $discarded, overwritten $overwritten"
	expect "$1: read + discarded + overwritten = emitted" $((read + discarded + overwritten)) \
		= $((before + emitted))
	told=$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$TMPDIR/bt.err" |
		awk '{ s += $1 } END { printf "%d", s }')
	expect "$1: what babeltrace2 says was discarded" "$told" = "$discarded"
	if [ "$1" = discard ]; then
		expect "nothing is overwritten" "$overwritten" = 0
		grep -v '^WARNING: Tracer ' "$TMPDIR/pipe" | cmp - "$TMPDIR/text" || fail "pipe is not what text is"
	else
		expect "something is overwritten" "$overwritten" -gt 0
	fi
	[ -s "$TMPDIR/readers.err" ] && { sort "$TMPDIR/readers.err" | uniq -c |
		head; fail "readers failed"; }
	rm -f "$TMPDIR/pipe" "$TMPDIR/text"
	rmdir "$s" || fail "rmdir"
}

mount_tree
one discard 1M 16
one overwrite 512k 8
umount_tree
