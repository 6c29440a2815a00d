# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_runs.py DIRECTORY: the runs and states of threads that timeline.html there has and draws.

Writes `page.json` for judge_runs.py. A column of a CPU's row must be blank if no thread is known to
run on the CPU in its time, by the lines of `json`; of a session whose inclusion sets leave threads
out. Prints the first mistake and exits with 1, else how many columns are blank. Exit status 77: the
browser does not work here.
"""
import json
import sys

from browser import with_browser
from run_oracle import Runs

RUNS = """(() => {
  const start = data.start, at = t => String(start + BigInt(t)), runs = [], cpu = s =>
    data.all[data.row[s]].t.tid - CPUS;
  for (let s = 0; s < data.slices; s++) {
    const t = data.all[data.row[s]].t;
    if (t.pid !== CPUS || t.tid >= CPUS + 65536) continue;
    const k = data.classes[data.class[data.event[s]]].fields.indexOf("next_tid",
      data.classes[data.class[data.event[s]]].contexts);
    runs.push([t.tid - CPUS, at(data.begin[s]), data.ended[s] ? at(data.end[s]) : "-1",
      +json(data.event[s], k)]);
  }
  const states = data.tracks.filter(t => t && t.states).map(t => [t.tid,
    [...t.states.time].map((time, i) => [at(time), t.states.is[i]])]);
  return { runs, states };
})()"""

# The columns of the CPU's row that a slice fills. want: the times in which one may be filled.
BLANK = """((cpu, want) => {
  const r = data.all.find(r => r.t && r.t.tid === CPUS + cpu && !r.instants && !r.states);
  if (!r) return [0, 0];
  now = -1; chosen = null; picked = NONE;
  view.y = r.y - 60;
  const c = $('c'), g = c.getContext('2d', { willReadFrequently: true }), w = c.width,
    arrows = data.arrows, items = r.items, may = new Uint8Array(w + 1);
  data.arrows = { from: [], by: [], to: [], track: [] };
  draw();
  const y = Math.round(r.y - view.y) + 3, k = scale();
  for (const [begin, end] of want) {
    const a = LEFT + (begin - view.from) * k, b = LEFT + (end - view.from) * k;
    for (let x = Math.max(0, Math.floor(a) - 1); x <= Math.min(w, b + 1); x++) may[x] = 1;
  }
  r.items = new Uint32Array(0); draw();
  const empty = g.getImageData(0, y, w, 1).data;
  r.items = items; draw();
  const full = g.getImageData(0, y, w, 1).data;
  data.arrows = arrows;
  let blank = 0, filled = 0;
  for (let x = LEFT; x < w; x++) {
    if (may[x]) continue;
    if ([0, 1, 2, 3].every(c => empty[4 * x + c] === full[4 * x + c])) blank++; else filled++;
  }
  return [blank, filled];
})"""


def look(b, directory):
    with open(directory + "/json", encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    first, last = events[0]["time"], events[-1]["time"]
    b.open("file://%s/timeline.html" % directory)
    page = b.run(RUNS)
    for run in page["runs"]:
        run[1], run[2] = int(run[1]), int(run[2])
    for _, states in page["states"]:
        for state in states:
            state[0] = int(state[0])
    with open(directory + "/page.json", "w", encoding="utf-8") as out:
        json.dump(page, out)
    blank = 0
    for zoom in 1, 20, 400:
        b.run("show(data.last * 0.4, data.last * (0.4 + 0.6 / %d))" % zoom if zoom > 1 else
              "show(0, data.last)")
        b.frame()
        for cpu in {run.cpu for run in Runs(events, True).all}:
            want = [[r.begin - first, (last if r.end < 0 else r.end) - first]
                    for r in Runs(events, True).all if r.known and r.cpu == cpu]
            found = b.run("%s(%d, %s)" % (BLANK, cpu, json.dumps(want)))
            if found[1]:
                sys.exit("zoom %d, CPU %d: %d columns are filled in which no thread is known to run"
                         % (zoom, cpu, found[1]))
            blank += found[0]
    if b.errors():
        sys.exit("%s" % b.errors())
    print(blank)


with_browser(lambda b: look(b, sys.argv[1]))
