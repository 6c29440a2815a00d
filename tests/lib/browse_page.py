# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_page.py URL EVENTS SLICES TRACKS, or URL CALLSTACK: uses the page of a time line.

Chromium opens URL: `export/timeline.html` of 100 rounds of slices.c; with CALLSTACK, the names that
an event's user callstack has there, joined by `|`. Prints the first mistake and exits with 1; else
prints the seconds until the page could be used. Exit status 77: the browser does not work here.
"""
import sys

from browser import Browser, Silent


def same(what, want, have):
    if want != have:
        sys.exit("%s: %r, not %r" % (what, have, want))


def shown(b):
    return int(b.run("document.body.dataset.shown"))


def span(b):
    return b.run("[view.from, view.to]")


def search(b):
    """By keys alone: text, a filter, a row of the table."""
    b.key("/")
    same("after /", "q", b.run("document.activeElement.id"))
    b.type("load_entry")
    b.wait("search", "shown.length === 200")
    b.key("Tab")
    b.type("n < 5")
    b.wait("filter", "shown.length === 10")
    same("values of n", "Values of n: 10, mean 2", b.run("$('what').textContent"))
    b.key("Escape")
    same("after Escape", "c", b.run("document.activeElement.id"))
    while b.run("document.activeElement.id") != "table":
        b.key("Tab")
    b.key("ArrowDown")
    b.key("ArrowDown")
    same("the row", 1, b.run("now"))
    tip = b.run("$('tip').textContent")
    if "work:load_entry" not in tip or "n=" not in tip or "vpid=" not in tip:
        sys.exit("the line of the event: " + tip)
    b.frame()
    same("the marked row", 1, b.run("document.querySelectorAll('#table .now').length"))
    for text, n in (("quotes \" and", 400), ("slices", shown_all(b)), ("work:step", 800),
                    ("no such text", 0), ("0.25", 400), ("18446744073709551615", 200)):
        b.run("$('f').value = ''; $('q').value = %r; refresh()" % text)
        same("search for " + text, n, shown(b))
    for text, n in (("thread = 1", 100), ("thread", 200), ("ratio >= 0.25", 400), ("n != 5", 792),
                    ("text = quotes", 0), ("procname = slices", shown_all(b)), ("vtid < 0", 0)):
        b.run("$('q').value = ''; $('f').value = %r; refresh()" % text)
        same("filter " + text, n, shown(b))
    b.run("$('f').value = ''; refresh()")


def shown_all(b):
    return b.run("data.n")


def counters(b):
    """One of an event with `value`, two of another event; the pointer over one of them."""
    have = b.run("data.counters.map(c => [c.name, c.value.length, c.low, c.high])")
    same("counters", [["work:queue", 200, -2, 97], ["work:cache_counter.n", 200, 0, 99],
                      ["work:cache_counter.ratio", 200, 0, 0.25]], have)
    b.run("show(0, 1.05 * data.last)")
    b.frame()
    last = b.run("data.counters[1].value[199]")
    y = b.run("(r => r.y - view.y + r.h / 2)(data.rows.find(r => r.counter === data.counters[1]))")
    same("the pointer over a counter", "work:cache_counter.n %d" % last,
         b.run("describe($('c').clientWidth - 2, %r)" % y))


def zoom(b):
    b.run("$('c').focus()")
    b.key("0")
    start, end = span(b)
    b.key("+")
    same("the part after +", round((end - start) / 2), round(span(b)[1] - span(b)[0]))
    b.key("ArrowRight")
    if span(b)[0] <= start:
        sys.exit("the arrow does not move: %r" % span(b))
    b.key("v")
    inside = b.run("data.time.slice(0, data.n).filter(t => t >= view.from && t <= view.to).length")
    same("the selection", inside, shown(b))
    b.run("select([data.time[5], data.time[9] - 0.5])")
    inside = b.run("data.time.filter(t => t >= data.time[5] && t < data.time[9]).length")
    same("a selection that ends between two times", inside, shown(b))
    b.key("Escape")
    same("no selection", shown_all(b), shown(b))
    b.key("-")
    same("the part after -", round(end - start), round(span(b)[1] - span(b)[0]))
    b.mouse("mouseWheel", 700, 100, deltaX=0, deltaY=-100)
    b.wait("wheel", "view.to - view.from < %r" % (0.9 * (end - start)))
    b.key("0")
    middle = b.run("Math.round(LEFT + data.time[data.n >> 1] * scale())")
    drag(b, b.run("LEFT"), middle + 1, 8)
    inside = b.run("data.time.slice(0, data.n).filter(t => t >= chosen[0] && t <= chosen[1]).length")
    if not 0 < inside < shown_all(b):
        sys.exit("selected by the pointer: %d" % inside)
    same("selected by the pointer", inside, shown(b))
    b.key("Escape")


def drag(b, start, end, modifiers):
    b.mouse("mousePressed", start, 100, button="left", buttons=1, clickCount=1, modifiers=modifiers)
    b.mouse("mouseMoved", end, 100, buttons=1, modifiers=modifiers)
    b.mouse("mouseReleased", end, 100, button="left", clickCount=1, modifiers=modifiers)


# Draws each visible row without and with its slices, and compares the columns that differ with
# those of a loop over all slices: each whole pixel that a slice covers, and each in which one begins.
FILLED = """(() => {
  const g = $('c').getContext('2d'), w = $('c').width, k = scale(), bad = [];
  let columns = 0;
  now = -1; chosen = null;      /* marks of the cursor and of a selection cover slices */
  for (const r of data.rows) {
    const y = Math.round(r.y - view.y) + 3;
    if (r.group || r.counter || y < 26 || y > $('c').height - 4) continue;
    const items = r.items, want = new Uint8Array(w + 1);
    for (const s of items) {
      const begin = r.instants ? data.time[s] : data.begin[s], end = r.instants ? begin : data.end[s];
      const a = LEFT + (begin - view.from) * k, b = LEFT + (end - view.from) * k;
      if (a >= LEFT && a < w) want[Math.floor(a)] = 1;
      for (let x = Math.max(LEFT, Math.ceil(a)); x + 1 <= Math.min(w, b - (b - a > 3 ? 1 : 0)); x++)
        want[x] = 1;
    }
    r.items = new Uint32Array(0); draw();
    const empty = g.getImageData(0, y, w, 1).data;
    r.items = items; draw();
    const full = g.getImageData(0, y, w, 1).data;
    for (let x = LEFT; x < w; x++) {
      columns += want[x];
      if (want[x] && [0, 1, 2, 3].every(c => empty[4 * x + c] === full[4 * x + c])) bad.push(x);
    }
  }
  return [columns, bad.length];
})()"""


def pixels(b):
    """Each column that has a slice is filled, at four zooms."""
    for zoom in (1, 7, 60, 900):
        b.run("show(data.last * 0.3, data.last * (0.3 + 0.7 / %d))" % zoom)
        b.frame()
        columns, blank = b.run(FILLED)
        same("blank columns of slices at zoom %d" % zoom, 0, blank)
        if not columns:
            sys.exit("no row is visible at zoom %d" % zoom)
    b.key("0")


def click(b):
    """A slice: the table shows the event that begins it."""
    b.run("show(data.begin[0] - 10, data.end[0] + 10)")
    b.frame()
    x, y = b.run("(r => [LEFT + (data.begin[0] + data.end[0]) / 2 * scale() - view.from * scale(),"
                 " r.y - view.y + r.h / 2 + $('c').getBoundingClientRect().top])"
                 "(data.rows[data.row[0]])")
    b.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    b.mouse("mouseReleased", x, y, button="left", clickCount=1)
    same("the event of the slice", b.run("data.event[0]"), b.run("shown[now]"))


def looks(b):
    """Light and dark, narrow and wide: the canvas fills its place, and nothing is outside."""
    for width, height, dark in ((1280, 720, False), (1280, 720, True), (3840, 2160, False)):
        b.shape(width, height, dark)
        b.wait("size", "$('c').width === innerWidth")
        b.frame()
        color = b.run("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        same("light at %d" % width, not dark, sum(color[:3]) > 384)
        same("outside of the page", [0, 0], b.run(
            "[document.documentElement.scrollWidth - innerWidth,"
            " document.documentElement.scrollHeight - innerHeight]"))
    b.shape(1280, 720, False)


def flame(b, url):
    """The flame graph beside it: labels in their frames, details by the Tab key, light and dark."""
    b.open(url)
    b.frame()
    have = b.run("(g => [g.length > 3, g.filter(f => !f.querySelector('title')).length,"
                 " g.filter(f => f.querySelector('text:not(.d)')?.getBBox().width >"
                 " f.querySelector('rect').getBBox().width).length])"
                 "([...document.querySelectorAll('g')])")
    same("frames; without a title, with too long a label", [True, 0, 0], have)
    details = ("[...document.querySelectorAll('.d')].filter(d => getComputedStyle(d).display !="
               " 'none').map(d => d.textContent)")
    same("details without a focus", [], b.run(details))
    for n in range(3):
        b.key("Tab")
        title = b.run("document.querySelectorAll('title')[%d].textContent" % n)
        same("details of frame %d" % n, [title.replace("\n", "; ")], b.run(details))
    for width, height, dark in ((1280, 720, False), (1280, 720, True), (3840, 2160, False)):
        b.shape(width, height, dark)
        b.frame()
        color = b.run("getComputedStyle(document.documentElement).backgroundColor"
                      ".match(/[0-9]+/g).map(Number)")
        same("a light flame graph", not dark, sum(color[:3]) > 384)
        same("at the top", True, b.run("document.querySelector('text').getBoundingClientRect().top"
                                       " < innerWidth / 32"))
        same("the part of the width", 99, b.run(
            "Math.floor(100 * document.querySelector('rect').getBoundingClientRect().width /"
            " innerWidth)"))


def read_stack(b, url, names):
    """By keys alone: the first event with such a callstack, and its frames beside the table."""
    seconds = b.open(url)
    b.key("/")
    b.type(names.split("|")[0].split("+")[0])
    b.wait("a search for a function", "0 < shown.length && shown.length < data.n")
    b.key("Escape")
    same("no stack of no event", "", b.run("$('stack').textContent"))
    while b.run("document.activeElement.id") != "table":
        b.key("Tab")
    b.key("ArrowDown")
    have = b.run("$('stack').innerText").rstrip("\n").split("\n")
    same("the callstack", ["callstack_user"] + names.split("|"), have)
    if names.replace("|", " < ") not in b.run("$('tip').textContent"):
        sys.exit("the line of the event: " + b.run("$('tip').textContent"))
    for width, dark in ((1280, False), (1280, True), (3840, False)):
        b.shape(width, 720, dark)
        b.frame()
        same("frames outside of their box", 0, b.run(
            "Math.max(0, $('stack').getBoundingClientRect().right - innerWidth)"))
    same("errors of the page", [], b.errors())
    print("%.2f" % seconds)


def use(b, url, counts):
    seconds = b.open(url)
    have = b.run("['events', 'slices', 'tracks'].map(k => document.body.dataset[k])")
    same("events, slices, tracks", counts, have)
    search(b)
    counters(b)
    zoom(b)
    pixels(b)
    click(b)
    looks(b)
    same("errors of the page", [], b.errors())
    flame(b, url.replace("timeline.html", "flame.svg"))
    print("%.2f" % seconds)


def main():
    b = None
    try:
        b = Browser()
        if len(sys.argv) == 3:
            read_stack(b, *sys.argv[1:])
        else:
            use(b, sys.argv[1], sys.argv[2:5])
    except (Silent, OSError) as e:
        print(e)
        sys.exit(77)
    finally:
        if b:
            b.close()


main()
