# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_report.py JSON REPORT: whether report.html has the numbers of the events in JSON.

slice_oracle.py finds the slices in the lines of `export/json`. Prints the first difference and exits
with 1, else the numbers of events, of names of slices, and of boxes of heat maps.
"""
import collections
import json
import re
import sys

from slice_oracle import read_slices


def same(what, want, have):
    if want != have:
        sys.exit("%s: %r, not %r" % (what, have, want))


def level_of(ns, levels):
    return max(i for i, begin in enumerate(levels) if begin <= ns)


def check_kind(d, kind, slices, first):
    ended = [s for s in slices if s.ended]
    times = sorted(s.end - s.begin for s in ended)
    same(kind["name"], [len(times), sum(times), max(times, default=0), len(slices) - len(ended)],
         [kind[k] for k in ("count", "total", "max", "no_end")])
    same("slowest " + kind["name"], times[:-11:-1], [s[1] for s in kind["slowest"]])
    known = {(s.begin - first, s.end - s.begin, s.track) for s in ended}
    for s in kind["slowest"]:
        if tuple(s[:3]) not in known:
            sys.exit("no such slice of %s: %r" % (kind["name"], s))
    for permille, have in zip((500, 900, 990, 999), kind["percentiles"]):
        exact = times[(len(times) * permille + 999) // 1000 - 1] if times else 0
        if not exact <= have <= exact * 33 / 32 + 1:
            sys.exit("%s, %d: %d, not %d" % (kind["name"], permille, have, exact))
    if not times:
        return 0
    want = collections.Counter(((s.begin - first) // d["step"], level_of(s.end - s.begin, d["levels"]))
                               for s in ended)
    heat = kind["heat"]
    same("heat map of " + kind["name"], dict(want),
         {(heat[i], heat[i + 1]): heat[i + 2] for i in range(0, len(heat), 3)})
    levels = collections.Counter(level for (_, level), n in want.items() for _ in range(n))
    same("histogram of " + kind["name"], dict(levels), dict(map(tuple, kind["levels"])))
    return len(want)


def main():
    with open(sys.argv[2], encoding="utf-8") as f:
        page = f.read()
    if "default-src 'none'" not in page:
        sys.exit("no policy")
    text, = re.findall(r'id="data">(.*?)</script>', page, re.S)
    if "<" in text:
        sys.exit("a < within the script: %r" % text[text.index("<"):][:100])
    d = json.loads(text)
    slices, first, last = read_slices(sys.argv[1])
    with open(sys.argv[1], encoding="utf-8") as f:
        events = [e for e in map(json.loads, f) if "event" in e]
    same("the span", [str(first), last - first, len(events)], [d["start"], d["last"], d["events"]])
    names = collections.Counter(e["event"] for e in events)
    same("names", dict(names), {e["name"]: e["count"] for e in d["names"]})
    columns = collections.Counter((e["event"], (e["time"] - first) // d["step"]) for e in events)
    same("rates", dict(columns), {(e["name"], i): n for e in d["names"]
                                  for i, n in enumerate(e["at"]) if n})
    by_name = collections.defaultdict(list)
    for s in slices:
        by_name[s.name].append(s)
    same("names of slices", sorted(by_name), sorted(k["name"] for k in d["kinds"]))
    boxes = sum(check_kind(d, k, by_name[k["name"]], first) for k in d["kinds"])
    gaps = sorted((b["time"] - a["time"] for a, b in zip(events, events[1:])), reverse=True)
    same("pauses", gaps[:10], [p[1] for p in d["pauses"]])
    print(len(events), len(by_name), boxes)


main()
