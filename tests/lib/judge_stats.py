# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_stats.py TEXT STATS [top]: whether `stats`, or `top`, has the numbers of an independent
count.

TEXT is what `babeltrace2 --clock-seconds` prints of the same events. Prints the number of events,
of processes and of pairs that were compared.
"""
import collections
import re
import shlex
import sys

import slice_oracle

LINE = re.compile(r"\[(\d+)\.(\d{9})\] \(\+[^)]*\) (?:\S+ )?(\S+): \{ cpu_id = (\d+) \}, (.*)")
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|[^ ,]+)')


OUTSIDE = ("kernel", "-", "-", "*")


class Event:
    def __init__(self, line):
        m = LINE.fullmatch(line)
        assert m, line
        self.ts = int(m[1]) * 10**9 + int(m[2])
        self.name, self.cpu = m[3], int(m[4])
        contexts = m[5].split(" }, { ")[0] if " }, { " in m[5] else ""
        self.fields = dict(FIELD.findall(m[5].split(" }, { ")[-1]))
        self.kernel = ":" not in self.name
        c = dict(FIELD.findall(contexts))
        pid, tid = ("pid", "tid") if self.kernel else ("vpid", "vtid")
        self.tid = c.get(tid)
        self.pid = c.get(pid)
        self.process = ("kernel" if self.kernel else "user", c.get(pid, "-"),
                        "-" if pid in c else c.get(tid, "-"),
                        c["procname"][1:-1] if "procname" in c else "-")
        if self.process[1] == "-1":     # outside the daemon's PID namespace: all are one
            self.process = OUTSIDE
        self.known = pid in c or tid in c or "procname" in c


def number(text):
    try:
        return int(text, 0)
    except (TypeError, ValueError):
        return text


def wakeup_of(e):
    """(begins, thread) of an event that wakes up a thread or switches to one, or None."""
    if e.kernel and e.name in ("sched_wakeup", "sched_wakeup_new"):
        return True, e.fields["tid"]
    if e.kernel and e.name == "sched_switch":
        return False, e.fields["next_tid"]
    return None


class Pair:
    def __init__(self):
        self.begun = self.ended = 0
        self.times, self.by_process = [], collections.defaultdict(list)
        self.of_threads = False


def count_pairs(events):
    pairs, slices, woken = collections.defaultdict(Pair), slice_oracle.Slices(), {}
    for e in events:
        domain = "kernel" if e.kernel else "user"
        one = slice_oracle.Event(e.name, e.ts, e.cpu, number(e.tid), number(e.pid),
                                 {k: number(v) for k, v in e.fields.items()})
        found = slices.take(one)
        wakeup = wakeup_of(e)
        if wakeup:
            begins, thread = wakeup
            p = pairs[domain, "fields", "sched_wakeup"]
            p.begun += begins
            p.ended += not begins
            if begins:
                woken[thread] = e.ts
            elif thread in woken:
                p.times.append(e.ts - woken.pop(thread))
        if not one.side or (one.call and one.pair in slice_oracle.NO_RETURN):
            continue
        by = ("fields" if one.request else "cpu" if one.track >= slice_oracle.INTERRUPTS else
              "thread" if e.tid else "-" if one.call else "cpu")
        p = pairs[domain, by, one.title]
        p.begun += one.begins
        p.ended += not one.begins
        p.of_threads |= one.track < slice_oracle.CPUS
        if found and not one.begins:
            ns = e.ts - found.begin
            p.times.append(ns)
            if by == "thread" and e.known:
                p.by_process[e.process].append(ns)
    return {(domain, "thread" if p.of_threads and by != "fields" else by, name): p
            for (domain, by, name), p in pairs.items() if p.begun and p.ended}


def us(ns):
    return "%d.%03d" % (ns // 1000, ns % 1000)


def named(events, *who):
    """A process of the table; the name of those outside is that of any of them."""
    return OUTSIDE if who[:3] == OUTSIDE[:3] and any(e.process == OUTSIDE for e in events) else who


def agree(what, expected, got):
    if expected != got:
        for k in sorted(set(expected) | set(got), key=str):
            if expected.get(k) != got.get(k):
                print(what, k, "expected", expected.get(k), "got", got.get(k))
        sys.exit(1)


def check_pairs(events, rows):
    expected, got, percentiles = {}, {}, {}
    for r in rows["pair"]:
        got[r[0], r[1], r[10]] = r[2:7] + r[9:10]
        percentiles[r[0], r[1], r[10]] = r[7:9]
    pairs = count_pairs(events)
    for k, p in pairs.items():
        t = sorted(p.times)
        n, total = len(t), sum(t)
        head = [str(n), str(p.begun - n), str(p.ended - n)] if k[1] != "-" else ["-"] * 3
        expected[k] = head + ([us(total), us((total + n // 2) // n), us(t[-1])] if n else ["-"] * 3)
        for q, text in zip((50, 99), percentiles.get(k, ())):
            exact = t[(n * q + 99) // 100 - 1] if n else 0
            ns = int(text.replace(".", "")) if n else 0
            assert exact <= ns <= exact * 33 / 32 + 1, (k, q, exact, text)
    agree("pair", expected, got)
    agree("pair and process",
          {(k[0], k[2]) + who[1:]: [str(len(t)), us(sum(t)), us((sum(t) + len(t) // 2) // len(t)), us(max(t))]
           for k, p in pairs.items() for who, t in p.by_process.items()},
          {(r[0], r[8]) + named(events, r[0], r[5], r[6], r[7])[1:]: r[1:5] for r in rows["pair_process"]})
    return len(pairs)


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as f:
        events = [Event(line.rstrip("\n")) for line in f]
    rows = collections.defaultdict(list)
    with open(sys.argv[2], encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                words = shlex.split(line)
                if words[0] in ("event", "process", "pair"):    # before the name: a bar
                    assert re.fullmatch("[▏▎▍▌▋▊▉█·]{12}", words.pop(-2)), line
                rows[words[0]].append(words[1:])
    top = len(sys.argv) > 3
    end = max(e.ts for e in events)
    if top:
        events = [e for e in events if e.ts > end - 10**9]
    span = 10**9 if top else end - events[0].ts
    seconds = "%d.%09d" % (span // 10**9, span % 10**9)
    agree("span", {"seconds": seconds, "end": "%d.%09d" % (end // 10**9, end % 10**9)},
          {"seconds": rows["span"][0][0], "end": rows["span"][0][2]})

    def rate(n):
        return "%.1f" % (n * 1e9 / span) if span else "-"
    agree("events", {"all": [str(len(events)), rate(len(events))]}, {"all": rows["events"][0]})
    names = collections.Counter(("kernel" if e.kernel else "user", e.name) for e in events)
    agree("event", {k: [str(n), rate(n)] for k, n in names.items()},
          {(r[0], r[3]): r[1:3] for r in rows["event"]})
    processes = collections.Counter(e.process for e in events if e.known)
    agree("process", {k: [str(n), rate(n)] for k, n in processes.items()},
          {named(events, r[0], r[3], r[4], r[5]): r[1:3] for r in rows["process"]})
    print(len(events), len(processes), 0 if top else check_pairs(events, rows))


main()
