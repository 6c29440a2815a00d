#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the documents of data/seeds say, and no other test shows.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
[ -x "$ticker" ] || skip "there is no ticker"
mount_tree -o tz=UTC

# fresh NAME: a session of its own, $s, with a small channel $c that discards
fresh() {
	s=$S/$1 c=$S/$1/user/channels/c
	mkdir "$s" "$c" || fail "mkdir $1"
	put 4k "$c/subbuf_size"
	put 2 "$c/subbuf_count"
	put discard "$c/loss_mode"
}

# Buffers per process: a process that records too much loses its own events only.
fresh process
put process "$c/buffering"
put 'tick:*' "$c/events"
put start "$s/control"
"$ticker" 5000 0 || fail ticker
lost=$(key events_discarded "$s/status")
[ "$lost" -gt 1000 ] || fail "the first process lost $lost events"
"$ticker" 3 0 || fail ticker
is "events lost beside a process that loses" "$lost" "$(key events_discarded "$s/status")"
is "events beside a process that loses" 5003 "$(($(wc -l <"$s/text") + lost))"
rmdir "$s"

# An event is in the buffer of its CPU.
fresh cpus
put 'tick:*' "$c/events"
put start "$s/control"
cpus=$(awk '/^Cpus_allowed_list/ { n = split($2, c, "[-,]"); print c[1], c[n] }' /proc/self/status)
n=0
for cpu in $cpus; do
	n=$((n + 3))
	taskset -c "$cpu" "$ticker" 3 0 || fail "ticker on CPU $cpu"
	stream=$(ls "$s/trace/ust/uid/$(id -u)"/*-bit/c_"$cpu") || fail "no stream of CPU $cpu"
	[ "$cpu" = "${cpus% *}" ] || n=3
	is "events of CPU $cpu" $n "$(grep -c "cpu_id = $cpu }" "$s/text")"
done
put stop "$s/control"

# The times of a packet's begin and end are around those of its events.
if command -v babeltrace2 >/dev/null; then
	put start "$s/control"
	"$ticker" 2000 10 2 || fail ticker
	put stop "$s/control"
	babeltrace2 "$s/trace" -c sink.text.details >"$work/details" 2>/dev/null ||
		fail "babeltrace2"
	is "packets and events outside of their packets" "0 0" "$(awk '
		/^\[/ { gsub(/[][,]/, ""); time = $3 + 0 }
		/^[{]/ { stream = $0 }
		/^Packet beginning/ { begin[stream] = time; packets++ }
		/^Event/ { early += time < begin[stream]; last[stream] = time; events += time > 0 }
		/^Packet end/ { late += time < last[stream] }
		END { print packets < 4 || events < 100, early + late + 0 }' "$work/details")"
fi
rmdir "$s"

# The state dump of the kernel names each block device.
if [ -d "$MNT/available/kernel" ] && ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/dump
	mkdir "$s" || fail "mkdir dump"
	printf '%s\n' lttng_statedump_block_device lttng_statedump_end >"$s/kernel/events" ||
		fail "rules"
	put start "$s/control"
	dumped() { grep -q lttng_statedump_end "$s/text"; }
	within 60 dumped || fail "no end of the state dump: $(cat "$s/status")"
	ls /sys/class/block | sort >"$work/devices"
	sed -n 's/.*lttng_statedump_block_device: .*diskname = "\(.*\)" }.*/\1/p' "$s/text" |
		sort | cmp - "$work/devices" || fail "block devices: $(cat "$s/text")"
	[ -s "$work/devices" ] || echo "# there are no block devices"
	checks=$((checks + 1))
	rmdir "$s"
fi
echo "$checks checks"
