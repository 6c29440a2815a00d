#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Losses that an imported trace holds: counters of discarded events, also ones that wrap or begin
# again, and gaps of sequence numbers are in status, counts and stats, with the times that
# babeltrace2 warns of. Packets and metadata of another trace are warnings, or refused.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/traces.sh"

write_traces <<'END'
def metadata(counters, times=True):
    return TYPES + """
trace { major = 1; minor = 8; uuid = "%s"; byte_order = le; packet.header := struct {
uint32_t magic; uint8_t uuid[16]; }; };
clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
stream { packet.context := struct { %s uint16_t content_size, packet_size; %s };
event.header := struct { uint8_t id; }; };
event { name = ev; fields := struct { uint8_t v; }; };
""" % (UUID, "time_t timestamp_begin, timestamp_end;" if times else "", counters)

def packets(form, *values, times=True, of=UUID):
    out = b""
    for i, v in enumerate(values):
        size = 20 + (16 if times else 0) + 4 + struct.calcsize(form) + 2
        out += MAGIC + of.bytes
        if times:
            out += struct.pack("<QQ", 100 * i + 10, 100 * i + 90)
        out += struct.pack("<HH", 8 * size, 8 * size) + struct.pack(form, *v) + b"\0\7"
    return out

both = "uint32_t events_discarded; uint8_t packet_seq_num;"
trace("loss", metadata(both), s0=packets("<IB", (2, 0), (7, 1), (7, 4), (9, 5)),
      s1=packets("<IB", (0, 3), (0, 4)))
trace("wrap", metadata(both), s0=packets("<IB", (2**32 - 6, 254), (2**32 - 6, 255), (4, 0), (4, 3)))
trace("again", metadata(both), s0=packets("<IB", (9, 7), (3, 0), (4, 1)))
trace("timeless", metadata(both, False), s0=packets("<IB", (0, 1), (3, 4), times=False))
trace("few_bits", metadata("uint32_t stream_packet_count; uint8_t stream_packet_count_bits;"),
      s0=packets("<IB", (6, 3), (7, 3), (0, 3), (3, 3)))
trace("many", metadata(both), s0=packets("<IB", *[(i, i) for i in range(100)]))
trace("packet", metadata(both), s0=packets("<IB", (0, 0)) + packets("<IB", (0, 1), of=OTHER))
text = metadata(both)
trace("metadata", metadata_packet("/* CTF 1.8 */ " + text, OTHER), s0=packets("<IB", (0, 0)))
trace("own", metadata_packet("/* CTF 1.8 */ " + text, UUID), s0=packets("<IB", (0, 0)))
trace("mixed", metadata_packet("/* CTF 1.8 */ " + text, UUID) + metadata_packet(" ", OTHER),
      s0=packets("<IB", (0, 0)))
END

# shows TRACE DISCARDED LOST: of the session $s, whose lines of losses are in $work/lines
shows() {
	s=$S/$1
	mkdir "$s"
	put "$work/$1" "$s/input"
	is "discarded, $1" "$2" "$(key events_discarded "$s/status")"
	is "lost, $1" "$3" "$(key packets_lost "$s/status")"
	grep -E '^(loss|warning) ' "$s/status" | sort >"$work/lines"
	is "stats, $1" "$2" "$(awk '$1 == "lost" { print $2 }' "$s/stats")"
	is "counts, $1" "$2" "$(awk '$3 == "*" { n += $5 } END { printf "%.0f", n }' "$s/counts")"
}
# same TRACE: these are the warnings of babeltrace2
same() {
	has_babeltrace_2_0 || return 0
	babeltrace2 --clock-gmt "$work/$1" 2>&1 >/dev/null | sed -n '
		s/.*WARNING: Tracer may have discarded events/events may have been discarded/
		s/.*WARNING: Tracer discarded \([0-9]* events\)/\1 discarded/
		s/.*WARNING: Tracer discarded \([0-9]* packets\)/\1 lost/
		s/\(.*\) in trace .*within stream "[^"]*\/\([^"]*\)".*/loss \2: \1/p' |
		tr -d '[]' | sort | cmp - "$work/lines" ||
		fail "$1: not babeltrace2's: $(cat "$work/lines")"
}

shows loss 7 2
same loss
is "warnings" 4 "$(wc -l <"$work/lines")"
shows wrap 10 2
has "$(cat "$work/lines")" '^loss s0: 10 events discarded between 22:13:20.000000190 and 22:13:20.000000290$'
shows again 1 0
has "$(cat "$work/lines")" '^loss s0: events may have been discarded between 22:13:20.000000090 and'
shows timeless 3 2
has "$(cat "$work/lines")" '^loss s0: 3 events discarded$'
shows few_bits 0 2
shows many 99 0
is "lines" 17 "$(wc -l <"$work/lines")"
has "$(cat "$work/lines")" '^loss s0: 83 more of these$'

shows own 0 0
is "own metadata" "" "$(cat "$work/lines")"
shows packet 0 0
is "a packet of another trace" "warning s0: offset 47: the packet is of the trace 025e84d6-3d89-4fe1-b434-44b603a14a05, the metadata of 025e84d6-3d89-4fe1-b434-44b603a14a04" "$(cat "$work/lines")"
is "its events" 2 "$(wc -l <"$s/text")"
shows metadata 0 0
is "metadata of another trace" "warning metadata: its packets are of the trace 025e84d6-3d89-4fe1-b434-44b603a14a05, its text of 025e84d6-3d89-4fe1-b434-44b603a14a04" "$(cat "$work/lines")"
mkdir "$S/mixed"
! echo "$work/mixed" 2>/dev/null >"$S/mixed/input" || fail "metadata of two traces is accepted"
has "$(cat "$S/mixed/error")" 'metadata packet is of another trace than the first one'
echo "$checks checks"
