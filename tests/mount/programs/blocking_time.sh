#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# blocking_timeout is the time that passes, not the sum of the sleeps that were asked for. The
# program's sleeps take 20 ms each, so 300 ms have room for 15 of them, and one more for the clock's
# granularity, on any machine.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
s=$S/b
c=$s/user/channels/c
mkdir "$s" "$c" || fail mkdir
put 4096 "$c/subbuf_size"
put 2 "$c/subbuf_count"
put discard "$c/loss_mode"
put 300ms "$c/blocking_timeout"
put 'tick:*' "$c/events"
put start "$s/control"
sleeps=$(TRAIL_ALLOW_BLOCKING=1 "$BUILD/tests/mount/programs/slow_sleep") ||
	fail "no event waited: $(cat "$s/status")"
checks=$((checks + 1))
[ "$sleeps" -le 16 ] || fail "an event slept $sleeps times 20 ms where it may wait for 300 ms"
is "discarded after the wait" 1 "$(key events_discarded "$s/status")"

# No longer than 1 ms: one sleep, however long it takes
put clear "$s/control"
put 0 "$c/enabled"
mkdir "$s/user/channels/d" || fail "mkdir of a second channel"
put 4096 "$s/user/channels/d/subbuf_size"
put 2 "$s/user/channels/d/subbuf_count"
put discard "$s/user/channels/d/loss_mode"
put 1ms "$s/user/channels/d/blocking_timeout"
put 'tick:*' "$s/user/channels/d/events"
sleeps=$(TRAIL_ALLOW_BLOCKING=1 "$BUILD/tests/mount/programs/slow_sleep") || fail "no event waited"
is "sleeps within 1 ms" 1 "$sleeps"
echo "$checks checks"
