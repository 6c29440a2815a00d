#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Types and headers of imported traces. What babeltrace2 reads looks as it prints it: bit fields in
# bases 2, 8 and 16, ids above 65535, times without `map`, other members of the packet context,
# structures without members. What only the CTF proposal (1.6) has is compared with what its section
# says: floating point of 16 and 128 bits, `type name:size` as gcc lays it out, `enum <type>`,
# `type name[length_type]`.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
TZ=UTC
export TZ
mount_tree -o tz=UTC

PYTHONPATH=$top/tests/lib python3 -B - "$work" <<'END' || fail "no traces were written"
from ctf_trace import *
import math

def begin(order="le"):
    return TYPES + "trace { major = 1; minor = 8; byte_order = %s; };\n" % order

# ---- what babeltrace2 reads ----

trace("bases", begin() + """event { name = ev; fields := struct {
integer { size = 5; signed = true; base = 16; } a; integer { size = 3; signed = true; base = 2; } b;
integer { size = 13; signed = true; base = 8; } c; integer { size = 3; base = 2; } d;
integer { size = 33; signed = true; base = 16; } e; integer { size = 7; base = 8; } f;
integer { size = 64; signed = true; base = 8; } g; integer { size = 12; base = 16; } h;
enum : integer { size = 9; signed = true; base = 16; } { x = -1 } i; integer { size = 3; } pad;
integer { size = 5; signed = true; base = 8; } j[3]; integer { size = 9; signed = 1; } k; }; };
""", s0=b"\xff" * 22)
trace("ids", begin() + """stream { event.header := struct { uint32_t id; }; };
event { name = a; id = 0; fields := struct { uint8_t v; }; };
event { name = b; id = 65535; fields := struct { uint8_t v; }; };
event { name = c; id = 65536; fields := struct { uint8_t v; }; };
event { name = d; id = 4294967295; fields := struct { uint8_t v; }; };
""", s0=struct.pack("<IBIBIBIB", 4294967295, 4, 65536, 3, 65535, 2, 0, 1))
# The header of LTTng's channels with many events
trace("extended", begin() + """
clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 32; align = 8; map = clock.c.value; } := time32_t;
typealias integer { size = 64; align = 8; map = clock.c.value; } := time64_t;
stream { event.header := struct { enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
variant <id> { struct { time32_t timestamp; } compact;
struct { uint32_t id; time64_t timestamp; } extended; } v; }; };
event { name = a; id = 7; fields := struct { uint8_t v; }; };
event { name = b; id = 70000; fields := struct { uint8_t v; }; };
""", s0=struct.pack("<HIB", 7, 5, 1) + struct.pack("<HIQB", 65535, 70000, 2**33, 2))
trace("no_map", begin() + """clock { name = c; freq = 1000; offset_s = 10; };
stream { packet.context := struct { uint64_t timestamp_begin, timestamp_end; uint8_t cpu_id; };
event.header := struct { uint8_t id; struct { uint32_t timestamp; } v; }; };
event { name = ev; fields := struct { uint8_t v; }; };
""", s0=struct.pack("<QQB", 5000, 8000, 1) + struct.pack("<BIBBIB", 0, 6000, 1, 0, 7000, 2))
trace("no_clock", begin() + """
stream { event.header := struct { uint8_t id; struct { uint32_t timestamp; } v; }; };
event { name = ev; fields := struct { uint8_t v; }; };
""", s0=struct.pack("<BIB", 0, 6000, 1))
# Events have the times of their packets.
trace("no_time", begin() + """clock { name = c; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time_t;
stream { packet.context := struct { time_t timestamp_begin, timestamp_end;
uint16_t packet_size, content_size; }; event.header := struct { uint8_t id; }; };
event { name = ev; fields := struct { uint8_t v; }; };
""", s0=b"".join(struct.pack("<QQHHBBBB", t, t + 9, 192, 192, 0, 1, 0, 2) for t in (5, 20)))
size = 8 * 32
trace("packet", begin() + """stream { packet.context := struct { uint8_t cpu_id; uint16_t other;
string name; uint32_t packet_size, content_size, events_discarded, packet_seq_num;
uint32_t stream_packet_count; struct { uint8_t x; } deep; uint8_t n; uint8_t _list[n]; };
event.context := struct { uint8_t own; }; };
event { name = ev; context := struct { uint8_t mine; }; fields := struct { uint8_t v; }; };
""", s0=(struct.pack("<BH", 3, 9) + b"nm\0" + struct.pack("<IIIIIBBB", size, size, 0, 0, 7, 7, 1, 8) +
         b"\1\2\3") * 2)
trace("only_other", begin() + """stream { packet.context := struct { uint16_t other; }; };
event { name = ev; fields := struct { uint8_t v; }; };
""", s0=struct.pack("<HBB", 9, 1, 2))
# Contexts and fields that are not there, have no members, or have one
def part(key, form, name):
    return key + " := struct { %s };" % ("uint8_t %s;" % name if form else "") if form >= 0 else ""

for packet in -1, 0, 1:
    for stream in -1, 0, 1:
        events = [(own, fields) for own in (-1, 0, 1) for fields in (-1, 0, 1)]
        trace("parts_%d_%d" % (packet, stream), begin() + "stream {" +
              part("packet.context", packet, "pc") + part("event.context", stream, "sc") +
              "event.header := struct { uint8_t id; }; };" +
              "".join("event { name = ev%d; id = %d; %s %s };" % (
                  i, i, part("context", own, "oc"), part("fields", fields, "fc"))
                  for i, (own, fields) in enumerate(events)),
              s0=b"\7" * (packet > 0) +
              b"".join(bytes([i] + [9] * sum(x > 0 for x in (stream, own, fields)))
                       for i, (own, fields) in enumerate(events)))

# ---- what only the proposal has ----

def quad(x):
    m, e = math.frexp(abs(x))
    return (x < 0) << 127 | (e + 16382) << 112 | int((2 * m - 1) * 2**52) << 60

def x87(x):
    m, e = math.frexp(abs(x))
    return (x < 0) << 79 | (e + 16382) << 64 | int(2 * m * 2**52) << 11

halves, values = [1.5, -0.1, 65504.0, math.inf, 6e-8, math.nan, -math.inf], [1.5, -0.1, 65504.0, 1e300]
floats = """
typealias floating_point { exp_dig = 5; mant_dig = 11; } := half;
typealias floating_point { exp_dig = 15; mant_dig = 113; } := quad;
typealias floating_point { exp_dig = 64; mant_dig = 64; } := long double;
event { name = ev; fields := struct { half h[7]; quad q[4]; long double l[4];
integer { size = 3; } a; floating_point { exp_dig = 5; mant_dig = 11; align = 1; } odd;
integer { size = 5; } b; floating_point { exp_dig = 11; mant_dig = 53; } d; }; };
"""
for order, mark in (("little", "<"), ("big", ">")):
    half = int.from_bytes(struct.pack(">e", 2.5), "big")
    odd = 1 | half << 3 | 9 << 19 if order == "little" else 1 << 21 | half << 5 | 9
    trace("floats_" + order, begin(mark == "<" and "le" or "be") + floats,
          s0=struct.pack(mark + "7e", *halves) +
          b"".join(quad(v).to_bytes(16, order) for v in values) +
          b"".join(x87(v).to_bytes(16, order) for v in values) +
          odd.to_bytes(3, order) + struct.pack(mark + "d", 0.5))
# gcc's: { -2, 7, 5, 0x2aaaaaaa, -1, -3, 100, 2 }
trace("bit_fields", begin() + """
struct x { short a:12; short b:5; unsigned int c:3; unsigned int d:30; char e:1; long f:60;
unsigned char g:7; unsigned char h:2; };
event { name = ev; fields := struct { uint8_t first; struct x x; integer { size = 6; } pad; }; };
""", s0=b"\1" + bytes.fromhex("fe0fa700aaaaaa6afdffffffffffff0f6402"))
trace("examples", begin() + """
typedef integer { size = 32; signed = false; align = 32; } uint32_t;
typedef integer {
  size = 5;
  signed = true;
  align = 1;
} int5_t;
typedef floating_point {
  exp_dig = 8;         /* sizeof(float) * CHAR_BIT - FLT_MANT_DIG */
  mant_dig = 24;       /* FLT_MANT_DIG */
  byte_order = native;
} float;
typedef integer {
  size = 32;
  align = 32;
  signed = false;
} struct page *;
struct example {
  integer {                       /* Nameless type */
    size = 16;
    signed = true;
    align = 16;
  } first_field_name;
  uint64_t second_field_name;  /* Named type declared in the metadata */
};
typedef struct example new_type_name[2];
typedef uint8_t name[uint16_t];
enum <uint8_t> name {
  string              = 0 ... 3,
  "other string"      = 4 ... 9,
  yet_another_string,	/* will be assigned to end_value2 + 1 */
  "some other string" = 20,
};
enum plain {
  TEN = 10, ELEVEN
};
event { name = ev; fields := struct { struct page * p; new_type_name two; enum name e;
enum <uint8_t> { A, B } f; enum plain g; name bytes; long field_name[int]; uint8_t n;
uint8_t list[n]; uint8_t grid[2][unsigned char]; string field; float h; int5_t i; uint27_t j; }; };
""", s0=struct.pack("<IhQhQ", 0x1234, -1, 2, -3, 4) + struct.pack("<BBiHBBiqBBB", 10, 1, 11, 2, 7, 8,
        1, -5, 2, 3, 4) + b"\1\5\0hi\0" + struct.pack("<f", 0.5) + struct.pack("<I", 31 | 5 << 5))
trace("wide", begin() + "event { name = ev; fields := struct { uint8_t a:9; }; };", s0=b"\0\0")
trace("short", begin() + """
event { name = ev; fields := struct { floating_point { exp_dig = 20; mant_dig = 40; } f; }; };
""", s0=bytes(8))
trace("float", begin() + "event { name = ev; fields := struct { string s[float]; }; };", s0=b"\0")
END

# shows TRACE TEXT: the session has it, also in parts; shows_same TRACE: babeltrace2's text
shows() {
	s=$S/$1
	mkdir "$s"
	put "$work/$1" "$s/input"
	is "text of $1" "$2" "$(cat "$s/text")"
	is "pipe of $1" "$2" "$(timeout 60 cat "$s/pipe")"
	is "size of $1" "$(cat "$s/text" | wc -c)" "$(stat -c %s "$s/text")"
}
shows_same() {
	has_babeltrace_2_0 || { mkdir "$S/$1" && put "$work/$1" "$S/$1/input"; return; }
	shows "$1" "$(babeltrace2 --clock-gmt "$work/$1" 2>/dev/null)"
	[ -s "$s/text" ] || fail "$1: babeltrace2 does not read it"
}
refused() {
	mkdir "$S/bad"
	! echo "$work/$1" 2>/dev/null >"$S/bad/input" || fail "$1 is accepted"
	has "$(cat "$S/bad/error")" "$2"
	rmdir "$S/bad"
}

for t in bases ids extended no_map no_clock no_time packet only_other \
	parts_-1_-1 parts_-1_0 parts_-1_1 parts_0_-1 parts_0_0 parts_0_1 parts_1_-1 parts_1_0 parts_1_1; do
	shows_same "$t"
done
has "$(cat "$S/packet/export/json")" '"cpu":3,.*"context":{"cpu_id":3,"other":9,'
for o in little big; do
	shows floats_$o 'ev: { h = [ [0] = 1.5, [1] = -0.0999756, [2] = 65504, [3] = inf, [4] = 5.96046e-08, [5] = nan, [6] = -inf ], q = [ [0] = 1.5, [1] = -0.1, [2] = 65504, [3] = 1e+300 ], l = [ [0] = 1.5, [1] = -0.1, [2] = 65504, [3] = 1e+300 ], a = 1, odd = 2.5, b = 9, d = 0.5 }'
done
shows bit_fields 'ev: { first = 1, x = { a = -2, b = 7, c = 5, d = 715827882, e = -1, f = -3, g = 100, h = 2 }, pad = 0 }'
shows examples 'ev: { p = 4660, two = [ [0] = { first_field_name = -1, second_field_name = 2 }, [1] = { first_field_name = -3, second_field_name = 4 } ], e = ( "yet_another_string" : container = 10 ), f = ( "B" : container = 1 ), g = ( "ELEVEN" : container = 11 ), bytes = [ [0] = 7, [1] = 8 ], field_name = [ [0] = -5 ], n = 2, list = [ [0] = 3, [1] = 4 ], grid = [ [0] = [ [0] = 5 ], [1] = [ ] ], field = "hi", h = 0.5, i = -1, j = 5 }'
refused wide 'section 4.1.6'
refused short 'section 4.1.7'
refused float 'section 4.2.3'
echo "$checks checks"
