# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_json.py TEXT JSON: whether the lines of JSON have the values of the lines of text.

TEXT is what babeltrace2 prints. Python's own JSON parser reads the other file. Times are compared
in the zone TZ. Prints the first difference and exits with 1; else prints the number of lines.
"""
import codecs
import itertools
import json
import re
import struct
import sys
import time

codecs.register_error("each", lambda e: ("\ufffd", e.start + 1))

LINE = re.compile(
    rb"\[(\d\d):(\d\d):(\d\d)\.(\d{9})\] \(\+[^)]*\) (?:(\S+) )?(.*?): \{ cpu_id = (\d+) \}, (.*)",
    re.S)
NAME = re.compile(rb"([A-Za-z0-9_]+) = ")
NUMBER = re.compile(rb"-?(?:0x[0-9A-F]+|0b[01]+|inf|nan|[0-9][0-9.e+-]*)")
ESCAPES = {b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r",
           b"t": b"\t", b"v": b"\v"}


class Parser:
    def __init__(self, text):
        self.text, self.at = text, 0

    def take(self, token):
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def must(self, token):
        assert self.take(token), (token, self.text[self.at:self.at + 60])

    def string(self):
        end = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.S).match(self.text, self.at)
        self.at = end.end()
        raw = re.sub(rb"\\(x[0-9a-f]{2}|.)", lambda m: bytes([int(m[1][1:], 16)])
                     if len(m[1]) == 3 else ESCAPES.get(m[1], m[1]), end[1], flags=re.S)
        return raw.decode("utf-8", "each")

    def enumeration(self):
        labels = []
        self.must(b"( ")
        several = self.take(b"{ ")  # babeltrace2 2.1 and later: in an order of its own
        if not self.take(b"<unknown>"):
            labels.append(self.string())
            while self.take(b", "):
                labels.append(self.string())
        if several:
            self.must(b" }")
        self.must(b" : container = ")
        value = self.value()
        self.must(b" )")
        orders = itertools.permutations(labels) if several else [labels]
        return ("enum", value, [", ".join(o) for o in orders] if labels else [None])

    def array(self):
        items = []
        self.must(b"[ ")
        while not self.take(b"]"):
            self.must(b"[%d] = " % len(items))
            items.append(self.value())
            if not self.take(b", "):
                self.must(b" ")
        return ("array", items)

    def members(self):
        self.must(b"{ ")
        if self.take(b"}"):
            return ("struct", [])
        if not NAME.match(self.text, self.at):
            value = self.value()
            self.must(b" }")
            return ("variant", value)
        items = []
        while True:
            name = NAME.match(self.text, self.at)
            self.at = name.end()
            items.append((name[1].decode(), self.value()))
            if self.take(b" }"):
                return ("struct", items)
            self.must(b", ")

    def value(self):
        first = self.text[self.at:self.at + 1]
        if first == b'"':
            return ("string", self.string())
        if first in b"([{":
            return {b"(": self.enumeration, b"[": self.array, b"{": self.members}[first]()
        number = NUMBER.match(self.text, self.at)
        self.at = number.end()
        return ("number", number[0].decode())


def integer(text, value):
    """Whether the value is this text of an integer, whose size is not known."""
    if text.startswith(("0x", "0b")):
        n = int(text, 0)
        sizes = (8, 16, 32, 64)
    elif re.fullmatch("0[0-7]+", text):
        n = int(text, 8)
        sizes = (9, 18, 33, 64)
    else:
        return int(text) == value
    return n == value or (value < 0 and any(n == value + (1 << size) for size in sizes))


def same_number(text, value):
    if isinstance(value, str):
        return {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[value] == text.replace("-nan", "nan")
    if re.fullmatch("-?[0-9]+|0x.*|0b.*", text) and isinstance(value, int):
        if integer(text, value):
            return True
    try:
        narrow = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        narrow = value
    return text in ("%g" % value, "%g" % narrow)


def same(a, j):
    kind = a[0]
    if kind == "string":
        return a[1] == j
    if kind == "number":
        return not isinstance(j, bool) and same_number(a[1], j)
    if kind == "enum":
        return list(j) == ["value", "label"] and same(a[1], j["value"]) and j["label"] in a[2]
    if kind == "array":
        return isinstance(j, list) and len(a[1]) == len(j) and all(map(same, a[1], j))
    if kind == "variant":
        return j is None if a[1] == ("struct", []) else same(a[1], j)
    members, hidden = list(j.items()), 0
    for name, value in a[1]:
        if hidden < len(members) and members[hidden][0] == name and same(value, members[hidden][1]):
            hidden += 1
        elif not name.endswith(("_length", "_tag")):
            return False
    return hidden == len(members)


def same_line(text, line):
    m = LINE.fullmatch(text)
    if not m:
        return text.startswith(b"[Error]")
    j = json.loads(line)
    clock = time.localtime(j["time"] // 10**9)
    p = Parser(m[8])
    parts = [p.members()]
    while p.take(b", "):
        parts.append(p.members())
    want = (["context"] if len(parts) == 2 else []) + ["fields"]
    keys = ["time"] + (["host"] if m[5] else []) + ["cpu", "event"] + want
    return (list(j) == keys and p.at == len(p.text) and
            [clock.tm_hour, clock.tm_min, clock.tm_sec, j["time"] % 10**9] ==
            [int(m[i]) for i in range(1, 5)] and
            j.get("host", "").encode() == (m[5] or b"") and j["cpu"] == int(m[7]) and
            j["event"].encode() == m[6] and
            all(same(part, j[key]) for part, key in zip(parts, want)))


def main():
    with open(sys.argv[1], "rb") as f:
        texts = [t for t in f.read().split(b"\n")[:-1] if not t.startswith(b"WARNING: ")]
    with open(sys.argv[2], "rb") as f:
        lines = [t for t in f.read().split(b"\n")[:-1] if not t.startswith(b'{"lost')]
    for i, (text, line) in enumerate(zip(texts, lines)):
        try:
            good = same_line(text, line.decode("utf-8"))
        except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as e:
            print(repr(e))
            good = False
        if not good:
            sys.exit("line %d:\n%r\n%r" % (i + 1, text[:1000], line[:1000]))
    if len(texts) != len(lines):
        sys.exit("%d lines of text, %d of JSON" % (len(texts), len(lines)))
    print(len(lines))


main()
