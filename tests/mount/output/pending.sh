#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `pending_bytes` in `status` is what the buffers hold at the time of the read, also when the daemon
# writes only once in an hour, and counts no byte that is written.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker

mount_tree
s=$S/late
pending() { key pending_bytes "$s/status"; }
mkdir "$s" "$s/user/channels/channel0" || fail mkdir
put 1M "$s/user/channels/channel0/subbuf_size"
put 1h "$s/user/channels/channel0/read_period"
put "$work/out" "$s/output"
put 'tick:*' "$s/user/events"
put start "$s/control"
is "nothing is recorded" 0 "$(pending)"

last=0
for i in 1 2 3; do
	"$ticker" 1000 0 || fail ticker
	now=$(pending)
	[ "$now" -ge $((last + 4000)) ] || fail "after $i times 1000 events: $last, then $now"
	last=$now
done
is "files have nothing" 0 "$(key written_percent "$s/status")"

put stop "$s/control"
is "all is written" 0 "$(pending)"
is "all of it" 100 "$(key written_percent "$s/status")"
put start "$s/control"
# The daemon looks at the buffers once after the start, perhaps only when these events are there.
tick_and_count() { "$ticker" 1000 0 && [ "$(pending)" -ge 4000 ]; }
within 20 tick_and_count || fail "not counted after a stop: $(pending)"
put clear "$s/control"
is "cleared" 0 "$(pending)"
put stop "$s/control"
rmdir "$s" || fail rmdir
