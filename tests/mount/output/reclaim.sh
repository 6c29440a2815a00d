#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Memory of buffers: `reclaim` gives back what was read or cleared, also while programs record, and
# nothing is lost; memory_max_age does it by itself; status has what is in memory;
# buffer_preallocation has all of it from the beginning.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
FILLER=$BUILD/tests/mount/output/filler
[ -x "$FILLER" ] || skip "there is no filler"
mount_tree

MIB=1048576
# A ring, and events that nearly fill it
ring=16 fill=15000
[ -z "${SOAK-}" ] || ring=64 fill=60000
# resident SESSION: bytes of the fullest ring of channel c
resident() {
	awk '$1 == "stream" && $(NF - 1) == "resident" && $NF > most { most = $NF }
		END { printf "%.0f\n", most }' "$1/user/channels/c/status"
}
# make SESSION: channel c with rings of $ring MiB
make() {
	s=$S/$1
	mkdir "$s" "$s/user/channels/c"
	echo 256k >"$s/user/channels/c/subbuf_size"
	echo $((ring * 4)) >"$s/user/channels/c/subbuf_count"
	put 'fill:*' "$s/user/channels/c/events"
}
# numbers TRACE: the n of each event, in $work/numbers
numbers() {
	babeltrace2 --no-delta --clock-seconds "$1" 2>"$work/bt.err" |
		sed -n 's/.*fill:block: .* n = \([0-9]*\),.*/\1/p' >"$work/numbers"
	! grep -q Tracer "$work/bt.err" || fail "lost: $(cat "$work/bt.err")"
}
small() { [ "$(resident "$s")" -lt $MIB ]; }

# --- an output has read a full ring
make written
put "$work/out" "$s/output"
put start "$s/control"
one_cpu "$FILLER" 0 $fill >/dev/null || fail "filler"
all_written "$s"
[ "$(resident "$s")" -gt $((ring * 3 / 4 * MIB)) ] || fail "nothing to give back: $(cat "$s/user/channels/c/status")"
put reclaim "$s/control"
# (A ring in which an event is new keeps a quarter.)
reclaimed() { put reclaim "$s/control" && small; }
within 20 reclaimed || fail "resident: $(cat "$s/user/channels/c/status")"
# … and continues, through the memory that was given back, while more is
mkfifo "$work/go"
one_cpu "$FILLER" $fill 0 20 <"$work/go" >"$work/end" &
app=$!
exec 9>"$work/go"
i=0
while [ $i -lt 40 ]; do
	put reclaim "$s/control"
	i=$((i + 1))
done
lap() { [ "$(key events_recorded "$s/status")" -gt $((fill + ring * 64)) ]; }
within 60 lap || fail "the program does not record: $(cat "$s/status")"
echo >&9
exec 9>&-
wait $app || fail "filler"
end=$(cat "$work/end")
put stop "$s/control"
is "discarded" 0 "$(key events_discarded "$s/status")"
is "recorded" $((end + 1)) "$(key events_recorded "$s/status")"
numbers "$work/out"
seq 0 "$end" | cmp -s - "$work/numbers" || fail "events: $(seq 0 "$end" | diff - "$work/numbers" | head -n 3)"
rmdir "$s"

# --- a flight recorder: what was cleared; what is old, which counts as overwritten
make flight
put start "$s/control"
one_cpu "$FILLER" 0 $fill >/dev/null || fail "filler"
full=$(resident "$s")
[ "$full" -gt $((ring * 3 / 4 * MIB)) ] || fail "not full: $full"
put reclaim "$s/control"
is "nobody has read it" "$full" "$(resident "$s")"
numbers "$s/trace"
is "all is there" $fill "$(wc -l <"$work/numbers")"
refused=$(tool open "$s/control" w write 'reclaim older than\n')
is "a mistake" EINVAL "$refused"
has "$(cat "$s/error")" "older-than TIME"
put 'reclaim older-than 1h' "$s/control"
is "nothing is that old" "$full" "$(resident "$s")"
put 100ms "$s/user/channels/c/memory_max_age"
within 30 small || fail "memory_max_age: $(cat "$s/user/channels/c/status")"
numbers "$s/trace"
n=$(wc -l <"$work/numbers")
[ "$n" -lt 300 ] || fail "$n events are shown"
is "the newest" $((fill - 1)) "$(tail -n 1 "$work/numbers")"
[ "$(key events_overwritten "$s/status")" -ge $((fill - 1000)) ] || fail "overwritten: $(cat "$s/status")"
is "discarded" 0 "$(key events_discarded "$s/status")"
is "the setting" 100000 "$(cat "$s/user/channels/c/memory_max_age")"
one_cpu "$FILLER" $fill 100 >/dev/null || fail "filler"
numbers "$s/trace"
is "recorded afterwards" $((fill + 99)) "$(tail -n 1 "$work/numbers")"
same_text "$s"
put off "$s/user/channels/c/memory_max_age"
is "off" off "$(cat "$s/user/channels/c/memory_max_age")"
one_cpu "$FILLER" 0 $fill >/dev/null || fail "filler"
old() { put 'reclaim older-than 1ms' "$s/control" && small; }
within 20 old || fail "older-than: $(cat "$s/user/channels/c/status")"
numbers "$s/trace"
is "the newest stays" $((fill - 1)) "$(tail -n 1 "$work/numbers")"
one_cpu "$FILLER" 0 $fill >/dev/null || fail "filler"
put clear "$s/control"
put consumed "$s/user/channels/c/memory_max_age"
within 30 small || fail "cleared: $(cat "$s/user/channels/c/status")"
has "$(cat "$s/config")" '^memory_max_age = consumed'
refused=$(tool open "$s/user/channels/c/memory_max_age" wt write '10ms\n' close | grep -v ok)
is "too short" EINVAL "$refused"
has "$(cat "$s/error")" 'at least 100ms'
# The fence of a daemon that was killed does not stay.
kill -9 $(daemon_pids)
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
is "after kill -9" consumed "$(cat "$s/user/channels/c/memory_max_age")"
one_cpu "$FILLER" 0 $((fill + ring * 160)) >/dev/null || fail "filler"
is "discarded" 0 "$(key events_discarded "$s/status")"
rmdir "$s"

# --- all of it from the beginning
make there
refused=$(tool open "$s/user/channels/c/buffer_preallocation" wt write 'later\n' close | grep -v ok)
is "a word" EINVAL "$refused"
has "$(cat "$s/error")" 'not one of on_demand, preallocate, on-demand$'
put consumed "$s/user/channels/c/memory_max_age"
refused=$(tool open "$s/user/channels/c/buffer_preallocation" wt write 'preallocate\n' close | grep -v ok)
is "both" EINVAL "$refused"
has "$(cat "$s/error")" 'not given back'
put off "$s/user/channels/c/memory_max_age"
put preallocate "$s/user/channels/c/buffer_preallocation"
is "the setting" "on_demand [preallocate]" "$(cat "$s/user/channels/c/buffer_preallocation")"
put start "$s/control"
one_cpu "$FILLER" 0 1 >/dev/null || fail "filler"
[ "$(resident "$s")" -ge $((ring * MIB)) ] || fail "not there: $(cat "$s/user/channels/c/status")"
put clear "$s/control"
put reclaim "$s/control"
[ "$(resident "$s")" -ge $((ring * MIB)) ] || fail "given back: $(cat "$s/user/channels/c/status")"
rmdir "$s"
echo "$checks checks"
