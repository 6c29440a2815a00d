# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_ctf2.py TRACE JSON: whether a CTF 2 trace has the events of a file of JSON lines.

Decodes the trace by its metadata alone, as CTF2-SPEC-2.0 says; knows no more of its writer. The
lines are those of export/json. Prints the first difference and exits with 1; else prints the number
of events.
"""
import base64
import codecs
import glob
import json
import os
import struct
import sys

codecs.register_error("each", lambda e: ("\ufffd", e.start + 1))


class Hidden(int):
    """An integer that is the length or the selector of another field."""


class Packet:
    def __init__(self, data, trace):
        self.data, self.trace, self.at, self.end = data, trace, 0, 8 * len(data)
        self.clock, self.roles = 0, {}

    def align(self, n):
        self.at = (self.at + n - 1) // n * n

    def bits(self, c):
        self.align(c.get("alignment", 1))
        n, at = c["length"], self.at
        assert at + n <= self.end, "a field beyond the end of the packet"
        self.at += n
        raw = self.data[at // 8:(at + n + 7) // 8]
        if c["byte-order"] == "big-endian":
            assert n % 8 == 0 and at % 8 == 0
            return int.from_bytes(raw, "big")
        return (int.from_bytes(raw, "little") >> at % 8) & ((1 << n) - 1)

    def bytes(self, n):
        self.align(8)
        at = self.at // 8
        self.at += 8 * n
        assert self.at <= self.end, "bytes beyond the end of the packet"
        return bytes(self.data[at:at + n])

    def role(self, role, value, length):
        if role == "default-clock-timestamp":
            low = self.clock & ((1 << length) - 1)
            self.clock += (value - low) % (1 << length) if length < 64 else value - self.clock
        else:
            self.roles[role] = value

    def integer(self, c):
        value = self.bits(c)
        for role in c.get("roles", []):
            self.role(role, value, c["length"])
        if c["type"] == "fixed-length-signed-integer" and value >> (c["length"] - 1):
            value -= 1 << c["length"]
        if "mappings" in c:
            labels = [name for name, ranges in c["mappings"].items()
                      if any(a <= value <= b for a, b in ranges)]
            return {"value": value, "label": ", ".join(labels) if labels else None}
        return value

    def find(self, location, members):
        assert location.get("origin") is None and len(location["path"]) == 1
        found = members[location["path"][0]]
        number = found["value"] if isinstance(found, dict) else found
        members[location["path"][0]] = Hidden(number)
        return number

    def length(self, c, members):
        return c["length"] if c["type"].startswith("static") else \
            self.find(c["length-field-location"], members)

    def structure(self, c):
        members = {}
        self.align(c.get("minimum-alignment", 1))
        for m in c["member-classes"]:
            assert m["name"] not in members, "two members " + m["name"]
            members[m["name"]] = self.field(m["field-class"], members)
        return {k: v for k, v in members.items() if not isinstance(v, Hidden)}

    def field(self, c, members):
        kind = c["type"]
        if kind.endswith("-integer"):
            return self.integer(c)
        if kind == "fixed-length-floating-point-number":
            raw, size = self.bits(c), c["length"] // 8
            return struct.unpack("f" if size == 4 else "d", raw.to_bytes(size, "little"))[0]
        if kind == "null-terminated-string":
            self.align(8)
            end = self.data.index(0, self.at // 8)
            return self.bytes(end - self.at // 8 + 1)[:-1].decode("utf-8", "each")
        if kind in ("static-length-string", "dynamic-length-string"):
            raw = self.bytes(self.length(c, members))
            return raw.split(b"\0")[0].decode("utf-8", "each")
        if kind in ("static-length-blob", "dynamic-length-blob"):
            value = self.bytes(self.length(c, members))
            if "metadata-stream-uuid" in c.get("roles", []):
                assert list(value) == self.trace.uuid, "the packet is of another trace"
            return base64.b64encode(value).decode()
        if kind in ("static-length-array", "dynamic-length-array"):
            return [self.field(c["element-field-class"], members)
                    for _ in range(self.length(c, members))]
        if kind == "variant":
            selector = self.find(c["selector-field-location"], members)
            options = [o for o in c["options"]
                       if any(a <= selector <= b for a, b in o["selector-field-ranges"])]
            assert len(options) == 1, "no option for %d" % selector
            return self.field(options[0]["field-class"], members)
        assert kind == "structure", kind
        return self.structure(c)


def unpacked(metadata):
    """The text of metadata, which may be in packets."""
    text = b""
    while metadata[:4] == struct.pack("<I", 0x75D11D57):
        content, total = struct.unpack_from("<II", metadata, 24)
        assert metadata[35:37] == b"\2\0", "not the version of CTF 2"
        text += metadata[37:content // 8]
        metadata = metadata[total // 8:]
    return text + metadata


class Trace:
    def __init__(self, directory):
        self.streams, self.events, self.clocks = {}, {}, {}
        with open(os.path.join(directory, "metadata"), "rb") as f:
            text = unpacked(f.read()).decode("utf-8")
        assert text[0] == "\x1e", "not a JSON text sequence"
        for i, part in enumerate(text[1:].split("\x1e")):
            assert part.endswith("\n")
            self.fragment(json.loads(part), i)

    def fragment(self, f, i):
        kind = f["type"]
        assert (kind == "preamble") == (i == 0), "the preamble is not first"
        if kind == "preamble":
            assert f["version"] == 2
            self.uuid = f["uuid"]
        elif kind == "trace-class":
            assert not self.streams
            self.header, self.env = f["packet-header-field-class"], f["environment"]
        elif kind == "clock-class":
            assert f["origin"] == "unix-epoch"
            offset = f["offset-from-origin"]
            self.clocks[f["id"]] = (offset["seconds"] * f["frequency"] + offset["cycles"],
                                    f["frequency"])
        elif kind == "data-stream-class":
            assert f["default-clock-class-id"] in self.clocks and f["id"] not in self.streams
            self.streams[f["id"]] = f
        elif kind == "event-record-class":
            key = (f["data-stream-class-id"], f["id"])
            assert key[0] in self.streams and key not in self.events, key
            self.events[key] = f
        else:
            raise AssertionError("an unknown fragment " + kind)

    def packet(self, data):
        p = Packet(data, self)
        p.structure(self.header)
        assert p.roles["packet-magic-number"] == 0xc1fc1fc1
        stream = self.streams[p.roles["data-stream-class-id"]]
        context = p.structure(stream["packet-context-field-class"])
        p.end = p.roles["packet-content-length"]
        offset, frequency = self.clocks[stream["default-clock-class-id"]]
        p.clock = context["timestamp_begin"]
        while p.at < p.end:
            p.structure(stream["event-record-header-field-class"])
            event = self.events[stream["id"], p.roles["event-record-class-id"]]
            out = {"time": (p.clock + offset) * 1000000000 // frequency,
                   "cpu": context["cpu_id"], "event": event["name"]}
            if "event-record-common-context-field-class" in stream:
                out["context"] = p.structure(stream["event-record-common-context-field-class"])
            out["fields"] = p.structure(event["payload-field-class"])
            yield out
        assert p.clock <= p.roles["packet-end-default-clock-timestamp"]

    def file(self, name):
        with open(name, "rb") as f:
            data = f.read()
        while data:
            p = Packet(data, self)
            p.structure(self.header)
            p.structure(self.streams[p.roles["data-stream-class-id"]]
                        ["packet-context-field-class"])
            size = p.roles["packet-total-length"] // 8
            yield from self.packet(memoryview(data)[:size].tobytes())
            data = data[size:]


def plain(value):
    """What JSON can hold."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or struct.pack("f", a) == struct.pack("f", b)
    return a == b or (a == {} and b is None)


def main(directory, lines):
    found = []
    for metadata in glob.glob(os.path.join(directory, "**", "metadata"), recursive=True):
        trace = Trace(os.path.dirname(metadata))
        for name in os.listdir(os.path.dirname(metadata)):
            path = os.path.join(os.path.dirname(metadata), name)
            if name != "metadata" and os.path.isfile(path):
                for event in trace.file(path):
                    if "hostname" in trace.env:
                        event["host"] = trace.env["hostname"]
                    found.append(event)
    with open(lines, "rb") as f:
        wanted = [json.loads(line) for line in f]
    order = lambda e: (e["time"], e["cpu"], e["event"], json.dumps(e["fields"], sort_keys=True))
    found = sorted(map(plain, found), key=order)
    wanted.sort(key=order)
    for a, b in zip(found, wanted):
        for key in ("time", "host", "cpu", "event", "context", "fields"):
            if not same(a.get(key), b.get(key)):
                print("%s differs:\n%s\n%s" % (key, a, b))
                return 1
    if len(found) != len(wanted):
        print("%d events, wanted %d" % (len(found), len(wanted)))
        return 1
    print(len(found))
    return 0


sys.exit(main(*sys.argv[1:]))
