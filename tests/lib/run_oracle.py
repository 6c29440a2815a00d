# SPDX-License-Identifier: GPL-2.0-or-later
"""How long threads run on CPUs, as far as lines of `export/json` say it: what pictures must show.

It shares nothing with the daemon but the rules of tracer/format/picture/cpu_runs.h.
"""
import re

CALL = re.compile("(compat_)?syscall_(entry|exit)_")
INTERRUPT = re.compile("(x86_)?irq_.*_(entry|exit)")
ENDED = 16 | 32         # states of threads that have ended


class Run:
    """A thread on a CPU; end -1: up to the last event; known False: its end is not known."""

    def __init__(self, cpu, begin, tid):
        self.cpu, self.begin, self.tid, self.end, self.known = cpu, begin, tid, -1, True


class Runs:
    """all: of each switch to a thread a run. tracked: inclusion sets leave threads out."""

    def __init__(self, lines, tracked):
        self.all, self.on, self.tracked, self.in_sets = [], {}, tracked, set()
        for e in lines:
            if "event" not in e:
                cpu = re.fullmatch(r"cpu(\d+)", e["stream"])
                if cpu and e["trace"].startswith("kernel"):
                    self.end(int(cpu[1]), e["to"], False)
            elif e["event"] == "sched_switch":
                self.switch(e)
            else:
                self.see(e)
        for run in self.all:
            run.known = run.known and not self.left_out(run.tid)

    def end(self, cpu, time, known):
        run = self.on.pop(cpu, None)
        if run:
            run.end, run.known = time, known

    def end_elsewhere(self, tid, cpu, time):
        for other in [c for c, run in self.on.items() if c != cpu and run.tid == tid]:
            self.end(other, time, False)

    def switch(self, e):
        cpu, time = e["cpu"], e["time"]
        prev, following = e["fields"]["prev_tid"], e["fields"]["next_tid"]
        for tid in prev, following:
            self.end_elsewhere(tid, cpu, time)
        if prev and not following:
            self.in_sets.add(prev)
        self.end(cpu, time, cpu in self.on and self.on[cpu].tid == prev)
        if following:
            self.on[cpu] = Run(cpu, time, following)
            self.all.append(self.on[cpu])

    def see(self, e):
        tid, call = e.get("context", {}).get("tid"), CALL.match(e["event"])
        if not tid or not (call or INTERRUPT.fullmatch(e["event"])):
            return
        self.in_sets.add(tid)
        if call:
            self.end_elsewhere(tid, e["cpu"], e["time"])
            if e["cpu"] in self.on and self.on[e["cpu"]].tid != tid:
                self.end(e["cpu"], e["time"], False)

    def left_out(self, tid):
        return self.tracked and tid not in self.in_sets

    def known(self):
        return [(r.cpu, r.begin, r.end, r.tid) for r in self.all if r.known]


def states_of(lines, tracked):
    """{thread: [[time, 0 unknown, 1 runs, 2 waits for a CPU, 3 sleeps]]}, from switches and wakeups."""
    runs, states = Runs(lines, tracked), {}
    known = {(r.cpu, r.begin) for r in runs.all if r.known}

    def turn(tid, is_, time):
        have = states.setdefault(tid, [])
        if not runs.left_out(tid) and (not have or have[-1][1] != is_):
            have.append([time, is_])

    def see_running(tid):
        if states.get(tid) and states[tid][-1][1] != 1:
            states[tid][-1][1] = 0

    for event in lines:
        name, f, time = event.get("event", ""), event.get("fields"), event.get("time")
        if name == "sched_switch":
            state = f["prev_state"]
            state = state["value"] if isinstance(state, dict) else state
            see_running(f["prev_tid"])
            turn(f["prev_tid"], 0 if state & ENDED else 3 if state & 255 else 2, time)
            turn(f["next_tid"], 1 if (event["cpu"], time) in known else 0, time)
        elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            if not states.get(f["tid"]) or states[f["tid"]][-1][1] != 1:
                turn(f["tid"], 2, time)
        elif CALL.match(name) and event.get("context", {}).get("tid"):
            see_running(event["context"]["tid"])
    return states
