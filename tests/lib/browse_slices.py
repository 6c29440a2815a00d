# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_slices.py DIRECTORY...: what a browser draws of the slices of `timeline.html`.

Each directory has a `timeline.html` and the `json` of the same events; in one whose name begins
with `tracked`, inclusion sets left threads of the kernel out. The slices are found in
`json` by slice_oracle.py; Chromium draws the page at three zooms; each column that a slice fills
must differ from the same row without slices. What threads do must follow from the switches. Prints
the first mistake and exits with 1, else the numbers of columns and of switches for each directory. Exit status 77: the browser does not work here.
"""
import json
import sys

from browser import with_browser
from filled_pixels import FILLED
from run_oracle import states_of
from slice_oracle import fold, read_slices

# For each row of `want` ([track, depth, [begin, end]…]) the columns that must be filled, and how
# many are not.
ROWS_FILLED = """(want => {
  let columns = 0, blank = 0;
  now = -1; chosen = null; picked = NONE;
  for (const [tid, depth, slices] of want) {
    const r = data.all.filter(r => r.t && r.t.tid === tid && !r.instants && !r.states)[depth];
    if (!r) return 'no row ' + depth + ' of ' + tid;
    view.y = r.y - 60; draw();
    const found = %s(r, slices);
    columns += found[0]; blank += found[1];
  }
  return [columns, blank];
})""" % FILLED
ROWS = 60       # of a page that are looked at
# The flame graph of a span: all steps at once.
FLAME = "(steps => { for (;;) { const s = steps.next(); if (s.done) return s.value; } })(rangeFlame(%s))"


def is_tracked(directory):
    return directory.rsplit("/", 1)[-1].startswith("tracked")


def check_states(b, directory, first):
    """The states of all threads that have a track; returns how many changes they have."""
    have = b.run("data.tracks.filter(t => t && t.states).map(t => [t.tid, [...t.states.time],"
                 " t.states.is])")
    with open(directory + "/json", encoding="utf-8") as lines:
        want = states_of(list(map(json.loads, lines)), is_tracked(directory))
    for tid, times, kinds in have:
        mine = [[time - first for time, _ in want[tid]], [is_ for _, is_ in want[tid]]]
        if mine != [times, kinds]:
            sys.exit("%s: states of %d: %r, not %r" % (directory, tid, [times, kinds], mine))
    return sum(len(times) for _, times, _ in have)


def arrows_of(path):
    """(first wakeup of a thread, the switch to it after that)"""
    woken, arrows = {}, []
    with open(path, encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            f, name = event.get("fields"), event.get("event")
            if name == "sched_switch" and f["next_tid"] in woken:
                arrows.append((woken.pop(f["next_tid"]), event["time"]))
            elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new") and f["tid"] > 0:
                woken.setdefault(f["tid"], event["time"])
    return arrows


def check_flame(b, directory, slices, first, last):
    """The flame graph of all time, by slices' paths without threads, and of a part its total."""
    want = {path: total for path, (total, _, _) in fold(slices).items() if path and total}
    have = b.run("""(() => { const sums = {}, walk = (n, path) => { for (const k of n.kids.values()) {
      const p = path.concat(k.name); if (k.total) sums[JSON.stringify(p.slice(1))] =
        (sums[JSON.stringify(p.slice(1))] || 0) + k.total; walk(k, p); } };
      walk(%s, []); return sums; })()""" % FLAME % "[0, data.last]")
    have = {tuple(json.loads(path)): n for path, n in have.items() if path != "[]"}
    if want != have:
        sys.exit("%s: the flame graph of all time: %r" % (directory, set(want.items()) ^ set(have.items())))
    span = [(last - first) * 0.3, (last - first) * 0.6]
    inside = sum(max(0, min(span[1], s.end - first) - max(span[0], s.begin - first))
                 for s in slices if s.ended and not ended_around(s))
    total = b.run(FLAME % span + ".total")
    if abs(total - inside) > 1:
        sys.exit("%s: the flame graph of a part: %r of %r" % (directory, total, inside))


def ended_around(s):
    """Whether a slice around it has ended, and so has its time."""
    outer = s.outer()
    while outer and not outer.ended:
        outer = outer.outer()
    return bool(outer)


def look(b, directory):
    slices, first, last = read_slices(directory + "/json", is_tracked(directory))
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
    check_flame(b, directory, slices, first, last)
    arrows = b.run("data.arrows.to.map((t, i) => [data.arrows.from[i], t])")
    if sorted(arrows) != sorted([a - first, c - first] for a, c in arrows_of(directory + "/json")):
        sys.exit("%s: %d arrows" % (directory, len(arrows)))
    for zoom in (1, 23, 700):
        b.run("show(data.last * 0.4, data.last * (0.4 + 0.6 / %d))" % zoom if zoom > 1 else
              "show(0, data.last)")
        b.frame()
        found = b.run("%s(%s)" % (ROWS_FILLED, json.dumps(want)))
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
