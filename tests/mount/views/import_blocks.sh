#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Traces as the CTF proposal (1.6) describes them, which babeltrace2 does not read: the fixed header
# of packets, sizes in bytes, the blocks `event` and `packet` in `stream`, both headers of events
# with their extended headers, fields that an event lacks, and the size of a word. The bytes are
# written here from what the sections say.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/traces.sh"

write_traces <<'END'
TRACE = """
trace {
  major = 1;	/* Trace format version */
  minor = 6;
  uuid = "%s";		/* Trace UUID */
  word_size = %d;
  byte_order = %s;
};
"""
CONTEXT = """
struct event_packet_context {
  uint64_t timestamp_begin;
  uint64_t timestamp_end;
  uint32_t checksum;
  uint32_t stream_packet_count;
  uint32_t events_discarded;
  uint32_t cpu_id;
  uint32_t content_size;
  uint32_t packet_size;
  uint8_t  stream_packet_count_bits;	/* Significant counter bits */
  uint8_t  compression_scheme;
  uint8_t  encryption_scheme;
  uint8_t  checksum;
};
"""
STREAM = """
stream {
  id = 3;
  event {
    /* Type 1 - Few event IDs; Type 2 - Many event IDs. See section 6.1. */
    header_type = event_header_%d;
    header_type_ext = event_header_%d_ext;
    context_type = struct {
      uint pid;
      uint16_t payload_size;
    };
  }
  packet {
    context_type = struct event_packet_context;
  }
};
"""
EVENTS = """
event {
  name = few;
  id = 1;			/* Numeric identifier within the stream */
  stream = 3;
  fields = struct {
    uint8_t n;
    uint8_t list[n];
    long word;
    string field_name;
    struct { uint8_t x; } point;
    enum <uint8_t> { ZERO, ONE } kind;
  };
};
event { name = many; id = 70000; stream = 3; fields = struct {
uint8_t a, b, c, d, e, f, g, h; uint16_t last; }; };
event { name = none; id = 2; stream = 3; };
"""

def bits(order, n, *values):
    """Values and their sizes, as consecutive integers of n bytes (section 4.1.5)."""
    v, at = 0, 0
    for value, size in values:
        v |= value << (at if order == "little" else 8 * n - at - size)
        at += size
    return v.to_bytes(n, order)

def packet(order, n, body, magic=0xC1FC1FC1, pad=5):
    """Packet n of the stream: the headers of sections 5.1 and 5.2, bytes of padding."""
    mark = "<" if order == "little" else ">"
    size = 24 + 44 + len(body)
    return (struct.pack(mark + "I16sIQQIIIIIIBBBB", magic, UUID.bytes, 3, 1000 * n, 1000 * n + 999,
                        0, n, 7 * (n > 1), 2, size, size + pad, 8, 0, 0, 0) + body + b"\xee" * pad)

def header(order, kind, id, time):
    mark = "<" if order == "little" else ">"
    if kind == 1:
        return bits(order, 4, (id, 5), (time, 27))
    return struct.pack(mark + "IH", time, id)

def extended(order, kind, id, time, missing):
    mark = "<" if order == "little" else ">"
    n = len(missing)
    return (header(order, kind, (1 << (5 if kind == 1 else 16)) - 1, 0) +
            (struct.pack(mark + "IQ", id, time) if kind == 1 else struct.pack(mark + "QI", time, id)) +
            bits(order, (n + 7) // 8, *((m, 1) for m in missing)))

for order, name in (("little", "le"), ("big", "be")):
    mark = "<" if order == "little" else ">"
    context = struct.pack(mark + "IH", 42, 9)
    for kind in (1, 2):
        one = (header(order, kind, 1, 1001) + context + struct.pack(mark + "BBBi", 2, 5, 6, -3) +
               b"hi\0\4\1")
        many = (extended(order, kind, 70000, 1002, [0] * 9) + context + bytes(range(8)) +
                struct.pack(mark + "H", 513))
        lacks = (extended(order, kind, 70000, 1003, [1, 0, 0, 0, 1, 0, 0, 1, 1]) + context +
                 bytes([11, 12, 13, 15, 16]))
        few = extended(order, kind, 1, 1004, [0, 1, 0, 1, 1, 0]) + context + \
            struct.pack(mark + "Bi", 2, 8) + b"\0"
        last = extended(order, kind, 2, 2001, []) + context
        trace("blocks_%s_%d" % (name, kind), TRACE % (UUID, 32, name) + CONTEXT +
              STREAM % (kind, kind) + EVENTS,
              s0=packet(order, 1, one + many + lacks + few) + packet(order, 2, last))

# The metadata may define the headers, with other alignments, and need not end a block by `;`.
trace("aligned", TRACE % (UUID, 64, "le") + """
typedef integer { size = 32; align = 32; } uint32_t;
typedef integer { size = 64; align = 64; } uint64_t;
typedef integer { size = 1; align = 1; } uint1_t;
struct event_header_1 { uint5_t id; uint27_t timestamp; } align(32);
struct event_header_1_ext { uint32_t id; uint64_t timestamp; uint1_t missing_fields[NR_FIELDS]; };
stream { event { header_type = event_header_1; header_type_ext = struct event_header_1_ext; }; };
event { name = ev; id = 5; fields = struct { long a; uint8_t b; uint64_t c; }; };
""", s0=MAGIC + UUID.bytes + struct.pack("<I", 0) +
      struct.pack("<I4xqBxxxxxxxQ", 5 | 9 << 5, -1, 1, 2) +
      struct.pack("<I4xI4xQB7xB7xQ", 31, 5, 10, 1, 3, 4))
# The array in a header of CTF 1.8, for each of the many fields
WIDE = 1000
trace("headers", TYPES + """trace { major = 1; minor = 8; byte_order = le; };
stream { id = 0; event.header := struct { uint8_t id; uint1_t missing_fields[NR_FIELDS]; }; };
stream { id = 1; event.header := struct { uint8_t id; }; };
event { name = wide; id = 1; stream_id = 0; fields := struct { %s }; };
event { name = ev; id = 2; stream_id = 0; fields := struct { uint8_t n; uint8_t list[n];
enum : uint8_t { A, B } kind; variant <kind> { uint8_t A; string B; } v; }; };
event { name = ev; id = 0; stream_id = 1; fields := struct { uint8_t a; }; };
""".replace("trace {", "trace { packet.header := struct { uint8_t stream_id; };") %
      "".join("uint8_t f%d; " % i for i in range(WIDE)),
      s0=b"\0" + b"\1" + bits("little", WIDE // 8, *((i % 5 != 0, 1) for i in range(WIDE))) +
      bytes(i % 251 for i in range(0, WIDE, 5)) + b"\2\0\1\7\1x\0" + b"\2\14\0",
      s1=b"\1" + b"\0\5")
for name, mask in (("length", 1), ("tag", 4)):
    trace("lacks_" + name, TYPES + """trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { uint8_t id; uint1_t missing_fields[NR_FIELDS]; }; };
event { name = ev; fields := struct { uint8_t n; uint8_t list[n];
enum : uint8_t { A, B } kind; variant <kind> { uint8_t A; string B; } v; }; };
""", s0=b"\0" + bytes([mask]) + b"\1\1\1\1\1")
trace("cut", TYPES + """trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { uint8_t id; uint1_t missing_fields[NR_FIELDS]; }; };
event { name = ev; fields := struct { %s }; };
""" % "".join("uint8_t f%d; " % i for i in range(64)), s0=bytes(8))
trace("word", TRACE % (UUID, 16, "le"), s0=b"")
trace("floats", TYPES + """trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { uint8_t id; float missing_fields[NR_FIELDS]; }; };
""", s0=b"\0")
trace("no_header", TYPES + TRACE % (UUID, 32, "le") + """
event { name = ev; fields = struct { uint8_t a; }; };
""", s0=b"\1" * 30)
trace("too_large", TYPES + TRACE % (UUID, 32, "le") + """
stream { packet { context_type = struct { uint64_t packet_size; }; } };
event { name = ev; fields = struct { uint8_t a; }; };
""", s0=MAGIC + UUID.bytes + struct.pack("<IQ", 0, 2**61 + 33) + b"\1")
END

# shows TRACE TEXT: the session has it, also in parts
shows() {
	s=$S/$1
	mkdir "$s"
	put "$work/$1" "$s/input"
	is "text of $1" "$2" "$(grep -v "^WARNING: Tracer " "$s/text")"
	is "pipe of $1" "$2" "$(timeout 60 grep -v "^WARNING: Tracer " "$s/pipe")"
	is "size of $1" "$(cat "$s/text" | wc -c)" "$(stat -c %s "$s/text")"
}
# refused TRACE SENTENCE; fails TRACE SENTENCE: its events are not read
refused() {
	mkdir "$S/bad"
	! echo "$work/$1" 2>/dev/null >"$S/bad/input" || fail "$1 is accepted"
	has "$(cat "$S/bad/error")" "$2"
	rmdir "$S/bad"
}
fails() {
	mkdir "$S/$1"
	put "$work/$1" "$S/$1/input"
	cat "$S/$1/text" >/dev/null 2>&1
	has "$(cat "$S/$1/error")" "$2"
}

all=$(cat <<'END'
[00:00:00.000001001] (+?.?????????) few: { stream_packet_count = 1, cpu_id = 2, stream_packet_count_bits = 8 }, { pid = 42, payload_size = 9 }, { n = 2, list = [ [0] = 5, [1] = 6 ], word = -3, field_name = "hi", point = { x = 4 }, kind = ( "ONE" : container = 1 ) }
[00:00:00.000001002] (+0.000000001) many: { stream_packet_count = 1, cpu_id = 2, stream_packet_count_bits = 8 }, { pid = 42, payload_size = 9 }, { a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, last = 513 }
[00:00:00.000001003] (+0.000000001) many: { stream_packet_count = 1, cpu_id = 2, stream_packet_count_bits = 8 }, { pid = 42, payload_size = 9 }, { a = <none>, b = 11, c = 12, d = 13, e = <none>, f = 15, g = 16, h = <none>, last = <none> }
[00:00:00.000001004] (+0.000000001) few: { stream_packet_count = 1, cpu_id = 2, stream_packet_count_bits = 8 }, { pid = 42, payload_size = 9 }, { n = 2, list = <none>, word = 8, field_name = <none>, point = <none>, kind = ( "ZERO" : container = 0 ) }
[00:00:00.000002001] (+0.000000997) none: { stream_packet_count = 2, cpu_id = 2, stream_packet_count_bits = 8 }, { pid = 42, payload_size = 9 }
END
)
for t in le_1 be_1 le_2 be_2; do
	shows "blocks_$t" "$all"
	has "$(cat "$s/export/json")" '"word":8,"field_name":null,"point":null,"kind"'
done
# Columns of fields that events lack have the types of the fields.
sql=$(cat "$s/export/sql")
has "$sql" '^CREATE TABLE `few` .*, `n` TINYINT UNSIGNED, `list` LONGTEXT, `word` INT, `field_name` LONGTEXT, '
has "$sql" '^CREATE TABLE `many` .*, `a` TINYINT UNSIGNED, .*, `last` SMALLINT UNSIGNED)'
has "$sql" "^INSERT INTO .many. .*,42,9,0,1,2,3,4,5,6,7,513),*$"
has "$sql" "^(1003,.*,42,9,NULL,11,12,13,NULL,15,16,NULL,NULL);*$"
has "$(cat "$s/status")" '^events_discarded 7'
has "$(cat "$s/export/csv")" "^1003,.*,42,9,,,,,,,,11,12,13,,15,16,,*$"
shows aligned '[00:00:00.000000009] (+?.?????????) ev: { a = -1, b = 1, c = 2 }
[00:00:00.000000010] (+0.000000001) ev: { a = <none>, b = 3, c = 4 }'
shows headers "$(python3 -c '
print("wide: { " + ", ".join("f%d = %s" % (i, i % 251 if i % 5 == 0 else "<none>")
                             for i in range(1000)) + " }")
print("ev: { n = 1, list = [ [0] = 7 ], kind = ( \"B\" : container = 1 ), v = { \"x\" } }")
print("ev: { n = 0, list = [ ], kind = <none>, v = <none> }")
print("ev: { a = 5 }")')"
fails lacks_length 'length of a sequence.* is missing (CTF proposal 1.6, section 6.1)'
fails lacks_tag 'tag of a variant is missing (CTF proposal 1.6, section 6.1)'
fails cut 'an event ends after the content of its packet'
refused word 'word_size must be 32 or 64 bits (CTF proposal 1.6, section 7)'
refused floats 'missing_fields are not integers (CTF proposal 1.6, section 6.1.2)'
refused no_header 'expected the magic number 0xc1fc1fc1'
refused too_large 'expected a packet of'
echo "$checks checks"
