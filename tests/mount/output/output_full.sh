#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# An output on a full disk: the files stay whole, what does not fit is discarded and counted,
# `status` and `error` say so; when there is space again, recording continues by itself.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ "$(id -u)" = 0 ] || skip "only root can mount a small tmpfs"
ticker=$BUILD/tests/lib/ticker
small_disk 512k

full() { grep -q '^output_error No space left' "$s/status"; }
good() { ! grep -q '^output_error' "$s/status"; }

mount_tree -o tz=UTC
s=$S/full
mkdir "$s" "$s/user/channels/channel0" || fail mkdir
put "$disk/out" "$s/output"
put 16K "$s/user/channels/channel0/subbuf_size"
put 32 "$s/user/channels/channel0/subbuf_count"
put 'tick:*' "$s/user/events"
put start "$s/control"
emitted=0
fill() {
	"$ticker" 20000 0 || fail ticker
	emitted=$((emitted + 20000))
	full
}
within 20 fill || fail "a full disk is not told of: $(cat "$s/status")"
has "$(cat "$s/error")" 'No space left'
# More than the buffers hold
"$ticker" 100000 0 || fail ticker
emitted=$((emitted + 100000))
lost=$(key events_discarded "$s/status")
[ "$lost" -gt 10000 ] || fail "$emitted events do not fit, but only $lost were discarded"
# The files can be read.
TZ=UTC babeltrace2 "$disk/out" >"$work/before" 2>"$work/warnings" ||
	fail "babeltrace2 does not accept it: $(cat "$work/warnings")"
[ -s "$work/before" ] || fail "nothing was written"
[ "$(df --output=avail "$disk" | tail -n 1)" -le 16 ] || fail "the disk is not full"

# A stop and a start meanwhile lose nothing.
is "stop" ENOSPC "$(tool open "$s/control" w write 'stop\n')"
[ "$(key pending_bytes "$s/status")" -gt 0 ] || fail "nothing is pending"
put start "$s/control"

mount -o remount,size=8m "$disk" || fail "cannot make the disk larger"
within 10 good || fail "does not continue when there is space"
is "error, when all is well again" '' "$(cat "$s/error")"
"$ticker" 1000 100 || fail ticker
put stop "$s/control"
is "pending" 0 "$(key pending_bytes "$s/status")"
TZ=UTC babeltrace2 "$disk/out" >"$work/after" 2>"$work/warnings" ||
	fail "babeltrace2 does not accept it: $(cat "$work/warnings")"
is "events and losses" $((emitted + 1000)) \
	"$(($(wc -l <"$work/after") + $(key events_discarded "$s/status")))"
is "losses, as babeltrace2 finds them" "$(key events_discarded "$s/status")" \
	"$(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/warnings" |
		awk '{ s += $1 } END { print s + 0 }')"
# (Not at the head: what another CPU had not written yet stands between it now, and the time since
# the last event is another one.)
sed 's/ (+[^)]*)//' "$work/before" | sort >"$work/before.sorted"
sed 's/ (+[^)]*)//' "$work/after" | sort | comm -23 "$work/before.sorted" - >"$work/gone"
[ ! -s "$work/gone" ] || fail "what was written before has changed: $(head -n 3 "$work/gone")"
TZ=UTC babeltrace2 "$s/trace" 2>/dev/null | cmp - "$work/after" || fail "trace/ is something else"
grep -v "^WARNING: " "$s/text" | cmp - "$work/after" || fail "text is something else"
rmdir "$s" || fail rmdir
echo "$checks checks"
