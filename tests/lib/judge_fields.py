# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_fields.py TRACE DIR...: whether all forms have the fields of `json`, value by value.

Each DIR has the files json, csv, parquet, lket.txt, chrome.json, perfetto and timeline.html of a
session whose input is the trace of CTF 2 at TRACE/NAME, NAME being that of DIR. Its events are no
counters and have no names of code addresses. Prints the first difference and exits with 1; else
prints how many values were compared.
"""
import csv
import json
import os
import re
import struct
import sys

from judge_parquet import read_table
from judge_slices import Found, chrome, page, perfetto

MEMBERS = "context", "symbols"          # that chrome.json has after the fields


def classes_of(path):
    """Of fields of the payload, by name: their classes, without names of aliases."""
    with open(path + "/metadata", encoding="utf-8") as f:
        fragments = [json.loads(text) for text in f.read().split("\x1e")[1:]]
    aliases = {f["name"]: f["field-class"] for f in fragments if f["type"] == "field-class-alias"}

    def whole(c):
        c = aliases[c] if isinstance(c, str) else c
        inner = {k: whole(c[k]) for k in ("element-field-class", "field-class") if k in c}
        return dict(c, **inner)

    return {m["name"]: whole(m["field-class"]) for f in fragments
            if f["type"] == "event-record-class"
            for m in f.get("payload-field-class", {}).get("member-classes", [])}


def bits_of(c):
    """How many bits hexadecimal numbers of the class have; None: they are no such."""
    c = c.get("element-field-class", c)
    default = 16 if c["type"] == "fixed-length-bit-array" else 10
    if c.get("preferred-display-base", default) != 16 or "mappings" in c:
        return None
    return c.get("length", 64)


def is_number(c):
    c = c["field-class"] if c["type"] == "optional" else c
    return c["type"].endswith(("-integer", "-point-number", "-bit-array")) and "mappings" not in c


def unsigned(value, bits):
    if isinstance(value, list):
        return [unsigned(v, bits) for v in value]
    return hex(value & ((1 << bits) - 1))


def number(value):
    """Floats that are integers as json has them; what is no number as its name."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else \
            value if value - value == 0 else "NaN" if value != value else \
            "Infinity" if value > 0 else "-Infinity"
    return value


def plain(value):
    """Labels of enumerations, as annotations have them."""
    if isinstance(value, dict) and list(value) == ["value", "label"]:
        return value["value"] if value["label"] is None else value["label"]
    return value


def read_cell(value, cell):
    """What a cell says, if it should say this value: text, or JSON."""
    value = plain(value)
    if value is None:
        return cell or ""
    return cell if isinstance(value, str) else json.loads(cell)


def same(where, want, have):
    """(== makes 1 and true one.)"""
    if json.dumps(want) != json.dumps(have):
        sys.exit("%s: %s, not %s" % (where, json.dumps(have), json.dumps(want)))


def escaped(text):
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def take_cell(value, text):
    """The value in lket.txt, which should be this one, and what is after it."""
    value = plain(value)
    if value is None or isinstance(value, str):
        word = "-" if value is None else escaped(value)
        return value if text.startswith(word) else text, text[len(word):]
    value, end = json.JSONDecoder().raw_decode(text)
    return value, text[end:]


def judge(trace, path):
    with open(path + "/json", encoding="utf-8", newline="\n") as f:
        events = [json.loads(line) for line in f.read().split("\n")[:-1]]
    classes = classes_of(trace)
    hexadecimal = {name: bits_of(c) for name, c in classes.items() if bits_of(c)}
    found = {"chrome.json": chrome(path + "/chrome.json", Found()),
             "perfetto": perfetto(path + "/perfetto", {}),
             "timeline.html": page(path + "/timeline.html")}
    with open(path + "/csv", encoding="utf-8", newline="") as f:
        names, *rows = csv.reader(f)
    with open(path + "/lket.txt", encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")[:-1]
    schema, table, _ = read_table(path + "/parquet")
    columns = [e[4].decode() for e in schema]
    kinds = {e[4].decode(): e[1] for e in schema}
    for form, have in [("csv", rows), ("lket.txt", lines), ("parquet", table)] + [
            (form, f.values) for form, f in found.items()]:
        same("events of %s/%s" % (path, form), len(events), len(have))
    for event, forms in found["timeline.html"].forms.items():
        for field, form in forms.items():
            bits = hexadecimal.get(field)
            same("how %s shows %s" % (event, field), "x%d" % bits if bits else "-", form)
    for i, event in enumerate(events):
        fields = event["fields"]
        of = "event %d of %s/" % (i, path)
        for form, f in found.items():
            time, have = f.values[i]
            same(of + form + ", time", event["time"] or 0, time)
            have = {k: number(v) for k, v in have.items()
                    if not k.startswith("context.") and (form != "chrome.json" or k != "context")}
            want = {k: unsigned(v, hexadecimal[k])
                    if k in hexadecimal and v is not None and form != "timeline.html"
                    else number(v) for k, v in fields.items()}
            if form == "perfetto":
                want = {k: plain(v) for k, v in want.items()}
            if form == "chrome.json":
                want = {"fields." * (k in MEMBERS) + k: v for k, v in want.items()}
            # What is missing is null in JSON, and not there elsewhere.
            want = {k: v for k, v in want.items() if v is not None}
            have = {k: v for k, v in have.items() if v is not None}
            same(of + form, want, have)
        cells, row = dict(zip(names, rows[i])), dict(zip(columns, table[i]))
        for name, value in fields.items():
            name = "fields." + name
            want = "" if value is None else plain(value)
            same(of + "csv, " + name, want, read_cell(value, cells.get(name)))
            have = row.get(name)
            if name[7:] not in classes:     # of the contexts of the event
                assert str(have) == str(want) or have is value, (of, name, have)
            elif is_number(classes[name[7:]]):
                single = kinds[name] == 4 and isinstance(value, (int, float))
                value = struct.unpack("<f", struct.pack("<f", value))[0] if single else value
                same(of + "parquet, " + name, number(value), number(have))
            else:
                same(of + "parquet, " + name, want, read_cell(value, have))
        text = re.sub("^.* EVT_NAME:[^ ]* ", "", lines[i])
        for name, value in fields.items():
            have, text = take_cell(value, text.removeprefix(escaped(name) + ":"))
            same(of + "lket.txt, " + name, plain(value), have)
            same(of + "lket.txt, after " + name, ",", text[:1])
            text = text[1:]
        same("the rest of " + of + "lket.txt", "", text)
    return len(events) and sum(len(e["fields"]) for e in events)


print(sum(judge(os.path.join(sys.argv[1], os.path.basename(path)), path) for path in sys.argv[2:]))
