#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_ltt.py DIRECTORY JSON: the LTT 0.7 trace in the directory has the events of `export/json`.

A reader of the format on its own: it follows the description of LTT, and shares nothing with the
project. Prints the numbers of events and of heartbeats.
"""
import html
import json
import os
import re
import struct
import sys

directory, lines = sys.argv[1:]
TAG = re.compile(r'<(/?)(\w+)((?:\s+\w+(?:=(?:"[^"]*"|[^\s>/]+))?)*)\s*(/?)>')
ATTRIBUTE = re.compile(r'(\w+)(?:=(?:"([^"]*)"|([^\s>/]+)))?')


def definition(path):
    """The tags of a file as a tree: (name, attributes, children)"""
    root = ("", {}, [])
    stack = [root]
    text = open(path, encoding="utf-8", errors="surrogateescape").read()
    for close, name, attributes, alone in TAG.findall(text):
        if close:
            assert stack.pop()[0] == name, (path, name)
            continue
        values = {a: html.unescape(q or p) for a, q, p in ATTRIBUTE.findall(attributes)}
        node = (name, values, [])
        stack[-1][2].append(node)
        if not alone:
            stack.append(node)
    assert len(stack) == 1, path
    return [n for n in root[2] if n[0] == "facility"][0]


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def string(self):
        end = self.data.index(0, self.at)
        value = self.data[self.at:end]
        self.at = end + 1
        return value


INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}


def integer(attributes, b, signed):
    form = INTEGERS[int(attributes["size"])]
    return b.take((">" if "network" in attributes else "<") + (form if signed else form.upper()))


def characters(data):
    """As JSON has them: each byte that is not UTF-8 is U+FFFD."""
    result = ""
    while data:
        for n in (1, 2, 3, 4):
            try:
                result += data[:n].decode()
                data = data[n:]
                break
            except UnicodeDecodeError:
                continue
        else:
            result += "\ufffd"
            data = data[1:]
    return result


def elements(kind, b, count):
    name, attributes, _ = kind
    if "trail_text" in attributes:
        data = bytes(b.take("<B") for _ in range(count))
        return characters(data.split(b"\0")[0])
    return [value(kind, b) for _ in range(count)]


def value(kind, b):
    name, attributes, inner = kind
    if name in ("int", "uint"):
        return integer(attributes, b, name == "int")
    if name == "float":
        number = b.take((">" if "network" in attributes else "<") + ("f" if attributes["size"] == "4" else "d"))
        if number != number:
            return "NaN"
        if number in (float("inf"), float("-inf")):
            return "Infinity" if number > 0 else "-Infinity"
        return number
    if name == "string":
        return characters(b.string())
    if name == "array":
        return elements(inner[0], b, int(attributes["size"]))
    if name == "sequence":
        return elements(inner[1], b, value(inner[0], b))
    if name == "struct":
        return {f[1]["name"]: value(f[2][0], b) for f in inner}
    assert name == "enum", name
    number = integer(attributes, b, "trail_unsigned" not in attributes)
    labels = []
    for _, label, _ in inner:
        first = int(label["value"])
        if first <= number <= int(label.get("trail_end", first)) and label["name"] not in labels:
            labels.append(label["name"])
    return {"value": number, "label": ", ".join(labels) if labels else None}


# Whose names begin so are in trace files of their own.
SETS = {"interrupts": ("irq_", "softirq_", "lttng_statedump_interrupt"), "modules": ("module_",),
        "processes": ("sched_process_",)}
facilities = {}
beats = 0
sets = {}
definitions = {}
for name in os.listdir(directory + "/eventdefs"):
    d = definition(directory + "/eventdefs/" + name)
    if d[1]["name"] == "core":
        facilities[0] = d
    else:
        assert re.fullmatch(re.escape(d[1]["name"]) + r"_\d+\.xml", name), name
        definitions[d[1]["name"], int(name[:-4].rsplit("_", 1)[1])] = d


def event(facility, number, b):
    """Name, contexts, fields"""
    d = facilities[facility]
    prefix = d[1].get("trail_prefix", d[1]["name"] + ":")
    e = [n for n in d[2] if n[0] == "event"][number]
    parts = {}, {}
    for f in [n for n in e[2] if n[0] == "field"]:
        parts["trail_context" not in f[1]][f[1]["name"]] = value(f[2][0], b)
    return prefix + e[1]["name"], parts[0], parts[1]


def tracefile(path, cpu, sequence):
    """Appends the events of one file to the sequence."""
    global beats
    data = open(path, "rb").read()
    size = struct.unpack_from("<I", data, 36)[0]
    assert size and len(data) % size == 0, path
    previous = 0
    for at in range(0, len(data), size):
        begin, freq, end, _, lost, own = struct.unpack_from("<QQQQII", data, at)
        magic, _, variant, order, arch, major, minor, flight, heart, align, scale = struct.unpack_from(
            "<IIIIBBBBBBI", data, at + 40)[:11]
        assert struct.unpack_from("<I", data, at + 62)[0] == scale
        start_freq, start, _, sec, usec = struct.unpack_from("<QQQQQ", data, at + 66)
        assert (magic, major, minor, heart, align, own) == (0x00D6B7ED, 0, 7, 1, 0, size), path
        assert freq == start_freq == 10**9 and scale == 1 and arch == 8 and order == 1234
        b = Bytes(data[at:at + size - lost])
        b.at = 106
        now, any_event = begin, False
        while b.at < len(b.data):
            low, facility, number, length = b.take("<I"), b.take("<B"), b.take("<B"), b.take("<H")
            begin_data = b.at
            now = (now & ~0xFFFFFFFF) + low + (0x100000000 if low < now & 0xFFFFFFFF else 0)
            assert any_event or now == begin, path
            any_event = True
            assert previous <= now <= end, (path, previous, now, end)
            previous = now
            if facility == 0:
                name, _, fields = event(0, number, b)
                if name == "core:time_heartbeat":
                    assert fields["timestamp"] == now, (fields, now)
                    beats += 1
                else:
                    assert name == "core:facility_load" and "facilities" in path, (name, path)
                    facilities[fields["id"]] = definitions.pop((fields["name"], fields["checksum"]))
            else:
                ns = sec * 10**9 + usec * 1000 + now - start
                sequence.append((ns, cpu) + event(facility, number, b))
                kind = re.search(r"control/(\w+)_", path)
                for own, names in SETS.items():
                    if sequence[-1][2].startswith(names) or (kind and kind[1] == own):
                        assert kind and kind[1] == own and sequence[-1][2].startswith(names), (
                            path, sequence[-1])
                        sets[own] = sets.get(own, 0) + 1
            assert length in (b.at - begin_data, 0xFFFF), (path, length, b.at - begin_data)
            assert length != 0xFFFF or b.at - begin_data >= 0xFFFF, path
        assert now == end, path


read = []
paths = sorted(os.listdir(directory + "/control")), sorted(n for n in os.listdir(directory) if n.startswith("cpu_"))
cpus = [n[4:] for n in paths[1]]
assert sorted(paths[0]) == sorted(
    f"{name}_{n}" for n in cpus for name in ("facilities", "interrupts", "modules", "processes")), paths
for folder, names in ("/control/", paths[0]), ("/", paths[1]):
    for name in names:
        tracefile(directory + folder + name, int(name.rsplit("_", 1)[1]), read)
assert not definitions, definitions.keys()


def rounded(v):
    """A float has fewer digits in JSON than the double that it reads back as."""
    if isinstance(v, dict):
        return {k: rounded(x) for k, x in v.items()}
    if isinstance(v, list):
        return [rounded(x) for x in v]
    return f"{v:.6g}" if isinstance(v, float) else v


def canonical(events):
    return sorted((e[0], e[1], json.dumps(rounded(list(e[2:])), sort_keys=True)) for e in events)


def comparable(v):
    """The value of a context of an application is bytes in LTT: left out."""
    return {k: x for k, x in v.items() if not k.startswith("_app_")}


want = []
for line in open(lines, encoding="utf-8"):
    o = json.loads(line)
    if "event" not in o:
        continue
    want.append((o["time"], o["cpu"], o["event"], comparable(o.get("context", {})), o["fields"]))
read = canonical([(t, c, n, comparable(x), f) for t, c, n, x, f in read])
want = canonical(want)
for r, w in zip(read, want):
    if r != w:
        sys.exit(f"read {r}\nwant {w}")
if len(read) != len(want):
    sys.exit(f"{len(read)} events, not {len(want)}")
print(len(want), beats, *sorted(sets))
