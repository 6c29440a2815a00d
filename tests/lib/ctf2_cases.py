# SPDX-License-Identifier: GPL-2.0-or-later
"""ctf2_cases.py DIRECTORY: writes traces of CTF 2 that are made by hand.

DIRECTORY/good/NAME is a trace, and NAME.text its text; DIRECTORY/bad/NAME is one that must be
refused, and NAME.why a pattern (ERE) of the sentence that says why. Numbers of examples are those
of CTF2-SPEC-2.0.
"""
import json
import os
import struct
import sys

UUID = list(range(16))
PREAMBLE = {"type": "preamble", "version": 2}


def uint(length=8, **more):
    return dict({"type": "fixed-length-unsigned-integer", "length": length,
                 "byte-order": "little-endian", "alignment": 8}, **more)


def role(length, *roles):
    return uint(length, roles=list(roles))


def sint(length=8, **more):
    return dict(uint(length, **more), type="fixed-length-signed-integer")


VUINT = {"type": "variable-length-unsigned-integer"}
VSINT = {"type": "variable-length-signed-integer"}
STRING = {"type": "null-terminated-string"}
BOOL = dict(uint(), type="fixed-length-boolean")


def struct_(**members):
    return {"type": "structure", "member-classes": [
        {"name": name.replace("__", "-"), "field-class": c} for name, c in members.items()]}


def at(*path, origin=None):
    return dict({"path": list(path)}, **({"origin": origin} if origin else {}))


PAYLOAD = "event-record-payload"


def array(c, **location):
    if "length" in location:
        return {"type": "static-length-array", "element-field-class": c, **location}
    return {"type": "dynamic-length-array", "element-field-class": c,
            "length-field-location": location["of"]}


def blob(of):
    return {"type": "dynamic-length-blob", "length-field-location": of}


def optional(c, of, *ranges):
    more = {"selector-field-ranges": [list(r) for r in ranges]} if ranges else {}
    return {"type": "optional", "field-class": c, "selector-field-location": of, **more}


def variant(of, *options):
    return {"type": "variant", "selector-field-location": of, "options": [
        {"field-class": c, "selector-field-ranges": [[a, b]]} for a, b, c in options]}


def text_of(fragments):
    return b"".join(b"\x1e" + json.dumps(f, ensure_ascii=False).encode() + b"\n"
                    for f in fragments)


def write(kind, name, metadata, **files):
    path = os.path.join(sys.argv[1], kind, name)
    os.makedirs(path)
    with open(path + "/metadata", "wb") as f:
        f.write(metadata)
    for file, data in files.items():
        with open(path + "/" + file, "wb") as f:
            f.write(data)
    return path


def good(name, fragments, data, text):
    path = write("good", name, text_of([PREAMBLE] + fragments), stream=data)
    with open(path + ".text", "w") as f:
        f.write(text)


def one(name, payload, data, text, context=None, common=None):
    """Events of one class, without headers; text: of each."""
    event = {"type": "event-record-class", "name": "ev", "payload-field-class": payload}
    stream = {"type": "data-stream-class"}
    if context:
        event["specific-context-field-class"] = context
    if common:
        stream["event-record-common-context-field-class"] = common
    good(name, [stream, event], data, "".join("ev: %s\n" % t for t in text))


def bad(name, why, fragments, data=b""):
    metadata = fragments if isinstance(fragments, bytes) else text_of(fragments)
    path = write("bad", name, metadata, stream=data)
    with open(path + ".why", "w") as f:
        f.write(why)


# ---- locations ----

strings = b"a\0bc\0"
one("length_origin", struct_(corn=uint(32), inside=uint(16),
                             carbon=array(STRING, of=at("corn", origin=PAYLOAD))),
    struct.pack("<IH", 2, 7) + strings,
    ['{ corn = 2, inside = 7, carbon = [ [0] = "a", [1] = "bc" ] }'])      # example 87
one("length_in_element", struct_(norm=STRING, nature=array(struct_(
    laser=VUINT, joystick=array(STRING, of=at("laser"))), length=2)),
    b"n\0" + b"\2" + strings + b"\0",
    ['{ norm = "n", nature = [ [0] = { laser = 2, joystick = [ [0] = "a", [1] = "bc" ] }, '
     '[1] = { laser = 0, joystick = [ ] } ] }'])                           # example 88
one("length_in_option", struct_(lawyer=sint(16), clinic=variant(
    at("lawyer", origin=PAYLOAD), (0, 0, STRING), (1, 4, struct_(
        lemon=uint(), joystick=array(STRING, of=at("clinic", "lemon", origin=PAYLOAD)))),
    (5, 5, BOOL))),
    struct.pack("<h", 3) + b"\1x\0" + struct.pack("<h", 0) + b"y\0" + struct.pack("<h", 5) +
    b"\x10",
    ['{ lawyer = 3, clinic = { { lemon = 1, joystick = [ [0] = "x" ] } } }',
     '{ lawyer = 0, clinic = { "y" } }', '{ lawyer = 5, clinic = { true } }'])     # 89
one("length_is_variant", struct_(
    glass=variant(at("sel", origin="event-record-specific-context"), (0, 0, uint()),
                  (1, 1, uint(16)), (2, 2, uint(32))),
    margin=array(STRING, of=at("glass", origin=PAYLOAD))),
    b"\1" + struct.pack("<H", 1) + b"q\0" + b"\2" + struct.pack("<I", 2) + strings,
    ['{ sel = 1 }, { glass = { 1 }, margin = [ [0] = "q" ] }',
     '{ sel = 2 }, { glass = { 2 }, margin = [ [0] = "a", [1] = "bc" ] }'],
    context=struct_(sel=uint()))                                           # example 90
one("length_in_some_options", struct_(
    glass=variant(at("sel", origin="event-record-common-context"),
                  (0, 0, struct_(eagle=uint(16), road=STRING)),
                  (32, 172, struct_(nuance=STRING,
                                    eagle=dict(uint(24), **{"byte-order": "big-endian"}))),
                  (5, 5, struct_(eagle=VUINT,
                                 lock=blob(at("glass", "eagle", origin=PAYLOAD))))),
    margin=array(STRING, of=at("glass", "eagle", origin=PAYLOAD))),
    b"\0" + struct.pack("<H", 1) + b"r\0" + b"m\0" + b"\x80" + b"n\0\0\0\2" + strings +
    b"\5\1\xab" + b"k\0",
    ['{ sel = 0 }, { glass = { { eagle = 1, road = "r" } }, margin = [ [0] = "m" ] }',
     '{ sel = 128 }, { glass = { { nuance = "n", eagle = 2 } }, '
     'margin = [ [0] = "a", [1] = "bc" ] }',
     '{ sel = 5 }, { glass = { { eagle = 1, lock = { ab } } }, margin = [ [0] = "k" ] }'],
    common=struct_(sel=uint()))                                            # example 91
one("length_in_context", struct_(
    avenue=array(STRING, of=at("vegetable", origin="event-record-specific-context")),
    railroad=STRING),
    struct.pack("<d", 2.5) + b"\1" + b"z\0t\0",
    ['{ cook = 2.5, vegetable = 1 }, { avenue = [ [0] = "z" ], railroad = "t" }'],
    context=struct_(cook={"type": "fixed-length-floating-point-number", "length": 64,
                          "byte-order": "little-endian"}, vegetable=VUINT))        # 92
one("length_of_parents", struct_(n=uint(), a=struct_(b=struct_(
    list=array(uint(), of=at(None, None, "n")), c=struct_(x=uint()),
    again=array(uint(), of=at("c", None, None, None, "n"))))),
    b"\2\1\2\7\3\4", ['{ n = 2, a = { b = { list = [ [0] = 1, [1] = 2 ], c = { x = 7 }, '
                      'again = [ [0] = 3, [1] = 4 ] } } }'])
one("shared_selector", struct_(sel=uint(), o=optional(
    variant(at("sel", origin=PAYLOAD), (1, 1, STRING),
            (2, 2, dict(VSINT, **{"preferred-display-base": 16}))),
    at("sel", origin=PAYLOAD), (1, 255))),
    b"\0" + b"\1s\0" + b"\2\x7f",
    ['{ sel = 0, o = <none> }', '{ sel = 1, o = { { "s" } } }',
     '{ sel = 2, o = { { 0xFFFFFFFFFFFFFFFF } } }'])                       # example 63
one("optional_bool", struct_(has__ip=BOOL, ip=optional(array(uint(), length=2), at("has-ip"))),
    b"\0\x80\1\2", ['{ has-ip = false, ip = <none> }',
                    '{ has-ip = true, ip = { [ [0] = 1, [1] = 2 ] } }'])   # example 60
one("optional_signed", struct_(s=sint(), o=optional(STRING, at("s"), (-12, -12), (-5, 0),
                                                    (15, 35))),
    b"\xf4a\0" + b"\xf5" + b"\xfbb\0" + b"\0c\0" + b"\1" + b"\x0fd\0",
    ['{ s = -12, o = { "a" } }', '{ s = -11, o = <none> }', '{ s = -5, o = { "b" } }',
     '{ s = 0, o = { "c" } }', '{ s = 1, o = <none> }', '{ s = 15, o = { "d" } }'])  # 61

# ---- values ----

one("leb128", struct_(u=VUINT, s=VSINT),                                   # examples 98, 99
    b"\xb4\xc7\x72\xb4\xc7\x72" + b"\xff" * 9 + b"\1" + b"\x80" * 9 + b"\x7f",
    ["{ u = 1876916, s = -220236 }",
     "{ u = 18446744073709551615, s = -9223372036854775808 }"])
one("bit_map", struct_(m={"type": "fixed-length-bit-map", "length": 16,
                          "byte-order": "big-endian", "flags": {
                              "RED": [[0, 2], [4, 4], [10, 10]], "ORANGE": [[6, 6]],
                              "GREEN": [[7, 7], [9, 9], [11, 11]],
                              "YELLOW": [[9, 9], [13, 14]], "BLUE": [[15, 15]]}}),
    b"\x02\x10\0\0", ['{ m = 0x210 { "GREEN", "RED", "YELLOW" } }', "{ m = 0x0 }"])     # 97
one("bit_order", struct_(**{name: {
    "type": "fixed-length-unsigned-integer", "length": 16, "byte-order": order + "-endian",
    **({"bit-order": bits} if bits else {})} for name, order, bits in [
        ("a", "big", None), ("b", "big", "first-to-last"), ("c", "little", None),
        ("d", "little", "last-to-first")]}),
    b"\x12\x34" * 4, ["{ a = %d, b = %d, c = %d, d = %d }" % (
        0x1234, 0x2C48, 0x3412, 0x482C)])
one("half", struct_(h={"type": "fixed-length-floating-point-number", "length": 16,
                       "byte-order": "little-endian"},
                    q={"type": "fixed-length-floating-point-number", "length": 128,
                       "byte-order": "big-endian", "alignment": 8}),
    struct.pack("<e", -1.5) + b"\x40\x00\x40" + bytes(13), ["{ h = -1.5, q = 2.5 }"])
one("padding", struct_(s={"type": "static-length-string", "length": 18}, e=uint()),
    "caf\u00e9\0".encode() + b"\xff" * 12 + b"\5", ['{ s = "caf\u00e9", e = 5 }'])     # 102
one("array_of_bits", struct_(f={"type": "static-length-array", "length": 8,
                                "minimum-alignment": 32, "element-field-class": {
                                    "type": "fixed-length-boolean", "length": 1,
                                    "byte-order": "little-endian"}}, z=uint()),
    b"\x05\1" + bytes(2) + b"\x80\2",
    ["{ f = [%s ], z = 1 }" % ",".join(" [%d] = %s" % (i, "true" if i in (0, 2) else "false")
                                       for i in range(8)),
     "{ f = [%s ], z = 2 }" % ",".join(" [%d] = %s" % (i, "true" if i == 7 else "false")
                                       for i in range(8))])                # example 57
one("nothing", struct_(x=array({"type": "structure"}, length=2),
                       b={"type": "static-length-blob", "length": 0}, e=struct_(), z=uint()),
    b"\1", ["{ x = [ [0] = { }, [1] = { } ], b = { }, e = { }, z = 1 }"])
one("labels", struct_(e=uint(mappings={"low": [[0, 9]], "odd": [[1, 1], [3, 3]], "high": [
    [200, 255]]})), b"\2\3\x64", [
        '{ e = ( "low" : container = 2 ) }', '{ e = ( { "low", "odd" } : container = 3 ) }',
        '{ e = ( <unknown> : container = 100 ) }'])
one("same_names", struct_(context_a=uint(), a=uint(), b=uint()), bytes(range(1, 7)),
    ["{ c = 1 }, { a = 2, b = 3 }, { context_a = 4, a = 5, b = 6 }"],
    context=struct_(a=uint(), b=uint()), common=struct_(c=uint()))
one("not_unicode", struct_(s=dict(STRING, encoding="utf-16le")), b"a\0\0\xd8b\0\0\0",
    ['{ s = "a\ufffdb" }'])

HEX = {"preferred-display-base": 16}
one("kinds", struct_(**{
    "context": BOOL, "symbols": sint(8, **HEX), 'a "b":, \\c': sint(32, **HEX),
    "bits": dict(sint(4, **HEX), alignment=1), "n": dict(uint(4), alignment=1),
    "blob": {"type": "static-length-blob", "length": 3},
    "o": optional(uint(16), at("n"), (1, 15)), "list": array(sint(8, **HEX), length=2),
    "large": uint(64), "flag": BOOL}),
    b"\1" + struct.pack("<bi", -1, -2) + b"\x1f" + b"\xd3\x5d\xb7" +
    struct.pack("<HbbQ", 9, -3, 4, 2**64 - 1) + b"\0" +
    b"\0" + struct.pack("<bi", 1, 2**31 - 1) + b"\7" + b"\0\0\0" +
    struct.pack("<bbQ", 5, -128, 2**63) + b"\2",
    ['{ context = true, symbols = 0xFF, a "b":, \\c = 0xFFFFFFFE, bits = 0xF, n = 1, '
     'blob = { d3 5d b7 }, o = { 9 }, list = [ [0] = 0xFD, [1] = 0x4 ], '
     'large = 18446744073709551615, flag = false }',
     '{ context = false, symbols = 0x1, a "b":, \\c = 0x7FFFFFFF, bits = 0x7, n = 0, '
     'blob = { 00 00 00 }, o = <none>, list = [ [0] = 0x5, [1] = 0x80 ], '
     'large = 9223372036854775808, flag = true }'])

# ---- packets, clocks, several classes ----

header = struct_(**{"the magic!": role(32, "packet-magic-number"),
                    "the UUID": {"type": "static-length-blob", "length": 16,
                                 "roles": ["metadata-stream-uuid"]},
                    "class": role(8, "data-stream-class-id"),
                    "id": dict(VUINT, roles=["data-stream-id"])})          # example 72
context = struct_(total=role(32, "packet-total-length"),
                  content=dict(VUINT, roles=["packet-content-length"]),
                  begin=role(64, "default-clock-timestamp"),
                  end=role(64, "packet-end-default-clock-timestamp"),
                  seq=role(8, "packet-sequence-number"),
                  lost=role(8, "discarded-event-record-counter-snapshot"),
                  cpu_id=uint())
clocked = [
    {"type": "clock-class", "id": "the clock", "frequency": 1000, "origin": "unix-epoch",
     "offset-from-origin": {"seconds": 10, "cycles": 500}, "precision": 1, "accuracy": 2},
    {"type": "clock-class", "id": "other", "frequency": 1000000000},
    {"type": "trace-class", "packet-header-field-class": header, "uid": "u", "environment": {
        "domain": "ust", "big": 18446744073709551615, "low": -1}},
    {"type": "field-class-alias", "name": "id", "field-class":
     role(8, "event-record-class-id")},
    {"type": "data-stream-class", "id": 3, "default-clock-class-id": "the clock",
     "packet-context-field-class": context, "event-record-header-field-class": struct_(
         i="id", t=role(8, "default-clock-timestamp"))},
    {"type": "data-stream-class", "id": 4, "default-clock-class-id": "other",
     "event-record-header-field-class": struct_(
         t=dict(VUINT, roles=["default-clock-timestamp"]))},
    {"type": "event-record-class", "id": 200, "data-stream-class-id": 3, "name": "a:b",
     "payload-field-class": struct_(x=uint()), "attributes": {
         "lttng.org,2009": {"log-level": "debug:line", "emf-uri": "http://x"}}},
    {"type": "event-record-class", "id": 1, "data-stream-class-id": 3},
    {"type": "event-record-class", "data-stream-class-id": 4, "name": "late",
     "payload-field-class": struct_(y=uint())},
]


def packet(begin, end, seq, lost, cpu, events):
    head = struct.pack("<I", 0xC1FC1FC1) + bytes(UUID) + b"\3\x81\1"
    rest = struct.pack("<QQBBB", begin, end, seq, lost, cpu) + events
    used = 8 * (len(head) + 4 + 2 + len(rest))
    return head + struct.pack("<I", used + 16) + bytes([used & 127 | 128, used >> 7]) + rest + \
        b"\xff\xff"


path = write("good", "clocks", text_of([dict(PREAMBLE, uuid=UUID)] + clocked),
             a_0=packet(250, 600, 1, 0, 2, b"\xc8\xff\7" + b"\1\3") +
             packet(700, 900, 2, 0, 2, b"\xc8\xc8\x08"),
             b_0=struct.pack("<I", 0xC1FC1FC1) + bytes(UUID) + b"\4\5" + b"\xac\2\x2a")
with open(path + ".text", "w") as f:
    # 10.5 s from the epoch to the zero of the clock; 255, then 3 (259), then 200 (712) ms
    f.write("[00:00:00.000000300] (+?.?????????) late: { y = 42 }\n"
            "[00:00:10.755000000] (+10.754999700) a:b: { cpu_id = 2 }, { x = 7 }\n"
            "[00:00:10.759000000] (+0.004000000) <unknown>: { cpu_id = 2 }\n"
            "[00:00:11.212000000] (+0.453000000) a:b: { cpu_id = 2 }, { x = 8 }\n")

# ---- what must be refused ----

STREAM = {"type": "data-stream-class"}


def event(c, **more):
    return [PREAMBLE, STREAM, dict({"type": "event-record-class", "name": "ev",
                                    "payload-field-class": c}, **more)]


bad("no_preamble", "metadata:1: expected a preamble", [STREAM])
bad("two_preambles", "metadata:2: a second preamble", [PREAMBLE, PREAMBLE, STREAM])
bad("version", "expected version 2", [dict(PREAMBLE, version=3), STREAM])
bad("uuid", "expected 16 bytes", [dict(PREAMBLE, uuid=UUID[1:]), STREAM])
bad("no_stream", "expected a data stream class", [PREAMBLE])
bad("extension", "metadata:1: there is no support for the extension 'my.tracer/piano'.*5.1",
    [dict(PREAMBLE, extensions={"my.tracer": {"piano": {"keys": 88}}}), STREAM])
bad("extension_of_class", "extension 'x/y'", event(struct_(a=uint(extensions={"x": {"y": 1}}))))
bad("fragment", "there is no fragment 'trace'", [PREAMBLE, {"type": "trace"}])
bad("property", "there is no property 'lenght'", event(struct_(a=uint(lenght=8))))
bad("property-empty", "there is no property ''", event(struct_(a=uint(**{"": 8}))))
bad("wrong_kind", "expected an integer as 'length'", event(struct_(a=uint("8"))))
bad("missing", "expected the property 'byte-order'",
    event(struct_(a={"type": "fixed-length-bit-array", "length": 8})))
bad("no_class", "no field class 'integer'", event(struct_(a={"type": "integer"})))
bad("no_alias", "no field class alias 'u8'", event(struct_(a="u8")))
bad("same_alias", "two field class aliases 'u'", [
    PREAMBLE, {"type": "field-class-alias", "name": "u", "field-class": uint()},
    {"type": "field-class-alias", "name": "u", "field-class": uint()}, STREAM])
bad("same_member", "the name 'a'", event({"type": "structure", "member-classes": [
    {"name": "a", "field-class": uint()}, {"name": "a", "field-class": uint()}]}))
bad("size", "1 to 64 bits", event(struct_(a=uint(65))))
bad("float", "16, 32, 64 or 128 bits", event(struct_(a={
    "type": "fixed-length-floating-point-number", "length": 80, "byte-order": "big-endian"})))
bad("float_192", "16, 32, 64 or 128 bits", event(struct_(a={
    "type": "fixed-length-floating-point-number", "length": 192,
    "byte-order": "little-endian"})))                                      # example 28
bad("alignment", "power of two", event(struct_(a=uint(alignment=24))))
bad("base", "base must be", event(struct_(a=uint(**{"preferred-display-base": 12}))))
bad("encoding", "'utf-7' is no encoding", event(struct_(a=dict(STRING, encoding="utf-7"))))
bad("mapping", "cannot have", event(struct_(a=uint(mappings={"x": [[-1, 2]]}))))
bad("range", "ends before it begins", event(struct_(a=uint(mappings={"x": [[3, 2]]}))))
bad("no_range", "array of ranges", event(struct_(a=uint(mappings={"x": []}))))
bad("flag", "bit after the last", event(struct_(a=dict(
    uint(), type="fixed-length-bit-map", flags={"x": [[0, 8]]}))))
bad("flags", "expected a flag", event(struct_(a=dict(uint(), type="fixed-length-bit-map",
                                                     flags={}))))
bad("overlap", "overlap", event(struct_(s=uint(), v=variant(
    at("s"), (0, 5, uint()), (5, 6, STRING)))))
bad("no_options", "no options", event(struct_(s=uint(), v=variant(at("s")))))
bad("length_signed", "not an unsigned integer", event(struct_(
    n=sint(), a=array(uint(), of=at("n")))))
bad("length_bool", "not an unsigned integer", event(struct_(n=BOOL, a=blob(at("n")))))
bad("length_after", "no field 'n'", event(struct_(a=blob(at("n")), n=uint())))
bad("length_outside", "outside of its root", event(struct_(n=uint(), a=blob(at(None, "n")))))
bad("length_in_other_element", "element of an array", event(struct_(
    a=array(struct_(n=uint()), length=2), b=blob(at("a", "n")))))
bad("mixed_lengths", "different kinds", event(struct_(s=uint(), v=variant(
    at("s"), (0, 0, uint()), (1, 1, sint())), b=optional(uint(), at("v"), (0, 3)))))
bad("selector_string", "no field 's'", event(struct_(s=STRING, v=variant(at("s"), (0, 1, uint())))))
bad("selector_negative", "cannot have", event(struct_(s=uint(), v=variant(
    at("s"), (-1, 1, uint())))))
bad("optional_ranges", "boolean without ranges", event(struct_(
    s=uint(), o=optional(uint(), at("s")))))
bad("null_last", "ends with null", event(struct_(n=uint(), b=blob(at("n", None)))))
bad("no_path", "path of a field is empty", event(struct_(n=uint(), b=blob(at()))))
bad("not_struct", "expected a structure", event(uint()))
bad("role_in_payload", "role that it cannot have", event(struct_(
    a=role(8, "packet-total-length"))))
bad("role", "is no role", event(struct_(a=role(8, "x"))))
bad("time_without_clock", "has none", [PREAMBLE, dict(STREAM, **{
    "event-record-header-field-class": struct_(t=role(8, "default-clock-timestamp"))})])
bad("no_clock", "no clock class 'c'", [PREAMBLE, dict(STREAM, **{"default-clock-class-id": "c"})])
bad("frequency", "frequency of a clock is 0", [
    PREAMBLE, {"type": "clock-class", "id": "c", "frequency": 0}, STREAM])
bad("cycles", "not less than the frequency", [
    PREAMBLE, {"type": "clock-class", "id": "c", "frequency": 5,
               "offset-from-origin": {"cycles": 5}}, STREAM])
bad("magic", "must be the first member", [
    PREAMBLE, {"type": "trace-class", "packet-header-field-class": struct_(
        x=role(8, "data-stream-id"), m=role(32, "packet-magic-number"))}, STREAM])
bad("no_uuid", "no UUID in the preamble", [
    PREAMBLE, {"type": "trace-class", "packet-header-field-class": header}, STREAM])
bad("other_uuid", "another trace.*6.1", [dict(PREAMBLE, uuid=UUID)] + clocked,
    struct.pack("<I", 0xC1FC1FC1) + bytes(16) + b"\4\5\0\1")
bad("late_trace", "after a data stream class", [PREAMBLE, STREAM, {"type": "trace-class"}])
bad("same_stream", "two data stream classes", [PREAMBLE, STREAM, STREAM])
bad("no_parent", "no data stream class 1", event(struct_(), **{"data-stream-class-id": 1}))
bad("same_event", "is used twice", event(struct_()) + event(struct_())[2:])
bad("environment", "a string or an integer as 'x'", [
    PREAMBLE, {"type": "trace-class", "environment": {"x": 1.5}}, STREAM])
for name, why, text in [
        ("json_line", "control character", b'{"type": "preamble'),
        ("json_member", "two members of one name", b'{"type": 1, "type": 2}'),
        ("json_utf8", "not UTF-8", b'{"type": "\xff"}'),
        ("json_nul", "U.0000", b'{"type": "\\u0000"}'),
        ("json_deep", "nested more than 128", b"[" * 200 + b"]" * 200),
        ("json_more", "expected the end", b'{"type": "preamble", "version": 2} {}'),
        ("json_number", "a number begins with a 0", b'{"version": 02}'),
        ("json_comma", "expected a JSON value", b'[1,]')]:
    bad(name, "metadata:2: .*%s.*RFC 8259" % why, b"\x1e\n" + text + b"\n")
