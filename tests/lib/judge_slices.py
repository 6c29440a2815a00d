# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_slices.py JSON CHROME PERFETTO PAGE FLAME STATS FOLDED [times|tracked]: whether the first three have
the slices, instants, counters, switches and names that follow from the lines of JSON, and STATS their
numbers by name. With `times`, FLAME has the times of all paths; else it is XML.

slice_oracle.py finds the slices in `export/json`. tracked: inclusion sets
leave threads of the kernel out. Prints the first difference and exits with 1;
else prints the numbers of slices, instants, counters and switches.
"""
import json
import re
import shlex
import struct
import sys
import xml.etree.ElementTree as xml

from run_oracle import Runs
from slice_oracle import (CPUS, Slices, fold, forgotten_begins, lost_requests, outages_of, read_event,
                          since_of, totals)

LOSSES = CPUS + (3 << 20)


class Found:
    """What a trace shows; times are ns since the epoch."""

    def __init__(self):
        self.slices, self.instants, self.counters, self.switches = [], [], [], []
        self.flows, self.runs = [], []
        self.threads, self.processes = {}, {}
        self.forms = {}         # by event and field, how the page shows its values
        self.values = []        # of the fields of each event, in the order of the file

    def compare(self, other, what):
        for part in ("slices", "instants", "counters", "switches", "flows", "runs"):
            mine, theirs = sorted(getattr(self, part)), sorted(getattr(other, part))
            for a, b in zip(mine, theirs):
                if a != b:
                    sys.exit("%s, %s:\n%r\n%r" % (what, part, a, b))
            if len(mine) != len(theirs):
                sys.exit("%s: %d %s of %d" % (what, len(theirs), part, len(mine)))
        for part in ("threads", "processes"):
            for key, name in getattr(self, part).items():
                # (Without a name in its own events: a thread outside the daemon's PID namespace.)
                if name and getattr(other, part).get(key) != name:
                    sys.exit("%s, %s: %r is %r, not %r" %
                             (what, part, key, getattr(other, part).get(key), name))


class Stacks:
    """Slices of a form, from begins and ends in order."""

    def __init__(self, found):
        self.found, self.open = found, {}

    def begin(self, track, time, name):
        self.open.setdefault(track, []).append((time, name))

    def end(self, track, time, ended=True):
        begin, name = self.open[track].pop()
        self.found.slices.append((track, begin, time, name, ended))

    def finish(self):
        for track, stack in self.open.items():
            self.found.slices += [(track, begin, -1, name, False) for begin, name in stack]


def counters_of(event, known):
    """The counters of an event and their values."""
    name, fields = event["event"], event["fields"]
    numbers = {k: v for k, v in fields.items() if isinstance(v, (int, float))}
    if name == "power_cpu_frequency":
        return [("CPU %d frequency, kHz" % fields["cpu_id"], fields["state"])]
    if name == "kmem_rss_stat":
        member = fields["member"]
        member = member["value"] if isinstance(member, dict) else member
        if fields["curr"]:
            known.add((fields["mm_id"], member))
        elif (fields["mm_id"], member) not in known:
            return []
        kind = ["file", "anon", "swap", "shmem"][member] if 0 <= member < 4 else "other"
        return [("memory %s, bytes" % kind, fields["size"])]
    if re.search(".[_:]counter$", name):
        return [(name + "." + k, v) for k, v in numbers.items()]
    return [(name, numbers["value"])] if list(fields) == ["value"] and numbers else []


def add_event(f, event, slices, state):
    """Returns a slice that may be dropped, with what then shows the event; or None."""
    fields, context, time = event["fields"], event.get("context", {}), event["time"]
    name, cpu = event["event"], event["cpu"]
    e = read_event(event)
    found = slices.take(e)
    tid = CPUS + cpu if name == "power_cpu_frequency" else e.track
    # (a thread whose events are all on tracks of hardware has no track)
    if tid < CPUS and "procname" in context:
        f.threads[tid] = context["procname"] or f.threads.get(tid, "")
        if e.pid == tid:
            f.processes[tid] = context["procname"]
    if found:
        return (found, tid, time, name) if e.begins else None
    counters = counters_of(event, state["known"])
    f.counters += [(time, counter, value) for counter, value in counters]
    if not counters:
        f.instants.append((tid, time, name))
    if name in ("sched_waking", "sched_wakeup", "sched_wakeup_new") and fields["tid"] > 0:
        state["woken"].setdefault(fields["tid"], time)
    return None


def rename(f, tid, name):
    """A switch says the names of two threads, which may have changed since their last event."""
    for names in f.threads, f.processes:
        if tid in names:
            names[tid] = name


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def expected(path, tracked):
    events = lines_of(path)
    f, begun = Found(), []
    since = since_of(events)
    lost = lost_requests(events, since, tracked)
    state, slices = {"known": set(), "woken": {}}, Slices(
        since, lost, forgotten_begins(events, since, lost), outages_of(events))
    for event in events:
        if "event" not in event:    # a loss
            continue
        if event["event"] != "sched_switch":
            begun.append(add_event(f, event, slices, state))
            continue
        for side in "prev", "next":
            rename(f, event["fields"][side + "_tid"], event["fields"][side + "_comm"])
        tid = event["fields"]["next_tid"]
        slices.take(read_event(event))
        f.switches.append((event["cpu"], event["time"], tid, event["fields"]["next_comm"]))
        if tid in state["woken"]:
            f.flows.append((state["woken"].pop(tid), event["time"]))
    old = sum(time < since for time, dev, sector in lost)
    f.dropped, f.tracked = slices.finish() + old, len(lost) - old
    f.instants += [b[1:] for b in begun if b and b[0].dropped]
    f.slices = [(s.track, s.begin, s.end, s.name, s.ended) for s in slices.all if not s.dropped]
    f.runs = Runs(events, tracked).known()
    f.paths = fold(slices.all)
    f.totals = totals(slices.all, lambda s: s.event.title)
    return f


def chrome(path, want):
    f = Found()
    stacks, cpus, flows = Stacks(f), {}, {}
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    start = int(trace["otherData"]["start"])
    for e in trace["traceEvents"]:
        time, tid = start + round(e["ts"] * 1000), e["tid"]
        if e["ph"] in "BEi":
            f.values.append((time, e.get("args", {})))
        if e["ph"] == "M":
            names = f.threads if e["name"] == "thread_name" else f.processes
            if e["name"] != "process_labels":
                names[tid if names is f.threads else e["pid"]] = e["args"]["name"]
        elif e["ph"] in "Bi" and e["pid"] == CPUS and "next_tid" in e.get("args", {}):
            thread = e["args"]["next_tid"], e["args"]["next_comm"]
            f.switches.append((tid - CPUS, time, *thread))
            assert tid not in cpus and e["name"] == (thread[1] if e["ph"] == "B" else "sched_switch"), e
            if e["ph"] == "B":
                cpus[tid] = time, thread[0]
        elif e["ph"] == "E" and tid in cpus:
            f.runs.append((tid - CPUS, cpus[tid][0], time, cpus.pop(tid)[1]))
        elif e["ph"] == "B":
            stacks.begin(tid, time, e["name"])
        elif e["ph"] == "E":
            stacks.end(tid, time, "no end" not in e.get("args", {}))
        elif e["ph"] == "s":
            assert tid - CPUS < 65536 and e["id"] not in flows, e
            flows[e["id"]] = time
        elif e["ph"] == "f":
            assert (tid, time) == (last["tid"], start + round(last["ts"] * 1000)), e
            f.flows.append((flows.pop(e["id"]), time))
        elif e["ph"] == "X":
            assert tid >= LOSSES, e
        elif e["ph"] == "C":
            (_, value), = e["args"].items()
            f.counters.append((time, e["name"], value))
        else:
            assert e["ph"] == "i" and e["s"] == "t", e
            f.instants.append((tid, time, e["name"]))
        last = e
    stacks.finish()
    f.runs += [(tid - CPUS, begin, -1, thread) for tid, (begin, thread) in cpus.items()]
    # A CPU that becomes idle ends its slice.
    idle = [s for s in want.switches if s[2] == 0]
    f.switches += idle
    return f


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def message(data):
    """{number: [values]}; integers, bytes, or doubles."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            # Numbers of flows are no doubles.
            kind = "<Q" if key >> 3 in (47, 48) else "<d"
            value, at = struct.unpack(kind, data[at:at + 8])[0], at + 8
        else:
            assert key & 7 == 2, key
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n
        fields.setdefault(key >> 3, []).append(value)
    return fields


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def describe(f, d, tracks):
    uuid = d[1][0]
    assert uuid not in tracks or 8 not in d
    if 3 in d:
        p = message(d[3][0])
        if 6 in p:
            f.processes[p[1][0]] = p[6][0].decode()
    elif 4 in d:
        t = message(d[4][0])
        assert d[5][0] in tracks, "a thread before its process"
        tracks[uuid] = t[2][0]
        if 5 in t:
            f.threads[t[2][0]] = t[5][0].decode()
        return
    tracks[uuid] = d[2][0].decode() if 8 in d else None


class Interned:
    """The names of a sequence: {(field of InternedData, number): name}."""

    def __init__(self):
        self.names = {}

    def add(self, data):
        for field, entries in message(data).items():
            for entry in map(message, entries):
                key = field, entry[1][0]
                assert key not in self.names, "a number that is used again: %r" % (key,)
                self.names[key] = entry[2][0].decode()

    def title(self, e):
        return self.names[2, e[10][0]]


def annotations(e, interned):
    values = {}
    for note in e.get(4, []):
        note = message(note)
        name = interned.names[3, note.pop(1)[0]] if 1 in note else note.pop(10)[0].decode()
        (kind, value), = note.items()
        value = value[0]
        values[name] = {2: lambda: bool(value), 7: lambda: hex(value), 3: lambda: value, 4: lambda: signed(value), 5: lambda: value,
                        6: lambda: value.decode(), 9: lambda: json.loads(value)}[kind]()
    return values


def clocks_of(first):
    """{id: time} of the first packet; times of packets are of CLOCK_REALTIME."""
    clocks = {c[1][0]: c[2][0] for c in map(message, message(first[6][0])[1])}
    assert first[13] == [1] and message(first[59][0])[58] == [1] and {1, 6} <= set(clocks), first
    return clocks


def order(d, seen):
    """What orders the tracks: the root says that ranks do, and each process and thread has one."""
    if d[1] == [0]:
        assert d[19] == d[20] == [1], d
        return True
    if 3 in d or 4 in d:
        assert seen and 12 in d, d
    return seen


class Switches:
    """Switches of CPUs in Perfetto's form, as Perfetto reads them.

    Where it is not known how long a thread runs, a switch to the idle thread follows at once, and
    one from it is before the next switch: these two are not among the events.
    """
    UNKNOWN = 1 << 30

    def __init__(self, found):
        self.found, self.on, self.gap = found, {}, {}

    def switch(self, cpu, time, s):
        prev, state, tid, name = s[2][0], s[4][0], s[6][0], s[5][0].decode()
        if self.gap.get(cpu) == "idle":
            assert prev == 0, s
            self.gap[cpu] = (time, tid)
            return
        if cpu in self.gap:
            assert self.gap.pop(cpu) == (time, prev), s
        run = self.on.pop(cpu, None)
        assert run is None or run[1] == prev, (run, s)
        if state == self.UNKNOWN and tid == 0 and run and run[0] == time:
            self.gap[cpu] = "idle"
            return
        if run:
            self.found.runs.append((cpu, run[0], time, prev))
        self.found.switches.append((cpu, time, tid, name))
        if tid:
            self.on[cpu] = time, tid

    def finish(self):
        self.found.runs += [(cpu, begin, -1, tid) for cpu, (begin, tid) in self.on.items()]


def perfetto(path, notes):
    f, tracks, flows, interned, ordered = Found(), {}, {}, Interned(), False
    stacks, runs = Stacks(f), Switches(f)
    with open(path, "rb") as file:
        trace = message(file.read())
    assert list(trace) == [1], list(trace)
    packets = [message(packet) for packet in trace[1]]
    clocks = clocks_of(packets.pop(0))
    for p in packets:
        sequence = p[10][0]
        assert p[13] == [1 if 42 in p else 2] and (42 not in p or sequence == 2), p
        if 12 in p:
            interned.add(p[12][0])
        elif 60 in p:
            d = message(p[60][0])
            ordered = order(d, ordered)
            describe(f, d, tracks)
        elif 1 in p:
            bundle = message(p[1][0])
            e = message(bundle[2][0])
            s = message(e[4][0])
            runs.switch(bundle[1][0], e[1][0] - clocks[6] + clocks[1], s)
        else:
            e, time = message(p[11][0]), p[8][0]
            track, kind = tracks[e[11][0]], e[9][0]
            if kind == 4:
                f.counters.append((time, track, signed(e[30][0]) if 30 in e else e[44][0]))
                continue
            if sequence == 2:
                assert track >= LOSSES and p[58] == [1] and kind in (1, 2), e
                continue
            assert 23 not in e and 22 not in e and 58 not in p, e
            noted = annotations(e, interned)
            f.values.append((time, noted))
            notes.setdefault((time, track), []).append(noted)
            if kind == 1:
                stacks.begin(track, time, interned.title(e))
            elif kind == 2:
                stacks.end(track, time, "no end" not in noted)
            elif 48 in e:
                assert kind == 3 and interned.title(e) == "woken", e
                assert f.switches[-1][1:3] == (time, track), e
                f.flows.append((flows.pop(e[48][0]), time))
            else:
                assert kind == 3
                for flow in e.get(47, []):
                    assert flow not in flows, e
                    flows[flow] = time
                f.instants.append((track, time, interned.title(e)))
            if 3 in e:
                assert interned.title(e).startswith(interned.names[1, e[3][0]] + ":"), e
    stacks.finish()
    runs.finish()
    return f


def page(path):
    """The lines of events in the page (page.c has their columns)."""
    f, time, start, tracks, classes, counters = Found(), 0, 0, {}, {}, {}
    stacks, cpus = Stacks(f), {}
    with open(path, encoding="utf-8") as file:
        blocks = re.findall('<script type="text/plain">\n(.*?)</script><script>take\\(\\)</script>\n',
                            file.read(), re.S)
    for line in "".join(blocks).split("\n")[:-1]:
        assert "<" not in line, line
        head, *cells = line.split("\t")
        if head in ("l", "y"):
            continue
        if head == "p":
            f.processes[int(cells[0])] = json.loads('"%s"' % cells[1])
            continue
        if head == "t":
            tid, pid, name = int(cells[1]), int(cells[2]), json.loads('"%s"' % cells[3])
            f.threads[tid] = name
            tracks.setdefault(cells[0], {"tid": tid, "contexts": None})
            continue
        if head == "d":
            names = [json.loads('"%s"' % name) for name in cells[1:3] + cells[5:]]
            classes[cells[0]] = (names[0], names[1], int(cells[3]), names[2:])
            forms = cells[4].split()
            assert len(forms) == len(cells) - 5, line
            f.forms[names[0]] = dict(zip(names[2:], forms))
            continue
        if head == "n":
            counters[cells[0]] = json.loads('"%s"' % cells[2])
            continue
        if head[0] == "v":
            number, value = head[1:].split(" ", 1)
            f.counters.append((time, counters[number], json.loads(value)))
            continue
        if head == "z":
            start, f.dropped, f.tracked = int(cells[0]), int(cells[1]), int(cells[3])
            continue
        kind, (*number, since, track) = head[0], head[1:].split(" ")
        time, track = time + int(since), tracks[track]
        tid = track["tid"]
        if kind == "x":
            stacks.end(tid, time, False)
            continue
        event, name, contexts, names = classes[number[0]]
        values = [json.loads(cell) if cell else None for cell in cells]
        if kind.isupper():
            track["contexts"] = dict(zip(names[:contexts], values[:contexts]))
            values = values[contexts:]
        fields = dict(zip(names[contexts:], values))
        assert len(values) == len(names) - contexts, line
        if contexts:
            have = track["contexts"]
            assert list(have) == names[:contexts] and have.get("vtid", tid) == tid, (line, have)
        f.values.append((time, fields))
        kind = kind.lower()
        if kind == "b":
            stacks.begin(tid, time, name)
        elif kind == "e":
            stacks.end(tid, time)
        elif kind in "sw":
            f.switches.append((tid - CPUS, time, fields["next_tid"], fields["next_comm"]))
            if tid in cpus:
                f.runs.append((tid - CPUS, cpus[tid][0], time, cpus.pop(tid)[1]))
            if kind == "s" and fields["next_tid"]:
                cpus[tid] = time, fields["next_tid"]
        elif kind == "i":
            f.instants.append((tid, time, event))
        else:
            assert kind == "c", line
        if event == "work:note":
            assert list(fields) == ["text", "ratio", "big"] and fields["big"] == (1 << 64) - 1, line
    stacks.finish()
    f.values = [(t + start, fields) for t, fields in f.values]
    f.slices = [(t, b + start, e + start if e >= 0 else -1, n, ended)
                for t, b, e, n, ended in f.slices]
    f.instants = [(t, time + start, n) for t, time, n in f.instants]
    f.counters = [(time + start, n, v) for time, n, v in f.counters]
    f.switches = [(cpu, time + start, t, n) for cpu, time, t, n in f.switches]
    f.runs = [(cpu, begin + start, end + start, tid) for cpu, begin, end, tid in f.runs] + \
        [(tid - CPUS, begin + start, -1, thread) for tid, (begin, thread) in cpus.items()]
    return f


def duration(ns):
    return ("%.3f s" % (ns / 1e9) if ns >= 10**9 else
            "%.3f ms" % (ns / 1e6) if ns >= 10**6 else "%.3f us" % (ns / 1e3))


def flame(path, want):
    """Compares the frames, except those that are too narrow to be shown."""
    whole = want.paths[()][1]
    frames = []
    for keys, (total, inner, count) in want.paths.items():
        if keys and 1200 * total / whole >= 0.012:
            outer = want.paths[keys[:-1]][0] or whole
            frames.append([keys[-1], "total %s, %.2f %%, %.2f %% of its parent" %
                           (duration(total), 100 * total / whole, 100 * total / outer),
                           "self " + duration(total - inner if count else 0)] +
                          (["%d times, mean %s" % (count, duration(total // count))] if count
                           else []))
    groups = xml.parse(path).iter("{http://www.w3.org/2000/svg}g")
    shown = [g[0].text.split("\n") for g in groups if g.get("class") == "f"]
    # `all` and the name of the threads are the widest.
    assert [f[0] for f in shown[:2]] == ["all", "slices"], shown[:2]
    assert shown[0][1] == shown[1][1], shown[:2]
    if sorted(frames) != sorted(shown[2:]):
        sys.exit("flame:\n%r\n%r" % (sorted(frames), sorted(shown[2:])))


def compare_stats(path, want):
    """The counts, totals and maxima of stats, by name."""
    have = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word = shlex.split(line) if line.startswith("pair ") else ()
            if word and word[3] not in ("0", "-") and word[-1] != "sched_wakeup":
                old = have.get(word[-1], (0, 0, 0))
                ns = [int(w.replace(".", "")) for w in (word[6], word[10])]
                have[word[-1]] = old[0] + int(word[3]), old[1] + ns[0], max(old[2], ns[1])
    if have != want.totals:
        sys.exit("stats:\n%r\n%r" % (sorted(want.totals.items()), sorted(have.items())))


def compare_folded(path, want):
    """The self times of all paths, without the names of the threads."""
    have = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, count = line.rsplit(" ", 1)
            stack = tuple(stack.split(";")[1:])
            have[stack] = have.get(stack, 0) + int(count)
    self = {tuple(name.replace(";", ":") for name in path): total - inner
            for path, (total, inner, n) in want.paths.items() if n and total > inner}
    if have != self:
        sys.exit("folded:\n%r\n%r" % (sorted(self.items()), sorted(have.items())))


def main():
    want, notes = expected(sys.argv[1], sys.argv[8:] == ["tracked"]), {}
    want.compare(chrome(sys.argv[2], want), "chrome")
    want.compare(perfetto(sys.argv[3], notes), "perfetto")
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event.get("event") == "work:note":
                have = notes[(event["time"], event["context"]["vtid"])]
                if not any(event["fields"].items() <= note.items() for note in have):
                    sys.exit("annotations:\n%r\n%r" % (event, have))
    shown = page(sys.argv[4])
    shown.flows = want.flows        # the page has the events alone
    if (shown.dropped, shown.tracked) != (want.dropped, want.tracked):
        sys.exit("page: begins dropped: %r %r" % ((shown.dropped, shown.tracked),
                                                  (want.dropped, want.tracked)))
    want.compare(shown, "page")
    compare_stats(sys.argv[6], want)
    compare_folded(sys.argv[7], want)
    if sys.argv[8:] == ["times"]:
        flame(sys.argv[5], want)
    else:
        xml.parse(sys.argv[5])
    print(len(want.slices), len(want.instants), len(want.counters), len(want.switches),
          len(want.flows))


if __name__ == "__main__":
    main()
