# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_sql.py JSON SQL TEXT LKET: whether SQL, loaded into SQLite, has the events of the others.

JSON is `export/json` (judge_json.py compares it with babeltrace2's text): all values are the same.
TEXT is babeltrace2's: so are the numbers of events and the sums of integers. LKET is
`export/lket.txt`. Prints the first difference and exits with 1; else prints the number of rows.
"""
import json
import re
import sqlite3
import sys
from collections import defaultdict

LINE = re.compile(r"(\d+)\.(\d{6}) CPU:(\d+) TID:(\S+), PID:(\S+), PPID:(\S+), APPNAME:(.*) "
                  r"EVT_NAME:(\S+) (.*)\Z", re.S)


def is_enum(value):
    return isinstance(value, dict) and list(value) == ["value", "label"]


def plain(value):
    """A value of JSON as its cell in SQL."""
    if is_enum(value):
        return str(value["value"] if value["label"] is None else value["label"])
    return value


def same(value, cell):
    value = plain(value)
    if isinstance(value, (list, dict)):
        return json.loads(cell) == value
    if isinstance(value, str) and cell is None:
        return value in ("NaN", "Infinity", "-Infinity")
    return str(value) == cell if isinstance(cell, str) else value == cell


def find(columns, name):
    """The number of a column that may have got a number because its name was taken."""
    for tried in [name] + ["%s_%d" % (name, i) for i in range(2, 9)]:
        if tried in columns[3:]:
            return columns.index(tried, 3)
    sys.exit("no column %s in %r" % (name, columns))


def compare_table(con, table, name, events):
    quoted = "`%s`" % table.replace("`", "``")
    cursor = con.execute("SELECT * FROM %s ORDER BY rowid" % quoted)
    columns = [c[0] for c in cursor.description]
    rows = cursor.fetchall()
    if len(rows) != len(events):
        sys.exit("%s: %d rows of %d" % (name, len(rows), len(events)))
    for row, event in zip(rows, events):
        if (row[0], row[1], row[2]) != (event["time"], event.get("host"), event["cpu"]):
            sys.exit("%s: %r is not %r" % (name, row[:3], event))
        members = {"context." + k: v for k, v in event.get("context", {}).items()}
        members.update(event["fields"])
        for key, value in members.items():
            cell = row[find(columns, key)]
            if not same(value, cell):
                sys.exit("%s: %s: %r is not %r" % (name, key, cell, value))
    sums = defaultdict(int)
    for key in set(k for e in events for k, v in e["fields"].items() if type(v) is int):
        sums[key] = sum(int(r[find(columns, key)]) for r in rows if r[find(columns, key)] is not None)
    return sums


def compare_text(path, names, sums, counts):
    have, found = defaultdict(int), defaultdict(lambda: defaultdict(int))
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            name = re.match(r"\[[^]]*\] \([^)]*\) (?:\S+ )?(\S+): ", line).group(1)
            have[name] += 1
            for key, value in re.findall(r"(?:^| )(\w+) = (-?\d+)(?= }|,)", line.rsplit("{ ", 1)[1]):
                found[name][key] += int(value)
    if have != counts:
        sys.exit("counts: babeltrace2 %r, SQL %r" % (dict(have), dict(counts)))
    for name in names:
        if dict(sums[name]) != dict(found[name]):
            sys.exit("sums of %s: babeltrace2 %r, SQL %r" % (name, found[name], sums[name]))


def compare_lket(path, events):
    with open(path, encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")[:-1]
    if len(lines) != len(events):
        sys.exit("%d lines of LKET, %d events" % (len(lines), len(events)))
    for line, event in zip(lines, events):
        found = LINE.match(line)
        if not found:
            sys.exit("no line of LKET: %r" % line)
        sec, usec, cpu, tid, pid, _, comm, name, fields = found.groups()
        context = event.get("context", {})
        if (int(sec) * 1000000 + int(usec), int(cpu), name, tid, pid, comm) != (
                event["time"] // 1000, event["cpu"], event["event"],
                str(context.get("vtid", "-")), str(context.get("vpid", "-")),
                context.get("procname", "-")):
            sys.exit("%r is not %r" % (line, event))
        want = "".join("%s:%s," % (k, v) for k, v in event["fields"].items() if type(v) is int)
        have = "".join(re.findall(r"(?:(?<=,)|^)\w+:-?\d+,", fields))
        if want and not any(type(v) is not int for v in event["fields"].values()) and want != have:
            sys.exit("%r is not %r" % (fields, event["fields"]))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        events = [json.loads(line) for line in f.read().split("\n")[:-1]
                  if not line.startswith('{"lost')]
    con = sqlite3.connect(":memory:")
    with open(sys.argv[2], encoding="utf-8", newline="") as f:
        con.executescript(f.read())
    if con.execute("SELECT * FROM trace_header").fetchall() != [(1, 1, 0, 3, 64)]:
        sys.exit("trace_header")
    by_name, counts, sums = defaultdict(list), defaultdict(int), {}
    for event in events:
        by_name[event["event"]].append(event)
    tables = dict((d, t) for t, d in con.execute("SELECT table_name, table_desc FROM table_desc"))
    if set(tables) != set(by_name):
        sys.exit("tables %r, events %r" % (sorted(tables), sorted(by_name)))
    for name, table in tables.items():
        sums[name] = compare_table(con, table, name, by_name[name])
        counts[name] = len(by_name[name])
    compare_text(sys.argv[3], [n for n in ("tick:tock", "sqlite_drop:Table") if n in sums], sums,
                 counts)
    compare_lket(sys.argv[4], events)
    print(len(events))


main()
