#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# The length of a long `text`, which a thread for each CPU counts without writing it: it is as long
# as what is read, a reader may begin anywhere, and nothing is missing where the parts meet. So it is
# while rings are overwritten and the session goes on.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cpus.sh"

. "$top/tests/lib/parts.sh"

# The difference to the line before depends on which lines there are.
sum_times() { sed 's/ ([+?][^)]*)//' | cksum; }

# read_anywhere: the size is that of all that is read, and pieces are those of the whole
read_anywhere() {
	exec 3<"$s/text"
	size=$(stat -L -c %s /dev/fd/3)
	cat <&3 >"$work/text" || fail "cannot read"
	exec 3<&-
	is "the size of $1" "$(wc -c <"$work/text")" "$size"
	[ "$size" -gt 4000000 ] || fail "the text of $1 is too short: $size bytes"
	is "the lines of $1" "$(awk '$1 == "events_recorded" { print $2 }' "$s/status")" \
		"$(wc -l <"$work/text")"
	[ -z "$(grep -v '^\[.* }$' "$work/text" | head -n 3)" ] || fail "no line of $1"
	at=$size
	while [ "$at" -gt 0 ]; do
		at=$((at - 300001 > 0 ? at - 300001 : 0))
		is "$1 at $at" "$(tail -c +$((at + 1)) "$work/text" | head -c 5000 | cksum)" \
			"$(dd if="$s/text" bs=5000 skip=$at count=1 iflag=skip_bytes,fullblock \
				status=none | cksum)"
	done
	is "the end of $1" "$(tail -n 3 "$work/text")" "$(tail -n 3 "$s/text")"
}

make_session still 64
echo "the first" >"$MNT/log"
"$TICKER" 30000 0 4 || fail "ticker"
echo "the last" >"$MNT/log"
put stop "$s/control"
read_anywhere still
# More of it, later: the rest is counted from where the first part ends.
put start "$s/control"
"$TICKER" 30000 0 2 || fail "ticker"
put stop "$s/control"
read_anywhere more

# The same as an imported trace, whose packets are divided
copy_image "$s/trace" "$work/trace"
cp "$work/text" "$work/live"
rmdir "$s"
s=$S/old
mkdir "$s"
put "$work/trace" "$s/input"
exec 3<"$s/text"
is "the size of an import" "$(wc -c <"$work/live")" "$(stat -L -c %s /dev/fd/3)"
cmp "$work/live" - <&3 || fail "the import has another text"
exec 3<&-
at=$(wc -c <"$work/live")
while [ "$at" -gt 1000000 ]; do
	at=$((at - 900001))
	is "the import at $at" "$(tail -c +$((at + 1)) "$work/live" | head -c 5000 | cksum)" \
		"$(dd if="$s/text" bs=5000 skip=$at count=1 iflag=skip_bytes,fullblock \
			status=none | cksum)"
done
# A stream with a damaged packet ends there. All before it is read, and other streams lack no line.
f=$(find "$work/trace" -name 'channel0_*' -size +500k | head -n 1)
size=$(stat -c %s "$f")
# (no event has this id: random bytes may look like events)
head -c 65536 /dev/zero | tr '\0' '\377' |
	dd of="$f" bs=65536 seek=$((size / 65536 * 3 / 4)) conv=notrunc iflag=fullblock 2>/dev/null
put "$work/trace" "$s/input"
! cat "$s/text" >"$work/text" 2>/dev/null || fail "a damaged packet is not an error"
has "$(cat "$s/error")" "${f##*/}: offset [0-9]*: "
cpu="{ cpu_id = ${f##*_} }"
grep -F "$cpu" "$work/live" >"$work/live.same"
grep -vF "$cpu" "$work/live" >"$work/live.other"
# (the last events of the damaged stream may have damaged bytes; the last line may end anywhere)
sed '$d' "$work/text" | grep -F "$cpu" | head -n -3 >"$work/text.same"
sed '$d' "$work/text" | grep -vF "$cpu" >"$work/text.other"
[ "$(wc -l <"$work/text.same")" -gt $(($(wc -l <"$work/live.same") / 2)) ] ||
	fail "of the damaged stream only $(wc -l <"$work/text.same") lines are read"
for kind in same other; do
	is "lines of $kind streams" "$(head -n "$(wc -l <"$work/text.$kind")" "$work/live.$kind" |
		sum_times)" "$(sum_times <"$work/text.$kind")"
done
rmdir "$s"

# Many events of one time, before and after the end of a sub-buffer, and times that are longer from
# one event to the next: a clock that goes by steps.
make_session steps 64 plugin
LTTNG_UST_CLOCK_PLUGIN=$BUILD/tests/mount/views/libsteps.so STEP=20000 LONG=60000 "$TICKER" 200000 0 || fail "ticker"
put stop "$s/control"
read_anywhere steps
grep -q '(+12[0-9]\.' "$work/text" || fail "no time between two events is long"
rmdir "$s"

make_session busy 32
"$TICKER" 0 0 3 >/dev/null &
app=$!
filled() {
	[ "$(awk '$1 == "events_overwritten" { print $2 }' "$s/status")" -gt 0 ]
}
within 60 filled || fail "nothing is overwritten: $(cat "$s/status")"
i=0
while [ $i -lt 8 ]; do
	i=$((i + 1))
	cat "$s/text" >"$work/busy" || fail "read $i"
	[ -z "$(grep -v '^\[.* }$' "$work/busy" | head -n 3)" ] || fail "no line while it is busy"
	[ $((i % 4)) -ne 2 ] || put clear "$s/control"
done
kill $app
wait $app
put stop "$s/control"
exec 3<"$s/text"
rmdir "$s"
cat <&3 >"$work/busy" 2>"$work/err" || has "$(cat "$work/err")" "Stale file handle"
exec 3<&-
checks=$((checks + 1))
echo "$checks checks"
