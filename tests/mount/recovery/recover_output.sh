#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A session with an output, and then daemon and keeper are killed at once, as when a machine dies;
# of the buffers there are copies. What the output has and what trail-recover makes of the copies is
# together all that was recorded, each event once, with all losses.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
recover=$BUILD/tools/trail-recover
TZ=UTC
export TZ

# print DIRECTORY: its text; adds what was discarded to $gone
print() {
	babeltrace2 "$1" >"$work/text" 2>"$work/err" ||
		fail "babeltrace2 does not accept $1: $(cat "$work/err")"
	gone=$((gone + $(sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$work/err" |
		awk '{ n += $1 } END { print n + 0 }')))
	cat "$work/text" >>"$work/all"
}

mount_tree -o tz=UTC
for s in written rotated empty; do
	mkdir "$S/$s" "$S/$s/user/channels/c" || fail mkdir
	put "$work/out/$s" "$S/$s/output"
	put 4096 "$S/$s/user/channels/c/subbuf_size"
	put 4 "$S/$s/user/channels/c/subbuf_count"
	put vpid "$S/$s/user/contexts"
	put 'tick:*' "$S/$s/user/channels/c/events"
	[ $s = empty ] || put start "$S/$s/control"
done
"$ticker" 20000 0 2 || fail ticker
put rotate "$S/rotated/control"
"$ticker" 3000 20 || fail ticker
put start "$S/empty/control"
"$ticker" 20 0 || fail ticker
# (What is in an unfinished sub-buffer waits there.)
cpus=$(getconf _NPROCESSORS_CONF)
idle() {
	[ "$(key pending_bytes "$S/written/status")" -le $((cpus * 4096)) ] &&
		[ "$(key pending_bytes "$S/rotated/status")" -le $((cpus * 4096)) ]
}
within 20 idle || fail "not written: $(cat "$S/written/status")"
packets=-1 same=0
still() {
	now=$(key output_packets "$S/written/status")$(key output_packets "$S/rotated/status")
	[ "$now" = "$packets" ] && same=$((same + 1)) || same=0
	packets=$now
	[ $same -ge 10 ]
}
within 20 still || fail "it does not end to write: $(cat "$S/written/status")"
# The keeper has got the buffer of each session.
keeper=$(key keeper "$MNT/status")
has_all() { [ "$(find "/proc/$keeper/fd" -lname '*memfd:trail-region*' | wc -l)" -ge 3 ]; }
within 20 has_all || fail "the keeper does not have the buffers"
for s in written rotated empty; do
	[ "$(key pending_bytes "$S/$s/status")" -gt 0 ] ||
		fail "$s: all is written: $(cat "$S/$s/status")"
	key events_recorded "$S/$s/status" >"$work/recorded.$s"
	key events_discarded "$S/$s/status" >"$work/discarded.$s"
done
[ "$(cat "$work/discarded.written")" -gt 0 ] || fail "nothing was discarded"
stop_process "$keeper"
kill -9 $(daemon_pids)
mkdir "$work/buffers"
n=0
for fd in /proc/"$keeper"/fd/*; do
	case $(readlink "$fd") in
	/memfd:trail-region*) n=$((n + 1)); cp --sparse=always "$fd" "$work/buffers/$n" ||
		fail "cp $fd" ;;
	esac
done
kill -9 "$keeper"
within 5 daemon_ended
cp -r "$TRAIL_RUNTIME_DIR" "$work/saved" || fail "cp"
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"

"$recover" -o "$work/rest" "$work/saved" "$work"/buffers/* >"$work/log" 2>&1 ||
	fail "trail-recover: $(cat "$work/log")"
has "$(cat "$work/log")" "^written: events_recorded $(cat \
	"$work/recorded.written") .*; what is not in $work/out/written\$"
"$recover" -a -o "$work/held" "$work/saved" "$work"/buffers/* >"$work/log" 2>&1 ||
	fail "trail-recover -a: $(cat "$work/log")"
for s in written rotated empty; do
	: >"$work/all"
	gone=0
	print "$work/rest/$s"
	[ -s "$work/text" ] || fail "$s: nothing was left"
	cp "$work/text" "$work/rest.text"
	[ $s = empty ] || print "$work/out/$s"
	is "$s: events of both" "$(cat "$work/recorded.$s")" "$(wc -l <"$work/all" | tr -d ' ')"
	is "$s: losses of both" "$(cat "$work/discarded.$s")" "$gone"
	is "$s: twice" '' "$(sed 's/([^)]*)//' "$work/all" | sort | uniq -d | head -n 3)"
	# All that the buffers hold ends with that.
	print "$work/held/$s"
	[ "$(wc -l <"$work/text")" -ge "$(wc -l <"$work/rest.text")" ] || fail "$s: -a has less"
	tail -n 1 "$work/rest.text" | sed 's/([^)]*)//' >"$work/last"
	tail -n 1 "$work/text" | sed 's/([^)]*)//' | cmp - "$work/last" ||
		fail "$s: -a ends otherwise"
done
echo "$checks checks"
