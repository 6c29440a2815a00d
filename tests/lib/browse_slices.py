# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_slices.py DIRECTORY...: what a browser draws of the slices of `timeline.html`.

Each directory has a `timeline.html` and the `json` of the same events. The slices are found in
`json` by slice_oracle.py; Chromium draws the page at three zooms; each column that a slice fills
must differ from the same row without slices. What threads do must follow from the switches. Prints
the first mistake and exits with 1, else the numbers of columns and of switches for each directory. Exit status 77: the browser does not work here.
"""
import json
import sys

from browser import with_browser
from slice_oracle import read_slices

# For each row of `want` ([track, depth, [begin, end]…]) the columns that should be filled, and how
# many are not. A row is drawn without its slices, then with them.
FILLED = """(want => {
  const c = $('c'), g = c.getContext('2d', { willReadFrequently: true }), w = c.width, bad = [];
  let columns = 0;
  now = -1; chosen = null; picked = NONE;
  for (const [tid, depth, slices] of want) {
    const r = data.all.filter(r => r.t && r.t.tid === tid && !r.instants && !r.states)[depth];
    if (!r) return 'no row ' + depth + ' of ' + tid;
    view.y = r.y - 60; draw();
    const k = scale(), y = Math.round(r.y - view.y) + 3, filled = new Uint8Array(w + 1);
    for (const [begin, end] of slices) {
      const a = LEFT + (begin - view.from) * k, b = LEFT + (end - view.from) * k;
      if (a >= LEFT && a < w) filled[Math.floor(a)] = 1;
      for (let x = Math.max(LEFT, Math.ceil(a)); x + 1 <= Math.min(w, b - (b - a > 3 ? 1 : 0)); x++)
        filled[x] = 1;
    }
    const items = r.items;
    r.items = new Uint32Array(0); draw();
    const empty = g.getImageData(0, y, w, 1).data;
    r.items = items; draw();
    const full = g.getImageData(0, y, w, 1).data;
    for (let x = LEFT; x < w; x++) {
      columns += filled[x];
      if (filled[x] && [0, 1, 2, 3].every(c => empty[4 * x + c] === full[4 * x + c])) bad.push(x);
    }
  }
  return [columns, bad.length];
})"""
ROWS = 60       # of a page that are looked at


def states_of(path):
    """{thread: [(time, 1 runs, 2 waits for a CPU, 3 sleeps)]}, from switches and wakeups."""
    states = {}

    def turn(tid, is_, time):
        have = states.setdefault(tid, [])
        if not have or have[-1][1] != is_:
            have.append((time, is_))

    with open(path, encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            f = event.get("fields")
            if event.get("event") == "sched_switch":
                state = f["prev_state"]
                state = state["value"] if isinstance(state, dict) else state
                turn(f["prev_tid"], 3 if state & 255 else 2, event["time"])
                turn(f["next_tid"], 1, event["time"])
            elif event.get("event") in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
                if not states.get(f["tid"]) or states[f["tid"]][-1][1] != 1:
                    turn(f["tid"], 2, event["time"])
    return states


def check_states(b, directory, first):
    """The states of all threads that have a track; returns how many changes they have."""
    have = b.run("data.tracks.filter(t => t && t.states).map(t => [t.tid, [...t.states.time],"
                 " t.states.is])")
    want = states_of(directory + "/json")
    for tid, times, kinds in have:
        mine = [[time - first for time, _ in want[tid]], [is_ for _, is_ in want[tid]]]
        if mine != [times, kinds]:
            sys.exit("%s: states of %d: %r, not %r" % (directory, tid, [times, kinds], mine))
    return sum(len(times) for _, times, _ in have)


def look(b, directory):
    slices, first, last = read_slices(directory + "/json")
    rows = {}
    for s in slices:
        depth, outer = 0, s.outer()
        while outer:
            depth, outer = depth + 1, outer.outer()
        end = last if s.end < 0 else s.end
        rows.setdefault((s.track, depth), []).append((s.begin - first, end - first))
    want = [[track, depth, times] for (track, depth), times in sorted(rows.items())][:ROWS]
    b.open("file://%s/timeline.html" % directory)
    count = b.run("document.body.dataset.slices - data.all.filter(r => r.t && r.t.tid >= LOSSES ||"
                  " r.t && r.t.pid === CPUS && r.t.tid < CPUS + 1048576).reduce((n, r) =>"
                  " n + (r.instants ? 0 : r.items.length), 0)")
    if count != len(slices):
        sys.exit("%s: %d slices, not %d" % (directory, count, len(slices)))
    changes, total = check_states(b, directory, first), 0
    for zoom in (1, 23, 700):
        b.run("show(data.last * 0.4, data.last * (0.4 + 0.6 / %d))" % zoom if zoom > 1 else
              "show(0, data.last)")
        b.frame()
        found = b.run("%s(%s)" % (FILLED, json.dumps(want)))
        if isinstance(found, str) or found[1]:
            sys.exit("%s, zoom %d: columns, blank ones: %s" % (directory, zoom, found))
        total += found[0]
    if b.errors():
        sys.exit("%s: %s" % (directory, b.errors()))
    return total, changes


def look_at_all(b):
    for directory in sys.argv[1:]:
        print(directory.rsplit("/", 1)[-1], *look(b, directory))


with_browser(look_at_all)
