# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_lket.py DIR JSON TEXT: whether LKET's binary files have the events of the others.

DIR is `export/lket`, JSON `export/json`, TEXT `export/lket.txt`. The files are parsed from LKET's
description alone: header, sizes, common data, and the formats that the events of group 1 give.
Prints the first difference and exits with 1; else prints the number of events.
"""
import glob
import json
import re
import struct
import sys
from collections import defaultdict

SIZES = {"INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q",
         "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q"}


def strings(data, count):
    parts = data.split(b"\0")
    if len(parts) != count + 1 or parts[-1]:
        sys.exit("no %d strings: %r" % (count, data))
    return [p.decode("utf-8") for p in parts[:-1]]


class Formats:
    def __init__(self):
        self.names, self.system, self.user = {}, defaultdict(list), defaultdict(list)

    def describe(self, hook, data):
        kind = tuple(data[:2])
        if hook == 5:
            self.names[kind], = strings(data[2:], 1)
            return
        types, names = (s.split(":") for s in strings(data[2:], 2))
        if len(types) != len(names) or kind not in self.names:
            sys.exit("%r: %d types, %d names" % (kind, len(types), len(names)))
        (self.system if hook == 1 else self.user)[kind] = list(zip(names, types))


def read_fields(data, columns):
    values = {}
    for name, kind in columns:
        if kind == "STRING":
            end = data.index(b"\0")
            values[name], data = data[:end].decode("utf-8", "replace"), data[end + 1:]
        else:
            n = struct.calcsize(SIZES[kind])
            values[name], = struct.unpack("<" + SIZES[kind], data[:n])
            data = data[n:]
    if data:
        sys.exit("%d bytes are left after %r" % (len(data), values))
    return values


def read_file(path, cpu):
    with open(path, "rb") as f:
        data = f.read()
    if struct.unpack_from("<IhBBBBBi", data) != (0xAEFCDB6B, 9, 1, 1, 1, 3, 64, 0):
        sys.exit("header %r" % data[:15])
    at, events = 15, []
    while at < len(data):
        total, system, time, thread, kind = struct.unpack_from("<hhqqQ", data, at)
        if kind >> 8 & 0xff != cpu or total < system or system < 24:
            sys.exit("%s: an event of CPU %d, sizes %d, %d" % (path, kind >> 8, total, system))
        events.append((time, thread >> 32, thread & 0xffffffff, kind >> 32,
                       (kind >> 24 & 0xff, kind >> 16 & 0xff),
                       data[at + 28:at + 4 + system], data[at + 4 + system:at + 4 + total]))
        at += 4 + total
    return events


def compare_value(name, want, have):
    if isinstance(want, dict) and list(want) == ["value", "label"]:
        want = want["value"]
    if isinstance(want, int) and isinstance(have, int):
        return (want - have) % 256 == 0 and abs(have) <= abs(want) or want == have
    if isinstance(want, str) and isinstance(have, str):
        return have == want.encode("utf-8").decode("utf-8")[:len(have)] and (
            have == want or len(have.encode("utf-8")) > 4000)
    return isinstance(have, str)                # arrays, structures, floats, mixed types


def compare(event, values, system, common, tid):
    context = event.get("context", {})
    for name, want in [("context." + k, v) for k, v in context.items()] + list(
            event["fields"].items()):
        if name in values:
            if not compare_value(name, want, values[name]):
                sys.exit("%s: %r is not %r in %r" % (name, values[name], want, event))
        elif name.startswith("context."):
            number = {"tid": common[0], "pid": common[1], "ppid": common[2]}[
                name.replace("context.", "").replace("v", "")]
            if number != want:
                sys.exit("%s: %r is not %r" % (name, number, want))
        elif not any(compare_value(name, want, v) for v in system.values()):
            sys.exit("%s = %r of %r is not among %r" % (name, want, event, system))


def main():
    with open(sys.argv[2], encoding="utf-8") as f:
        events = [json.loads(line) for line in f.read().split("\n")[:-1]
                  if not line.startswith('{"lost')]
    with open(sys.argv[3], encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")[:-1]
    files = {int(re.search(r"\d+$", p).group()): p for p in glob.glob(sys.argv[1] + "/stpd_cpu*")}
    records = {cpu: read_file(path, cpu) for cpu, path in files.items()}
    formats = Formats()
    for cpu in records:
        for r in records[cpu]:
            if r[4][0] == 1:
                formats.describe(r[4][1], r[5])
        records[cpu] = [r for r in records[cpu] if r[4][0] != 1]
    if sum(map(len, records.values())) != len(events) or len(lines) != len(events):
        sys.exit("%d records, %d events, %d lines" % (
            sum(map(len, records.values())), len(events), len(lines)))
    at = dict.fromkeys(records, 0)
    for event, line in zip(events, lines):
        cpu = event["cpu"]
        time, tid, pid, ppid, kind, system, user = records[cpu][at[cpu]]
        at[cpu] += 1
        name = re.search(r" EVT_NAME:(\S+) ", line).group(1)
        if (time, formats.names[kind]) != (event["time"], name):
            sys.exit("%r at %d is not %r of %r" % (formats.names[kind], time, name, event))
        fields = read_fields(system, formats.system[kind])
        values = dict(fields)
        values.update(read_fields(user, formats.user[kind]))
        compare(event, values, fields, (tid, pid, ppid), tid)
    print(len(events))


main()
