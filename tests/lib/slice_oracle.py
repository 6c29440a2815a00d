# SPDX-License-Identifier: GPL-2.0-or-later
"""The slices that events make, found from lists of events alone: what the daemon must have found.

It shares nothing with the daemon but the rules of tracer/view/slice/slice.h.
"""
import json
import re

CPUS = 1 << 22
INTERRUPTS = CPUS + (1 << 20)
DISKS = CPUS + (2 << 20)
PAIR = re.compile(r"(?:(?P<compat>compat_)?syscall_(?P<call>entry|exit)_(?P<name>.+)|"
                  r"(?P<base>.+)[_:](?P<side>begin|end|entry|exit))", re.S)
NO_RETURN = ("exit", "exit_group", "rt_sigreturn", "sigreturn", "uretprobe")


class Event:
    """fields: a dict; tid and pid: None if they are not recorded."""

    def __init__(self, name, time, cpu, tid, pid, fields):
        self.name, self.time, self.cpu, self.tid, self.pid = name, time, cpu, tid, pid
        self.fields = fields
        m = PAIR.fullmatch(name)
        self.kernel = ":" not in name
        self.call = bool(m and m["call"] and self.kernel)
        self.side = m and (m["call"] or m["side"])
        self.begins = self.side in ("begin", "entry")
        self.pair = m and (m["name"] if self.call else m["base"])
        # What stats calls it
        self.title = (("compat_" if self.call and m["compat"] else "") +
                      ("syscall:" if self.call else "") + self.pair) if m else None
        self.request = name in ("block_rq_issue", "block_rq_complete")
        self.leaves = self.begins and (self.call or not self.kernel)
        if self.request:
            self.side, self.begins = "rq", name == "block_rq_issue"
            self.pair = self.title = "block_rq"
        self.function = name.startswith("lttng_ust_cyg_profile:") and "addr" in fields
        # What a begin and its end have in common besides the track
        self.key = (self.title, self.side in ("entry", "exit"),
                    (fields.get("dev"), fields.get("sector")) if self.request else
                    fields.get("addr") if name.startswith("lttng_ust_cyg_profile:") else None)


class Slice:
    def __init__(self, track, event, around):
        self.track, self.begin, self.event, self.around = track, event.time, event, around
        self.name, self.end, self.ended, self.dropped = event.pair, -1, False, False
        self.forgotten = self.followed = False
        self.inside = []

    def outer(self):
        """The slice around it that is shown."""
        s = self.around
        while s and s.dropped:
            s = s.around
        return s


class Slices:
    """Takes events in order. `all` has the slices; `since`: the first event of a cut ring.

    lost: (time, dev, sector) of requests that are dropped. forgotten: (time, track, key) of begins
    whose end does not come, although another slice of their pair began meanwhile. outages: of
    outages_of().
    """

    def __init__(self, since=0, lost=(), forgotten=(), outages=None):
        self.forgotten, self.outages, self.interrupted = forgotten, outages or {}, 0
        self.open, self.current, self.lanes, self.all, self.since = {}, {}, [], [], since
        self.lost = lost

    def thread(self, e):
        tid = e.tid if e.tid is not None and e.tid >= 0 else None
        if tid is None:
            tid = self.current.get(e.cpu) or (e.pid or 0)
        return tid if tid > 0 else 0

    def lane(self, e):
        dev, sector = e.fields["dev"], e.fields["sector"]
        same = [i for i, l in enumerate(self.lanes) if l == (dev, sector, True)]
        free = [i for i, l in enumerate(self.lanes) if l[0] == dev and not l[2]] if e.begins else []
        if not same and not free:
            if not e.begins:
                return None
            self.lanes.append(None)
            free = [len(self.lanes) - 1]
        i = (same or free)[0]
        self.lanes[i] = (dev, sector, e.begins)
        return DISKS + i

    def track(self, e):
        if e.side and e.kernel and not e.call and re.match("(x86_)?irq_", e.name):
            return INTERRUPTS + e.cpu
        lost = e.request and e.begins and (e.time, *e.key[2]) in self.lost
        track = self.lane(e) if e.request and not lost else None
        return track or self.thread(e) or CPUS + e.cpu

    def leave(self, stack, depth, time):
        """These have no end."""
        for s in stack[depth:]:
            s.end = time
        del stack[depth:]

    def leave_forgotten(self, stack, time):
        while stack and stack[-1].forgotten and stack[-1].followed:
            self.leave(stack, len(stack) - 1, time)

    def interrupts(self, s, e):
        """Losses between the slice's begin and the event: each may belong to a lost one."""
        for (kernel, cpu), times in self.outages.items():
            for side in (s.event, e):
                for begin, end in times if side.kernel == kernel else ():
                    if side.cpu == cpu and begin < e.time and s.begin < end or \
                            s.begin <= begin < e.time or s.begin < end <= e.time:
                        return True
        return False

    def take(self, e):
        """Returns the slice that begins, or ends, or None."""
        if e.name == "sched_switch":
            tid = e.fields.get("next_tid", e.fields.get("next_pid"))
            self.current[e.cpu] = tid if tid > 0 else 0
            return None
        track = e.track = self.track(e)
        stack = self.open.setdefault(track, [])
        self.leave_forgotten(stack, e.time)
        if e.leaves:
            calls = [i for i, s in enumerate(stack) if s.event.call]
            if calls:
                self.leave(stack, calls[-1], e.time)
        if not e.side or (e.call and (e.pair in NO_RETURN or track >= CPUS)) or \
                (e.request and track < DISKS):
            return None
        if e.begins:
            if e.request:
                self.leave(stack, 0, e.time)
            if not e.function:
                for s in stack:
                    s.followed = s.followed or s.event.key == e.key
                self.leave_forgotten(stack, e.time)
            s = Slice(track, e, stack[-1] if stack else None)
            s.forgotten = (e.time, track, e.key) in self.forgotten
            stack.append(s)
            self.all.append(s)
            return s
        found = [i for i, s in enumerate(stack) if s.event.key == e.key]
        if not found:
            return None
        if self.interrupts(stack[found[-1]], e):
            self.leave(stack, found[-1], e.time)
            self.interrupted += 1
            return None
        self.leave(stack, found[-1] + 1, e.time)
        s = stack.pop()
        s.end, s.ended = e.time, True
        return s

    def finish(self):
        """Drops the begins whose ends were overwritten. Returns how many (without self.lost)."""
        for s in self.all:
            s.dropped = not s.ended and s.begin < self.since
        for s in self.all:
            if not s.dropped and s.outer():
                s.outer().inside.append(s)
        return sum(s.dropped for s in self.all)


def spent(s):
    """What a slice adds to its frame of a flame graph."""
    return s.end - s.begin if s.ended else sum(spent(i) for i in s.inside)


def fold(slices, base=lambda s: ()):
    """{path: (total, inner, times)} of a flame graph; base: what the path of a slice begins with."""
    paths = {}

    def add(path, total, inner, times):
        old = paths.get(path, (0, 0, 0))
        paths[path] = (old[0] + total, old[1] + inner, old[2] + times)

    todo = [(s, base(s)) for s in slices if not s.dropped and not s.outer()]
    for s, path in todo:
        for n in range(len(path)):      # the thread, which has what is on it
            add(path[:n + 1], spent(s), spent(s), 0)
        add((), 0, spent(s), 0)
    while todo:
        s, path = todo.pop()
        path += (s.name,)
        add(path, spent(s), sum(spent(i) for i in s.inside), s.ended)
        todo += [(i, path) for i in s.inside]
    return paths


def totals(slices, name=lambda s: s.name):
    """{name: (count, total, max)} of the slices that have ended."""
    sums = {}
    for s in slices:
        if s.ended:
            n, total, most = sums.get(name(s), (0, 0, 0))
            sums[name(s)] = n + 1, total + s.end - s.begin, max(most, s.end - s.begin)
    return sums


def read_event(line):
    """A line of export/json, maybe with symbols, as an Event."""
    context = line.get("context", {})
    e = Event(line["event"], line["time"], line["cpu"], context.get("tid", context.get("vtid")),
              context.get("pid", context.get("vpid")), line["fields"])
    if e.side and line["event"].startswith("lttng_ust_cyg_profile:") and "symbols" in line:
        e.pair = e.title = line["symbols"]["addr"].split("+0x")[0]
    return e


def since_of(lines):
    """The first event of the youngest ring that was cut."""
    return max((e["to"] or 0 for e in lines if "event" not in e and
                e["kind"] in ("overwritten", "packets")), default=0)


def outages_of(lines):
    """{(kernel, cpu): times} of a stream of one channel: from its event before a loss to the next."""
    last, found, waiting = {}, {}, {}
    for e in lines:
        kernel = e["trace"].startswith("kernel") if "trace" in e else ":" not in e["event"]
        key = kernel, int(re.search(r"\d+$", e["stream"])[0]) if "stream" in e else e["cpu"]
        if "event" not in e:
            waiting[key] = last.get(key, 0)
            continue
        last[key] = e["time"]
        if key in waiting:
            found.setdefault(key, []).append((waiting.pop(key), e["time"]))
    for key, begin in waiting.items():
        found.setdefault(key, []).append((begin, float("inf")))
    return found


def lost_requests(lines, since, tracked=False):
    """The requests that are dropped: those without an end, if they are older than `since`, or if
    threads of the kernel are left out (tracked)."""
    begun, lost = {}, set()
    for e in lines:
        if e.get("event") not in ("block_rq_issue", "block_rq_complete"):
            continue
        key = e["fields"]["dev"], e["fields"]["sector"]
        before = begun.pop(key, None)
        if e["event"] == "block_rq_issue":
            lost.add(before)
            begun[key] = (e["time"], *key)
    return {r for r in lost | set(begun.values()) if r and (tracked or r[0] < since)}


def forgotten_begins(lines, since, lost):
    """(time, track, key) of the begins that are forgotten: found by a first run."""
    slices = Slices(since, lost, outages=outages_of(lines))
    for line in lines:
        if "event" in line:
            slices.take(read_event(line))
    slices.finish()
    return {(s.begin, s.track, s.event.key) for s in slices.all
            if s.followed and not s.ended and not s.dropped}


def read_slices(path, tracked=False):
    """The slices of a file of export/json that are shown, and the times of its first and last event."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    since = since_of(lines)
    lost = lost_requests(lines, since, tracked)
    slices = Slices(since, lost, forgotten_begins(lines, since, lost), outages_of(lines))
    lines = [line for line in lines if "event" in line]
    for line in lines:
        slices.take(read_event(line))
    slices.finish()
    return [s for s in slices.all if not s.dropped], lines[0]["time"], lines[-1]["time"]
