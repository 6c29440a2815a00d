# SPDX-License-Identifier: GPL-2.0-or-later
"""make_ctf2.py DIRECTORY COUNT [SEED]: writes random traces of CTF 2, each with its text.

DIRECTORY/N is a trace whose field classes, and the values in its events, are random; the file
DIRECTORY/N.text has the text that babeltrace2 2.1 prints of it. The values are encoded by the rules
of CTF2-SPEC-2.0, section 6, bit by bit. SEED: of the first trace.
"""
import json
import os
import random
import struct
import sys

UUID = bytes(range(16))


class Packet:
    def __init__(self):
        self.data, self.at, self.order = bytearray(), 0, None

    def align(self, n):
        while self.at % n:
            self.bit(0, "little-endian")

    def bit(self, value, order):
        if self.at // 8 >= len(self.data):
            self.data.append(0)
        shift = self.at % 8 if order == "little-endian" else 7 - self.at % 8
        self.data[self.at // 8] |= value << shift
        self.at += 1

    def bits(self, c, value):
        """Section 6.4.3; value: as an unsigned integer."""
        n, order = c["length"], c["byte-order"]
        first = c.get("bit-order",
                      "first-to-last" if order == "little-endian" else "last-to-first")
        self.align(c.get("alignment", 1))
        assert self.at % 8 == 0 or self.order == order
        for i in range(n):
            self.bit(value >> (i if first == "first-to-last" else n - 1 - i) & 1, order)
        self.order = order

    def bytes(self, data):
        self.align(8)
        self.data += data
        self.at += 8 * len(data)


def leb128(value, signed):
    out = bytearray()
    while True:
        low = value & 0x7F
        value >>= 7
        done = value == 0 and not (signed and low & 0x40) or \
            signed and value == -1 and low & 0x40
        out.append(low | (0 if done else 0x80))
        if done:
            return bytes(out)


def escape(text):
    """As babeltrace2 shows a string."""
    out = '"'
    for c in text:
        names = {"\\": "\\", "'": "'", '"': '"', "?": "?", "\n": "n", "\t": "t", "\a": "a",
                 "\x1b": "e"}
        if c in names:
            out += "\\" + names[c]
        elif ord(c) < 32 or ord(c) == 127:
            out += "\\x%02x" % ord(c)
        else:
            out += c
    return out + '"'


def number(c, value, size):
    base = c.get("preferred-display-base", 10)
    low = value & ((1 << size) - 1)
    if base == 16:
        return "0x%X" % (value & ((1 << min(64, (size + 3) // 4 * 4)) - 1))
    if base == 8:
        return "0%o" % (value & ((1 << min(64, (size + 2) // 3 * 3)) - 1))
    return "0b" + format(low, "0%db" % size) if base == 2 else str(value)


class Maker:
    """Makes classes, values of them, their bits and their text."""

    def __init__(self, r):
        self.r = r
        self.order = r.choice(["little-endian", "big-endian"])
        self.packed = r.random() < 0.5          # fields may begin at any bit
        self.aliases = []
        self.names = 0

    def name(self):
        self.names += 1
        return self.r.choice(["f", "_f", "a field", "St-Denis ", "é", "x.y"]) + str(self.names)

    # ---- classes ----

    def bit_array(self, kind, lengths=None):
        r, n = self.r, self.r.choice(lengths or [1, 3, 5, 7, 8, 13, 16, 31, 32, 33, 63, 64])
        c = {"type": kind, "length": n}
        c["byte-order"] = self.order if self.packed else r.choice(["little-endian", "big-endian"])
        if not self.packed:
            c["alignment"] = r.choice([8, 8, 16, 32])
        elif r.random() < 0.3:
            c["alignment"] = r.choice([1, 2, 4, 8])
        if r.random() < 0.3:
            c["bit-order"] = r.choice(["first-to-last", "last-to-first"])
        if r.random() < 0.1:
            c["attributes"] = {"my.tracer": {"any": [1, None, {"x": 1.5e3}]}}
        return c

    def integer(self, signed=None, roles=False):
        r = self.r
        signed = r.random() < 0.4 if signed is None else signed
        sign = "signed" if signed else "unsigned"
        if r.random() < 0.3:
            c = {"type": "variable-length-%s-integer" % sign}
        else:
            c = self.bit_array("fixed-length-%s-integer" % sign)
        if r.random() < 0.3:
            c["preferred-display-base"] = r.choice([2, 8, 10, 16])
        if r.random() < 0.25 and not roles:
            low = -5 if signed else 0
            c["mappings"] = {"low '\"": [[low, 2]], "ten": [[10, 10], [12, 13]],
                             "large": [[1 << 20, 1 << 40]]}
        return c

    def scalar(self):
        r = self.r
        kind = r.randrange(9)
        if kind < 3:
            return self.integer()
        if kind == 3:
            return self.bit_array("fixed-length-bit-array")
        if kind == 4:
            return self.bit_array("fixed-length-boolean")
        if kind == 5:
            return self.bit_array("fixed-length-floating-point-number", [32, 64])
        if kind == 6:
            c = self.bit_array("fixed-length-bit-map", [5, 8, 17, 64])
            c["flags"] = {"zwei": [[0, 1]], "a": [[2, 2], [4, 4]], "B": [[1, 3]],
                          "last": [[c["length"] - 1, c["length"] - 1]]}
            return c
        if kind == 7:
            c = {"type": r.choice(["null-terminated-string", "static-length-string"])}
            if c["type"][0] == "s":
                c["length"] = r.choice([0, 4, 12, 40])
            return self.encoding(c)
        c = {"type": "static-length-blob", "length": r.choice([0, 1, 5, 16])}
        if r.random() < 0.5:
            c["media-type"] = "image/png"
        return c

    def encoding(self, c):
        if self.r.random() < 0.6:
            c["encoding"] = self.r.choice(["utf-8", "utf-16le", "utf-16be", "utf-32le",
                                           "utf-32be"])
        return c

    def alias(self, c, fragments):
        """Perhaps as a name."""
        if self.r.random() > 0.15 or "location" in json.dumps(c):
            return c
        name = "alias %d" % len(self.aliases)
        self.aliases.append(name)
        fragments.append({"type": "field-class-alias", "name": name, "field-class": c})
        return name

    def location(self, path, kind):
        """path: of the field from the root on, which is in the structure of the one that has it."""
        if self.r.random() < 0.5:
            return {kind: {"path": [path[-1]]}}
        if self.r.random() < 0.3 and len(path) > 1:
            return {kind: {"path": [None, path[-2], path[-1]]}}
        return {kind: {"origin": "event-record-payload", "path": path}}

    def dependent(self, path, members, depth, name):
        """A class whose length or selector is a member before it. Returns the class."""
        r, key = self.r, self.name()
        at = path + [key]
        kind = r.randrange(5)
        if kind < 3:
            c = self.integer(False)
            c.pop("mappings", None)
            c["role"] = "length"
            members.append([key, c])
            kind = ["array", "string", "blob"][kind]
            d = {"type": "dynamic-length-" + kind}
            d.update(self.location(at, "length-field-location"))
            if kind == "array":
                d["element-field-class"] = self.any(path, depth + 1, None, name)
                if r.random() < 0.2:
                    d["minimum-alignment"] = 16
            if kind == "string":
                self.encoding(d)
            return d
        if kind == 3:
            d = {"type": "optional"}
            d.update(self.location(at, "selector-field-location"))
            if r.random() < 0.4:
                members.append([key, self.bit_array("fixed-length-boolean")])
            else:
                c = self.bit_array("fixed-length-signed-integer", [8, 13])
                members.append([key, c])
                d["selector-field-ranges"] = [[-3, 5], [7, 120]]
            d["field-class"] = self.any(path, depth + 1, None, name)
            return d
        members.append([key, dict(self.bit_array("fixed-length-unsigned-integer", [8, 16]),
                                  role="selector")])
        d = {"type": "variant", "options": []}
        d.update(self.location(at, "selector-field-location"))
        for i in range(r.randint(1, 4)):
            option = {"selector-field-ranges": [[3 * i, 3 * i], [3 * i + 2, 3 * i + 2]],
                      "field-class": self.any(path, depth + 1, None, name)}
            if r.random() < 0.5:
                option["name"] = "option %d" % i
            d["options"].append(option)
        return d

    def structure(self, path, depth):
        members = []
        for _ in range(self.r.randint(0, 4) if depth else self.r.randint(1, 7)):
            name = self.name()
            c = self.any(path, depth, members, name)
            members.append([name, c])
        c = {"type": "structure", "member-classes": [
            {"name": name, "field-class": m} for name, m in members]}
        if not members and self.r.random() < 0.5:
            del c["member-classes"]
        if self.r.random() < 0.2:
            c["minimum-alignment"] = self.r.choice([8, 32])
        return c

    def any(self, path, depth, members, name=None):
        """members: of the structure around, if a field may be added to it before this one."""
        r = self.r
        if depth < 3 and r.random() < 0.35:
            kind = r.randrange(3)
            if kind == 0 and members is not None:
                return self.dependent(path, members, depth, name)
            if kind == 1 and name is not None:
                return self.structure(path + [name], depth + 1)
            c = {"type": "static-length-array", "length": r.randint(0, 4),
                 "element-field-class": self.any(path, depth + 1, None, name)}
            if r.random() < 0.2:
                c["minimum-alignment"] = 32
            return c
        return self.scalar()

    # ---- values ----

    def text_value(self, c):
        alphabet = "ab Z'\"\\?\n\té€"
        if c.get("encoding", "utf-8") != "utf-8":
            alphabet += "\U0001f600"
        return "".join(self.r.choice(alphabet) for _ in range(self.r.randint(0, 6)))

    def integer_value(self, c):
        r, n = self.r, c.get("length", 64)
        signed = "-signed" in c["type"]
        if c.get("role") == "length":
            return r.randint(0, min(5, (1 << n) - 1))
        low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if signed else (0, (1 << n) - 1)
        if c["type"][0] == "v" and r.random() < 0.5:
            low, high = max(low, -100), min(high, 100)
        value = r.choice([low, high, r.randint(low, high), r.randint(low, high), 10, 1])
        return min(max(value, low), high)

    def value(self, c, near):
        """near: values of the structure around, by name."""
        r, kind = self.r, c["type"]
        if kind == "structure":
            values = {}
            for m in c.get("member-classes", []):
                if m["field-class"]["type"] == "variant":
                    options = len(m["field-class"]["options"])
                    key = self.find(m["field-class"]["selector-field-location"])
                    values[key] = 3 * r.randrange(options) + r.choice([0, 2])
                values[m["name"]] = self.value(m["field-class"], values)
            return values
        if kind == "static-length-array":
            return [self.value(c["element-field-class"], near) for _ in range(c["length"])]
        if kind == "dynamic-length-array":
            n = near[self.find(c["length-field-location"])]
            return [self.value(c["element-field-class"], near) for _ in range(n)]
        if kind == "optional":
            key = near[self.find(c["selector-field-location"])]
            ranges = c.get("selector-field-ranges", [[1, 1 << 64]])
            some = any(a <= key <= b for a, b in ranges)
            return [self.value(c["field-class"], near)] if some else None
        if kind == "variant":
            key = near[self.find(c["selector-field-location"])]
            return key // 3, self.value(c["options"][key // 3]["field-class"], near)
        return self.scalar_value(c, near)

    def find(self, location):
        return location["path"][-1]

    def scalar_value(self, c, near):
        r, kind = self.r, c["type"]
        if kind.endswith("integer"):
            return self.integer_value(c)
        if kind.endswith("float") or "floating" in kind:
            form = "<f" if c["length"] == 32 else "<d"
            number = r.choice([0.0, 1.5, -2.25e10, 3e-7, 1 / 3])
            return struct.unpack(form, struct.pack(form, number))[0]
        if kind.startswith("fixed"):
            return r.choice([0, 1, (1 << c["length"]) - 1, r.getrandbits(c["length"])])
        n = c.get("length")
        if n is None and kind.startswith("dynamic"):
            n = near[self.find(c["length-field-location"])]
            near_unit = {"8": 1, "1": 2, "3": 4}[c.get("encoding", "utf-8")[4]]
            if kind.endswith("string"):
                return self.fit(self.text_value(c), c, n // near_unit * near_unit) if \
                    n % near_unit == 0 else self.change_length(near, c)
        if kind.endswith("blob"):
            return bytes(r.getrandbits(8) for _ in range(n))
        text = self.text_value(c)
        return text if n is None else self.fit(text, c, n)

    def change_length(self, near, c):
        near[self.find(c["length-field-location"])] = 0
        return ""

    def fit(self, text, c, n):
        """As many characters as fit in n bytes."""
        while len(text.encode(c.get("encoding", "utf-8"))) > n:
            text = text[:-1]
        return text

    # ---- bits ----

    def alignment(self, c):
        kind = c["type"]
        if kind.startswith("fixed"):
            return c.get("alignment", 1)
        if kind == "structure":
            return max([c.get("minimum-alignment", 1)] + [
                self.alignment(m["field-class"]) for m in c.get("member-classes", [])])
        if kind.endswith("array"):
            return max(c.get("minimum-alignment", 1), self.alignment(c["element-field-class"]))
        return 1 if kind in ("optional", "variant") else 8

    def put(self, p, c, value):
        kind = c["type"]
        if kind == "structure":
            p.align(self.alignment(c))
            for m in c.get("member-classes", []):
                self.put(p, m["field-class"], value[m["name"]])
        elif kind.endswith("length-array"):
            p.align(self.alignment(c))
            for v in value:
                self.put(p, c["element-field-class"], v)
        elif kind == "optional":
            if value is not None:
                self.put(p, c["field-class"], value[0])
        elif kind == "variant":
            self.put(p, c["options"][value[0]]["field-class"], value[1])
        elif "floating" in kind:
            p.bits(c, int.from_bytes(struct.pack("<f" if c["length"] == 32 else "<d", value),
                                     "little"))
        elif kind.startswith("fixed"):
            p.bits(c, value & ((1 << c["length"]) - 1))
        elif kind.startswith("variable"):
            p.bytes(leb128(value, "-signed" in kind))
        elif kind.endswith("blob"):
            p.bytes(value)
        else:
            self.put_string(p, c, value)

    def put_string(self, p, c, value):
        data = value.encode(c.get("encoding", "utf-8"))
        if c["type"] == "null-terminated-string":
            data += "\0".encode(c.get("encoding", "utf-8"))
        elif c["type"] == "static-length-string":
            rest = c["length"] - len(data)
            unit = len("\0".encode(c.get("encoding", "utf-8")))
            # What follows a NUL is no part of the string.
            data += bytes(min(rest, unit)) + b"\xee" * max(0, rest - unit)
        else:
            data += bytes(self.lengths.pop(0) - len(data))
        p.bytes(data)

    # ---- text ----

    def text(self, c, value):
        kind = c["type"]
        if kind == "structure":
            members = ["%s = %s" % (m["name"], self.text(m["field-class"], value[m["name"]]))
                       for m in c.get("member-classes", [])]
            return "{ " + ", ".join(members) + " }" if members else "{ }"
        if kind.endswith("length-array"):
            return "[" + ",".join(" [%d] = %s" % (i, self.text(c["element-field-class"], v))
                                  for i, v in enumerate(value)) + " ]"
        if kind == "optional":
            return "<none>" if value is None else "{ %s }" % self.text(c["field-class"], value[0])
        if kind == "variant":
            return "{ %s }" % self.text(c["options"][value[0]]["field-class"], value[1])
        return self.scalar_text(c, value)

    def scalar_text(self, c, value):
        kind = c["type"]
        if kind.endswith("boolean"):
            return "true" if value else "false"
        if kind.endswith("bit-array"):
            return "0x%X" % value
        if kind.endswith("bit-map"):
            flags = sorted(name.encode() for name, ranges in c["flags"].items()
                           if any(value >> i & 1 for a, b in ranges for i in range(a, b + 1)))
            flags = [escape(f.decode()) for f in flags]
            return "0x%X" % value + (" { %s }" % ", ".join(flags) if flags else "")
        if "floating" in kind:
            return "%g" % value
        if kind.endswith("blob"):
            return "{ " + "".join("%02x " % b for b in value) + "}"
        if kind.endswith("string"):
            return escape(value)
        shown = number(c, value, c.get("length", 64))
        if "mappings" not in c:
            return shown
        labels = [escape(name) for name, ranges in c["mappings"].items()
                  if any(a <= value <= b for a, b in ranges)]
        return "( %s : container = %s )" % (labels[0] if labels else "<unknown>", shown)


def strip(c):
    """Without what only this file knows."""
    if isinstance(c, dict):
        return {k: strip(v) for k, v in c.items() if k != "role"}
    return [strip(v) for v in c] if isinstance(c, list) else c


def with_aliases(m, c, fragments):
    """The class, with some of those in it as aliases."""
    if not isinstance(c, dict):
        return c
    out = {}
    for k, v in c.items():
        if k in ("field-class", "element-field-class"):
            v = m.alias(with_aliases(m, v, fragments), fragments)
        elif k in ("member-classes", "options"):
            v = [with_aliases(m, x, fragments) for x in v]
        out[k] = v
    return out


def dynamic_strings(c, value, near, out):
    """The lengths of the strings with a length in another field, in the order of their bits."""
    kind = c["type"]
    if kind == "structure":
        for x in c.get("member-classes", []):
            dynamic_strings(x["field-class"], value[x["name"]], value, out)
    elif kind.endswith("length-array"):
        for v in value:
            dynamic_strings(c["element-field-class"], v, near, out)
    elif kind == "optional" and value is not None:
        dynamic_strings(c["field-class"], value[0], near, out)
    elif kind == "variant":
        dynamic_strings(c["options"][value[0]]["field-class"], value[1], near, out)
    elif kind == "dynamic-length-string":
        out.append(near[c["length-field-location"]["path"][-1]])


def u8(*roles):
    c = {"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian",
         "alignment": 8}
    return dict(c, roles=list(roles)) if roles else c


def write_metadata(path, fragments, packed=False):
    text = b"".join(b"\x1e" + json.dumps(f, ensure_ascii=False).encode() + b"\n"
                    for f in fragments)
    if packed:
        size = 8 * (37 + len(text))
        text = struct.pack("<I16sIII", 0x75D11D57, UUID, 0, size, size) + b"\0\0\0\2\0" + text
    with open(path + "/metadata", "wb") as f:
        f.write(text)


def write_trace(path, r):
    m = Maker(r)
    payload = m.structure([], 0)
    fragments = [{"type": "preamble", "version": 2, "uuid": list(UUID)}]
    shown = with_aliases(m, strip(payload), fragments)
    header = {"type": "structure", "member-classes": [
        {"name": "magic", "field-class": dict(u8("packet-magic-number"), length=32)},
        {"name": "uuid", "field-class": {"type": "static-length-blob", "length": 16,
                                         "roles": ["metadata-stream-uuid"]}}]}
    context = {"type": "structure", "member-classes": [
        {"name": "all", "field-class": dict(u8("packet-total-length"), length=32)},
        {"name": "used", "field-class": dict(u8("packet-content-length"), length=32)}]}
    cpu = r.random() < 0.5
    if cpu:
        context["member-classes"].append({"name": "cpu_id", "field-class": u8()})
    fragments += [
        {"type": "trace-class", "packet-header-field-class": header},
        {"type": "data-stream-class", "packet-context-field-class": context,
         "event-record-header-field-class": {
            "type": "structure",
            "member-classes": [{"name": "i", "field-class": u8("event-record-class-id")}]}},
        {"type": "event-record-class", "id": 7, "name": "ev",
         "payload-field-class": shown}]
    p, text = Packet(), ""
    p.bytes(struct.pack("<I", 0xC1FC1FC1) + UUID + bytes(8) + (b"\3" if cpu else b""))
    for _ in range(5):
        value = m.value(payload, {})
        m.lengths = []
        dynamic_strings(payload, value, value, m.lengths)
        p.bytes(b"\7")
        p.order = None
        m.put(p, payload, value)
        text += "ev: " + ("{ cpu_id = 3 }, " if cpu else "") + m.text(payload, value) + "\n"
    p.data[20:28] = struct.pack("<II", 8 * (len(p.data) + 4), p.at)
    p.data += b"\xee" * 4
    os.makedirs(path)
    # (babeltrace2 2.1 reads no packets of metadata of CTF 2.)
    write_metadata(path, fragments, "PACKETS" in os.environ)
    with open(path + "/stream", "wb") as f:
        f.write(p.data)
    with open(path + ".text", "w") as f:
        f.write(text)


if __name__ == "__main__":
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for seed in range(first, first + int(sys.argv[2])):
        write_trace("%s/%d" % (sys.argv[1], seed), random.Random(seed))
