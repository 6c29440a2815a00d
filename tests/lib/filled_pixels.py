# SPDX-License-Identifier: GPL-2.0-or-later
"""Which pixels of a time line's row must be filled, and which are: for all tests that look at them.

FILLED is a function of the page: (row, [[begin, end]…]) to [columns that must be filled, how many
of them are not]. It draws the row without its slices, then with them: a column must differ if a
slice begins in it, or covers all of it.
"""

FILLED = """((r, spans) => {
  const c = $('c'), g = c.getContext('2d', { willReadFrequently: true }), w = c.width, k = scale(),
    y = Math.round(r.y - view.y) + 3, want = new Uint8Array(w + 1), items = r.items;
  let columns = 0, blank = 0;
  for (const [begin, end] of spans) {
    const a = LEFT + (begin - view.from) * k, b = LEFT + (end - view.from) * k;
    if (a >= LEFT && a < w) want[Math.floor(a)] = 1;
    for (let x = Math.max(LEFT, Math.ceil(a)); x + 1 <= Math.min(w, b - (b - a > 3 ? 1 : 0)); x++)
      want[x] = 1;
  }
  /* Arrows cover slices. */
  const arrows = data.arrows;
  data.arrows = { from: [], by: [], to: [], track: [] };
  r.items = new Uint32Array(0); draw();
  const empty = g.getImageData(0, y, w, 1).data;
  r.items = items; draw();
  const full = g.getImageData(0, y, w, 1).data;
  data.arrows = arrows;
  for (let x = LEFT; x < w; x++) {
    columns += want[x];
    blank += want[x] && [0, 1, 2, 3].every(c => empty[4 * x + c] === full[4 * x + c]);
  }
  return [columns, blank];
})"""
