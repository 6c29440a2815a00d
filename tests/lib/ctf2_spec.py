# SPDX-License-Identifier: GPL-2.0-or-later
"""ctf2_spec.py DIRECTORY: writes a trace for each example of CTF2-SPEC-2.0 that decodes something.

DIRECTORY/NUMBER is the trace of the example with this number: its classes are those of the example,
with less elements where it has a hundred, and data of our own. DIRECTORY/NUMBER.text is its text.
Examples 1 to 8 are parts of classes, which other examples have. ctf2_spec.txt has the texts, which
babeltrace2 2.1.2 prints, too, but for 43: it aborts.
"""
import json
import os
import struct
import sys

LE, BE = "little-endian", "big-endian"
FIRST, LAST = "first-to-last", "last-to-first"
ATTRIBUTES = {"my.tracer": {"is-nice": True}, "abc/xyz": True}
PAYLOAD, OWN, COMMON = ("event-record-payload", "event-record-specific-context",
                        "event-record-common-context")
texts = {}
for line in open(os.path.splitext(__file__)[0] + ".txt", encoding="utf-8"):
    if line.startswith("example "):
        number = line.split()[1]
        texts[number] = ""
    else:
        texts[number] += line


def bits(kind, length, order=LE, align=None, **more):
    c = {"type": "fixed-length-" + kind, "length": length, "byte-order": order}
    if align:
        c["alignment"] = align
    c.update({k.replace("_", "-"): v for k, v in more.items()})
    return c


def array_of_bits(*a, **k):
    return bits("bit-array", *a, **k)


def bit_map(*a, **k):
    return bits("bit-map", *a, **k)


def boolean(*a, **k):
    return bits("boolean", *a, **k)


def uint(*a, **k):
    return bits("unsigned-integer", *a, **k)


def sint(*a, **k):
    return bits("signed-integer", *a, **k)


def real(*a, **k):
    return bits("floating-point-number", *a, **k)


def kind(name, **more):
    return dict({"type": name}, **{k.replace("_", "-"): v for k, v in more.items()})


def vuint(**more):
    return kind("variable-length-unsigned-integer", **more)


def vsint(**more):
    return kind("variable-length-signed-integer", **more)


def string(**more):
    return kind("null-terminated-string", **more)


def at(*path, origin=None):
    return dict({"path": list(path)}, **({"origin": origin} if origin else {}))


def members(*pairs):
    return [{"name": name, "field-class": c} for name, c in pairs]


def struct_of(*pairs, **more):
    return kind("structure", member_classes=members(*pairs), **more)


def option(ranges, c, **more):
    return dict({"selector-field-ranges": ranges, "field-class": c}, **more)


def write(number, fragments, data, preamble=None):
    path = os.path.join(sys.argv[1], str(number))
    os.makedirs(path)
    with open(path + "/metadata", "wb") as f:
        for fragment in [preamble or {"type": "preamble", "version": 2}] + fragments:
            f.write(b"\x1e" + json.dumps(fragment, ensure_ascii=False).encode() + b"\n")
    with open(path + "/stream", "wb") as f:
        f.write(data)
    with open(path + ".text", "w", encoding="utf-8") as f:
        f.write(texts[str(number)])


def payload(number, data, *pairs, own=None, common=None, before=()):
    event = {"type": "event-record-class", "name": "e%s" % number,
             "payload-field-class": struct_of(*pairs)}
    stream = {"type": "data-stream-class"}
    if own:
        event["specific-context-field-class"] = own
    if common:
        stream["event-record-common-context-field-class"] = common
    write(number, list(before) + [stream, event], data)


def lone(number, c, data=bytes(range(0x81, 0xff, 7)), size=None):
    """A class whose fields have a size: the whole stream is one event."""
    n = (c["length"] + 7) // 8 if size is None else size
    payload(number, data[:n], ("f", c))


# ---- fixed-length fields ----

lone(9, array_of_bits(16))
lone(10, array_of_bits(48, BE, 32))
lone(11, array_of_bits(32, bit_order=LAST))
lone(12, array_of_bits(16, attributes=ATTRIBUTES))
lone(13, bit_map(16, flags={"FEATURE": [[3, 3]]}), b"\x0a\1")
lone(14, bit_map(48, BE, 32, flags={"shock": [[3, 3]], "cord": [[4, 4], [8, 10]],
                                    "learn": [[2, 7]]}), b"\0\0\0\0\x02\x48")
lone(15, bit_map(16, flags={"FEATURE": [[3, 3]]}, attributes=ATTRIBUTES), b"\xf7\xff")
lone("16", bit_map(8, flags={"Mercury": [[7, 7]], "Venus": [[6, 6], [2, 3]],
                             "Earth": [[5, 7]], "Mars": [[0, 1]]}), b"\xa2")
lone(17, boolean(16), b"\0\x80")
lone(18, boolean(48, BE, 32), bytes(6))
lone(19, boolean(16, attributes=ATTRIBUTES), b"\1\0")
lone("20", bits("signed-integer", 16, mappings={
    "fortune": [[3, 67], [-45, 1], [84, 84]], "building": [[4, 5], [75, 82]],
    "journal": [[100, 2305], [80, 80]]}), b"\x50\0")
lone(21, uint(16))
lone(22, sint(48, BE, 32))
lone(23, uint(48, BE, preferred_display_base=16))
lone(24, sint(32, mappings={"banana": [[-27399, -1882], [8, 199], [101, 101]],
                            "orange": [[67, 67], [43, 1534]]}), struct.pack("<i", 67))
lone(25, sint(16, attributes=ATTRIBUTES))
lone(26, real(32), struct.pack("<f", 0.1))
lone(27, real(64, BE, 32), struct.pack(">d", -1e-9))
# (28 is of 192 bits: ctf2_cases.py, as it is refused.)

# ---- variable-length integers, strings, BLOBs ----

lone(29, vuint(), b"\xe5\x8e\x26", 3)
lone(30, vsint(preferred_display_base=16), b"\xc0\xbb\x78", 3)
lone(31, vuint(mappings={"lime": [[3, 3]], "kiwi": [[8, 8]], "blueberry": [[11, 11]]}), b"\x08", 1)
lone(32, vuint(attributes=ATTRIBUTES), b"\0", 1)
lone(33, string(), "où \"là\"\0".encode(), 11)
lone(34, string(encoding="utf-16le"), "naïve 🎹\0".encode("utf-16le"), 18)
lone(35, string(attributes=ATTRIBUTES), b"\0", 1)
payload(36, b"\7", ("f", kind("static-length-string", length=0)), ("end", uint(8)))
lone(37, kind("static-length-string", length=100), b"a\n\t\\" + bytes(96), 100)
lone(38, kind("static-length-string", length=64, encoding="utf-32be"),
     "où".encode("utf-32be") + bytes(56), 64)
lone(39, kind("static-length-string", length=13, attributes={"my.tracer": None}),
     b"thirteen byte", 13)
payload(40, b"\5\0" + b"ab\0zz", ("length", uint(16)), (
    "f", kind("dynamic-length-string", length_field_location=at("length", origin=PAYLOAD))))
payload(41, b"\6" + "a é".encode("utf-16be"), ("attrs", struct_of(("len", vuint()))), (
    "s", struct_of(("f", kind("dynamic-length-string", encoding="utf-16be",
                              length_field_location=at(None, "attrs", "len"))))))
payload(42, b"\0\2hi", *[p for n in ("", "2") for p in (("name-length" + n, uint(8)), (
    "f" + n, kind("dynamic-length-string", attributes={"my.tracer": 177},
                  length_field_location=at("name-length" + n))))])
payload(43, b"\7", ("f", kind("static-length-blob", length=0)), ("end", uint(8)))
lone(44, kind("static-length-blob", length=51, media_type="image/tiff"), bytes(range(51)), 51)
lone(45, kind("static-length-blob", length=24, media_type="text/csv",
              attributes={"my.tracer": {"csv-cols": 12}}), b"a,b\n" * 6, 24)
payload(46, b"\3\0" + b"\0\xff\n", ("length", uint(16)), (
    "f", kind("dynamic-length-blob", length_field_location=at("length", origin=PAYLOAD))))
payload(47, b"\2" + b"\xff\xd8", ("length", uint(8)), ("s", struct_of((
    "f", kind("dynamic-length-blob", media_type="image/jpeg", attributes=ATTRIBUTES,
              length_field_location=at(None, "length"))))))

# ---- structures and arrays ----

payload(48, b"\7", ("f", kind("structure")), ("end", uint(8)))
payload(49, b"Parc\0" + struct.pack("<IB", 5, 1), ("Villeray", string()),
        ("Berri", uint(32, preferred_display_base=2)), ("Faillon", boolean(8)))
payload(50, b"\1" + bytes(7) + b"x\0\0\0" + struct.pack(">I", 7), ("begin", uint(8)), (
    "f", struct_of(("St-Denis", string()), ("Lajeunesse", uint(32, BE, 32)),
                   minimum_alignment=64)))
payload(51, struct.pack("<q", -5)[:6] + b"rue\0" + b"\xff" * 28, ("f", struct_of(
    ("Henri-Julien", sint(48)), ("Casgrain", kind("static-length-string", length=32)),
    attributes={"my.tracer": {"version": 4}})))
payload(52, b"meow\0", ("cat", string()))
payload(53, b"\x75", ("dog", vsint(preferred_display_base=8, attributes=ATTRIBUTES)))
payload(54, b"\7", ("f", kind("static-length-array", length=0, element_field_class=sint(
    16, LE, 16))), ("end", uint(8)))
lone(55, kind("static-length-array", length=3, element_field_class=string()), b"a\0\0c\0", 5)
lone(56, kind("static-length-array", length=13, element_field_class=vuint(),
              attributes={"my.tracer": True}), bytes(range(12)) + b"\x80\1", 14)
payload(57, b"\1\0\0\0" + struct.pack("<I", 0x80000005), ("begin", uint(8)), (
    "f", kind("static-length-array", length=32, minimum_alignment=32,
              element_field_class=boolean(1))))
payload(58, b"\2\0\0\0\0\1\0\0\0\2", ("length", uint(16)), (
    "f", kind("dynamic-length-array", element_field_class=uint(32, BE, 16),
              length_field_location=at("length", origin=PAYLOAD))))
payload(59, b"\3\1\2\xff\1", ("from-user", struct_of(("common-length", vuint()))), (
    "f", kind("dynamic-length-array", element_field_class=vuint(), attributes=ATTRIBUTES,
              length_field_location=at("from-user", "common-length"))))

# ---- optional fields and variants ----

payload(60, b"\0\1" + bytes(range(16)), ("has-ip", boolean(8)), (
    "f", kind("optional", selector_field_location=at("has-ip", origin=PAYLOAD),
              field_class=kind("static-length-array", length=16, element_field_class=uint(
                  8, LE, 8)))))
payload(61, b"\xf4a\0\xf5\xfbb\0\x0e\x23c\0\x24", ("has-ip", sint(8)), (
    "f", kind("optional", selector_field_location=at("has-ip", origin=PAYLOAD),
              selector_field_ranges=[[-12, -12], [-5, 0], [15, 35]], field_class=string())))
payload(62, b"\5a\0\x08\xf8\xff", ("sel", uint(8)), (
    "f", kind("variant", selector_field_location=at("sel", origin=PAYLOAD), options=[
        option([[5, 5]], string()), option([[8, 8]], sint(16, preferred_display_base=8))])))
payload(63, b"\0\1a\0\2\x70", ("sel", vuint()), ("f", kind(
    "optional", selector_field_location=at("sel", origin=PAYLOAD),
    selector_field_ranges=[[1, 255]], field_class=kind(
        "variant", selector_field_location=at("sel", origin=PAYLOAD), options=[
            option([[1, 1]], string()),
            option([[2, 2]], vsint(preferred_display_base=16))]))))
payload(64, b"\x0a" + b"twenty bytes of text" + b"\x0b" + struct.pack(">f", 1.5), (
    "f", kind("variant", selector_field_location=at("sel", origin=OWN), attributes=ATTRIBUTES,
              options=[option([[5, 5], [10, 10], [15, 15]],
                              kind("static-length-string", length=20)),
                       option([[0, 4], [6, 9], [11, 14], [16, 127]], real(32, BE))])),
        own=struct_of(("sel", uint(8))))
payload(65, b"\3a\0", ("sel", uint(8)), ("f", kind(
    "variant", selector_field_location=at("sel"), options=[option([[3, 9]], string())])))
payload(66, b"\xfc\x7f\x09\x10", ("sel", sint(8)), ("f", kind(
    "variant", selector_field_location=at("sel"), options=[option(
        [[-4, 4], [9, 9], [100, 200]], vsint(preferred_display_base=16), name="juice",
        attributes=ATTRIBUTES)])))

# ---- fragments ----

uuid = [229, 62, 10, 184, 80, 161, 79, 10, 183, 16, 181, 240, 187, 169, 196, 172]
byte = [{"type": "data-stream-class"}, {"type": "event-record-class", "payload-field-class":
                                        struct_of(("f", uint(8)))}]
write(67, byte, b"\1")
write(69, byte, b"\1", {"type": "preamble", "version": 2, "uuid": uuid})
alias = {"type": "field-class-alias", "name": "u8", "field-class": uint(8)}
payload(70, b"\1", ("f", "u8"), before=[alias])
payload(71, b"\1\2", ("f", "uint8"), ("g", "u8"), before=[
    alias, {"type": "field-class-alias", "name": "uint8", "field-class": "u8"}])
write(72, [{"type": "trace-class", "packet-header-field-class": struct_of(
    ("the magic!", uint(32, preferred_display_base=16, roles=["packet-magic-number"])),
    ("the UUID", kind("static-length-blob", length=16, roles=["metadata-stream-uuid"])),
    ("my data stream class ID", uint(8, roles=["data-stream-class-id"])),
    ("my data stream ID", vuint(roles=["data-stream-id"])))}] + byte,
      struct.pack("<I", 0xC1FC1FC1) + bytes(uuid) + b"\0\xac\2\1\2",
      {"type": "preamble", "version": 2, "uuid": uuid})
for number, clock in [
        (73, {"frequency": 1000000000}),
        (74, {"frequency": 1000000000, "origin": "unix-epoch"}),
        (75, {"namespace": "some-tracer", "name": "hot", "uid": "wheels.28",
              "frequency": 80000000}),
        (76, {"frequency": 1000000000, "origin": {"name": "my origin",
                                                  "uid": "60:57:18:a3:42:29"}}),
        (77, {"frequency": 1000000000, "offset-from-origin": {"seconds": 1605112699,
                                                              "cycles": 2878388}}),
        (78, {"frequency": 8000000, "precision": 100}),
        (79, {"frequency": 16000000, "accuracy": 1500}),
        (80, {"frequency": 32000000, "attributes": {"my.tracer": {
            "sys-name": "SOC23", "bus": {"name": "LMB5", "index": 5}}}}),
        (81, {"frequency": 1000, "origin": {"name": "my-origin", "uid": "42"}}),
        (82, {"frequency": 1000, "origin": {
            "namespace": "some-tracer", "name": "the-origin",
            "uid": "7e41f662-27b6-45d5-8d9b-0504daa7b04a"}}),
        (83, {"frequency": 1000, "offset-from-origin": {}}),
        (84, {"frequency": 32000000, "origin": "unix-epoch", "offset-from-origin": {
            "seconds": 1605112699, "cycles": 2878388}}),
        (85, {"frequency": 32000000, "origin": "unix-epoch",
              "offset-from-origin": {"seconds": 1605111293}}),
        # (The time of its event is after 1970: ctf2_cases.py has what is earlier.)
        (86, {"frequency": 12000000, "offset-from-origin": {"seconds": -18003,
                                                            "cycles": 11928547}})]:
    late = struct.pack("<Q", 18010 * 12000000 if number == 86 else 64000123)
    write(number, [
        dict({"type": "clock-class", "id": "my clock class"}, **clock),
        {"type": "data-stream-class", "default-clock-class-id": "my clock class",
         "event-record-header-field-class": struct_of(
             ("t", uint(64, roles=["default-clock-timestamp"]))),
         # (Without this one, babeltrace2 2.1.2 aborts.)
         "packet-context-field-class": struct_of(
             ("begin", uint(64, roles=["default-clock-timestamp"])))},
        {"type": "event-record-class", "name": "tick"}], late * 3)

# ---- locations ----

strings = kind("dynamic-length-array", element_field_class=string())


def strings_of(*path, origin=None):
    return dict(strings, **{"length-field-location": at(*path, origin=origin)})


payload(87, struct.pack("<IH", 2, 7) + b"a\0b\0", ("corn", uint(32)), ("inside", uint(16)),
        ("carbon", strings_of("corn", origin=PAYLOAD)))
payload(88, b"n\0" + b"\1a\0" * 42 + b"\2b\0c\0", ("norm", string()), (
    "nature", kind("static-length-array", length=43, element_field_class=struct_of(
        ("laser", vuint()), ("joystick", strings_of("laser"))))))
payload(89, b"\0\0a\0" + b"\4\0\2b\0c\0" + b"\7\0\x10", ("lawyer", sint(16)), ("clinic", kind(
    "variant", selector_field_location=at("lawyer", origin=PAYLOAD), options=[
        option([[0, 0]], string()),
        option([[1, 4]], struct_of(("lemon", uint(8, BE)), (
            "joystick", strings_of("clinic", "lemon", origin=PAYLOAD)))),
        option([[5, 5], [7, 7]], boolean(8))])))
payload(90, b"\0\1a\0" + b"\1\1\0b\0" + b"\2\2\0\0\0c\0d\0", ("glass", kind(
    "variant", selector_field_location=at("sel", origin=OWN), options=[
        option([[i, i]], uint(8 << i)) for i in range(3)])),
        ("margin", strings_of("glass", origin=PAYLOAD)), own=struct_of(("sel", uint(8))))
payload(91, b"\0\1\0r\0m\0" + b"\xacn\0\0\0\2a\0b\0" + b"\5\2\xab\xcdk\0l\0", ("glass", kind(
    "variant", selector_field_location=at("sel", origin=COMMON), options=[
        option([[0, 0]], struct_of(("eagle", uint(16)), ("road", string()))),
        option([[32, 172]], struct_of(("nuance", string()), ("eagle", uint(24, BE)))),
        option([[5, 5]], struct_of(("eagle", vuint()), ("lock", kind(
            "dynamic-length-blob",
            length_field_location=at("glass", "eagle", origin=PAYLOAD)))))])),
        ("margin", strings_of("glass", "eagle", origin=PAYLOAD)),
        common=struct_of(("sel", uint(8))))
payload(92, struct.pack("<d", -0.25) + b"\2a\0b\0c\0",
        ("avenue", strings_of("vegetable", origin=OWN)), ("railroad", string()),
        own=struct_of(("cook", real(64)), ("vegetable", vuint())))

# ---- decoding: the same bytes, in each order ----

data = b"\xb1\xe7\x2c\x9b\x5e\x3d"


def in_orders(number, x, size, *fields):
    payload(number, bytes(x // 8) + data[:size + 1], ("before", uint(x)), *[
        (name, array_of_bits(length, order, align, **({"bit_order": way} if way else {})))
        for name, length, order, way, align in fields], ("end", uint(8, LE, 8)))


colours = ("green", 3), ("blue", 9), ("yellow", 14), ("red", 4)
in_orders(93, 16, 4, *[(*c, BE, None, None) for c in colours])
in_orders("93b", 16, 4, *[(*c, LE, None, None) for c in colours])
in_orders(94, 16, 4, *[(*c, BE, FIRST, None) for c in colours])
in_orders(95, 32, 2, ("green", 5, BE, FIRST, None), ("blue", 3, BE, None, 8),
          ("yellow", 4, BE, FIRST, 4))
in_orders("95b", 32, 2, ("green", 5, LE, LAST, None), ("blue", 3, LE, None, 8),
          ("yellow", 4, LE, LAST, 4))
in_orders(96, 16, 4, ("green", 3, BE, FIRST, None), ("blue", 5, BE, None, None),
          ("yellow", 5, LE, LAST, None), ("orange", 8, LE, None, None),
          ("red", 6, BE, FIRST, 8))
