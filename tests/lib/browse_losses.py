# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_losses.py URL COUNT: the page of a time line shows a loss that no event follows.

Its mark is LOST pixels wide, in the color of warnings, at any zoom that has the end; beside it is how
many events were lost, and the pointer over it says so. Exit status 77: the browser does not work here.
"""
import sys

from browser import with_browser

LOOK = """(() => {
  const texts = [], canvas = $('c'), g = canvas.getContext('2d'), r = data.rows.find(isLosses);
  g.fillText = (text, x, y) => { texts.push([text, x, y, g.measureText(text).width]); };
  draw();
  delete g.fillText;
  const y = r.y - view.y + r.h / 2, w = canvas.clientWidth;
  const row = g.getImageData(0, y, w, 1).data, want = rgbOf(style('--now'));
  let wide = 0;
  for (let x = 0; x < w; x++)
    wide += row[4 * x] === want[0] && row[4 * x + 1] === want[1] && row[4 * x + 2] === want[2];
  return { wide, said: describe(w - 2, y), zero: data.begin[r.items.at(-1)] === data.end[r.items.at(-1)],
    texts: texts.filter(t => t[1] >= LEFT && Math.abs(t[2] - y) < 2).map(t =>
      [t[0], t[1] >= LEFT && t[1] + t[3] <= w]) };
})()"""


def use(b):
    title = sys.argv[2] + " events lost"
    b.open(sys.argv[1])
    for width, dark in (1280, False), (1280, True), (390, False):
        b.shape(width, 720, dark)
        b.wait("size", "$('c').width === innerWidth")
        for part in 1, 0.5, 0.001:
            b.run("show(data.last - %g * data.last, data.last)" % part)
            b.frame()
            found = b.run(LOOK)
            if found["wide"] < 4 or [title, True] not in found["texts"] or title not in found["said"]:
                sys.exit("at %d, %g: %r" % (width, part, found))
    if not found["zero"]:
        print("the loss has a length")
    if b.errors():
        sys.exit("errors of the page: %r" % b.errors())


with_browser(use)
