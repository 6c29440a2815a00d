# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_csv.py JSON CSV: whether the rows of CSV have the values of the lines of JSON.

JSON is `export/json` (judge_json.py compares it with babeltrace2's text). Python's own csv module
reads the other file. Prints the first difference and exits with 1; else prints the number of rows.
"""
import csv
import json
import sys

csv.field_size_limit(1 << 30)


def cell(value):
    if value is None:
        return ""
    if isinstance(value, dict) and list(value) == ["value", "label"]:
        value = value["value"] if value["label"] is None else value["label"]
    return value if isinstance(value, str) else str(value)


def same(value, text):
    if isinstance(value, float):
        return float(text) == value
    if isinstance(value, list) or (isinstance(value, dict) and list(value) != ["value", "label"]):
        return json.loads(text) == value
    return text == cell(value)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        events = [json.loads(line) for line in f.read().split("\n")[:-1]
                  if not line.startswith('{"lost')]
    with open(sys.argv[2], encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f, strict=True))
    header, names = rows.pop(0), ["time", "host", "cpu", "event"]
    # (losses.sh is about losses.)
    kept = sum(not name.startswith("lost.") for name in header)
    header, rows = header[:kept], [row[:kept] for row in rows if row[3] != "lost"]
    if len(rows) != len(events):
        sys.exit("%d rows, %d events" % (len(rows), len(events)))
    for number, (event, row) in enumerate(zip(events, rows)):
        if len(row) != len(header):
            sys.exit("row %d has %d cells of %d: %r" % (number, len(row), len(header), row))
        want = {name: event.get(name) for name in names[:4]}
        for part in ("context", "fields"):
            want.update((part + "." + key, value) for key, value in event.get(part, {}).items())
        names += [name for name in want if name not in names]
        for name, text in zip(header, row):
            if not same(want.pop(name, None), text):
                sys.exit("row %d, %s:\n%r\n%r" % (number, name, event, row))
        if want:
            sys.exit("row %d: no columns %r" % (number, want))
    if header != names:
        sys.exit("header:\n%r\n%r" % (header, names))
    print(len(rows))


main()
