# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_runs.py TRUTH DIRECTORY: whether threads run in pictures when they ran.

TRUTH: `export/json` of a session that recorded each switch of all CPUs. DIRECTORY has `json` and
`chrome.json` of another one that recorded less in the meantime, and maybe `page.json`, the runs and
the states of threads that a browser has in timeline.html. A switch has a time of its own in each of
the two, but no other switch of its CPU is between these two times: that finds it in the other one.

Prints the first mistake and exits with 1, else how many runs were judged, and how many switches
have none because it is not known how long their threads run.
"""
import bisect
import collections
import json
import os
import sys

CPUS = 1 << 22


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def switches_of(events):
    """{cpu: [(time, prev, next)]}"""
    found = collections.defaultdict(list)
    for e in events:
        if e.get("event") == "sched_switch":
            f = e["fields"]
            found[e["cpu"]].append((e["time"], f["prev_tid"], f["next_tid"]))
    return found


def find_true(true, switch):
    """The place of a switch among all of its CPU; None: before the first or after the last one."""
    at = bisect.bisect_right(true, switch[0], key=lambda s: s[0])
    for i in at - 1, at:
        if 0 <= i < len(true) and true[i][1:] == switch[1:]:
            return i
    if 0 < at < len(true):
        sys.exit("no such switch: %r between %r and %r" % (switch, true[at - 1], true[at]))
    return None


def check_overlaps(runs, last, cpus):
    """A CPU has one thread at a time, and a thread one CPU."""
    for what, key in ("CPU", 0), ("thread", 3):
        ends = {}
        for run in sorted(runs, key=lambda r: r[1]):
            if ends.get(run[key], 0) > run[1]:
                sys.exit("two runs at a time of %s %d: %r" % (what, run[key], run))
            ends[run[key]] = last if run[2] < 0 else run[2]
    steps = sorted([(begin, 1) for _, begin, _, _ in runs] +
                   [(last if end < 0 else end, -1) for _, _, end, _ in runs])
    now = 0
    for time, by in steps:
        now += by
        if now > cpus:
            sys.exit("%d threads run on %d CPUs at %d" % (now, cpus, time))


def judge(name, runs, recorded, true, last):
    """runs: (cpu, begin, end or -1, thread)."""
    check_overlaps(runs, last, len(true))
    shown, slack = collections.Counter(), collections.Counter()
    really = collections.Counter()
    for cpu in true:
        for (begin, _, tid), (end, _, _) in zip(true[cpu], true[cpu][1:]):
            really[tid] += end - begin
    for cpu, begin, end, tid in runs:
        mine = recorded[cpu]
        at = bisect.bisect_left(mine, begin, key=lambda s: s[0])
        if at == len(mine) or mine[at][0] != begin or mine[at][2] != tid:
            sys.exit("%s: a run without a switch: %r" % (name, (cpu, begin, end, tid)))
        here = find_true(true[cpu], mine[at])
        if here is None:
            continue
        if end < 0:
            if here + 1 < len(true[cpu]) and true[cpu][here + 1][0] < last:
                sys.exit("%s: runs up to the end: %r, but not after %r" %
                         (name, (cpu, begin, tid), true[cpu][here + 1]))
            continue
        if at + 1 == len(mine) or mine[at + 1][0] != end or mine[at + 1][1] != tid:
            sys.exit("%s: a run that no switch ends: %r" % (name, (cpu, begin, end, tid)))
        there = find_true(true[cpu], mine[at + 1])
        if there != here + 1:
            sys.exit("%s: %r runs from %r, but not up to %r" %
                     (name, tid, true[cpu][here], true[cpu][there]))
        shown[tid] += end - begin
        slack[tid] += abs(begin - true[cpu][here][0]) + abs(end - true[cpu][there][0])
    for tid, ns in shown.items():
        if ns > really[tid] + slack[tid]:
            sys.exit("%s: %d runs for %d ns of %d" % (name, tid, ns, really[tid]))


def runs_of_chrome(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    start, runs, on = int(trace["otherData"]["start"]), [], {}
    for e in trace["traceEvents"]:
        cpu, time = e["tid"] - CPUS, start + round(e["ts"] * 1000)
        if e["pid"] != CPUS or e["ph"] not in "BE" or not 0 <= cpu < 65536:
            continue
        if e["ph"] == "B":
            assert cpu not in on, e
            on[cpu] = time, e["args"]["next_tid"]
        else:
            begin, tid = on.pop(cpu)
            runs.append((cpu, begin, time, tid))
    return runs + [(cpu, begin, -1, tid) for cpu, (begin, tid) in on.items()]


def judge_states(states, runs):
    """A thread runs when a CPU runs it, and at no other time. states: [tid, [[time, state]…]]"""
    want = collections.defaultdict(list)
    for _, begin, end, tid in sorted(runs, key=lambda r: r[1]):
        want[tid].append((begin, end))
    have = {tid: [(a[0], b[0] if b else -1) for a, b in zip(s, s[1:] + [None]) if a[1] == 1]
            for tid, s in states}
    have = {tid: spans for tid, spans in have.items() if spans}
    # (Threads without a track have no states.)
    for tid, spans in have.items():
        if spans != want[tid]:
            sys.exit("states of %d: runs at %r, not at %r" % (tid, spans, want[tid]))
    return len(have)


def main():
    true, directory = lines_of(sys.argv[1]), sys.argv[2]
    events = lines_of(directory + "/json")
    if [e for e in true + events if "event" not in e]:
        print("events were lost")
        sys.exit(77)
    true, recorded = switches_of(true), switches_of(events)
    last = events[-1]["time"]
    runs = runs_of_chrome(directory + "/chrome.json")
    judge("chrome.json", runs, recorded, true, last)
    if os.path.exists(directory + "/page.json"):
        with open(directory + "/page.json", encoding="utf-8") as file:
            page = json.load(file)
        shown = [tuple(run) for run in page["runs"]]
        judge("timeline.html", shown, recorded, true, last)
        if sorted(shown) != sorted(runs):
            sys.exit("timeline.html and chrome.json: %r" % (set(shown) ^ set(runs)))
        if not judge_states(page["states"], runs):
            sys.exit("no thread runs in timeline.html")
    count = sum(bool(s[2]) for cpu in recorded.values() for s in cpu)
    print(len(runs), count - len(runs))


if __name__ == "__main__":
    main()
