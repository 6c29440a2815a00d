# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_page.py URL EVENTS SLICES TRACKS, or URL CALLSTACK: uses the page of a time line.

Chromium opens URL: `export/timeline.html` of 100 rounds of slices.c; with CALLSTACK, the names that
an event's user callstack has there, joined by `|`. Prints the first mistake and exits with 1; else
prints the seconds until the page could be used. Exit status 77: the browser does not work here.
"""
import fractions
import re
import sys

from browser import with_browser
from filled_pixels import FILLED


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
    b.key("Escape")
    same("the search after Escape", "load_entry c",
         b.run("$('q').value + ' ' + document.activeElement.id"))
    b.key("/")
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
    for text, n in (("quotes \" and", 400), ("\u00e9 \ufffd", 400), ("slices", shown_all(b)), ("work:step", 800),
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


def labels(b):
    """The number of a thread is seen, however long its name is."""
    have = b.run("""(g => [60, 128, 400].map(wide => {
      const t = { name: "W".repeat(15), tid: 1234567, pid: 5, names: ["before", "W".repeat(15)] };
      g.font = "12px system-ui, sans-serif";
      const text = fitLabel(g, t, wide);
      return [text.includes(" 1234567"),
              wide < 100 || g.measureText(text).width <= wide];
    }))($('c').getContext('2d'))""")
    same("labels that fit", [[True, True]] * 3, have)
    same("a thread in the table", "flex", b.run("getComputedStyle($('table').querySelector('.who')).display"))


# The texts of the axis, with their places and widths.
AXIS = """((last, from, to) => {
  const g = $('c').getContext('2d'), texts = [], all = data.last;
  data.last = last; density = null;
  show(from, to);
  g.fillText = (text, x, y) => { texts.push([text, x, y, g.measureText(text).width]); };
  draw();
  delete g.fillText;
  const found = { texts: texts.filter(t => t[1] >= LEFT && [9, 25].includes(t[2])), left: LEFT,
    from: view.from, scale: scale(), start: String(data.start), wide: $('c').clientWidth };
  data.last = all; density = null;
  return found;
})(%r, %r, %r)"""
DAY = 86400 * 10**9


def time_of(text, start):
    """ns since the first event that a label of the axis says."""
    m = re.fullmatch(r"([\d.]+) (s|ms|us|ns)", text)
    if m:
        return fractions.Fraction(m[1]) * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[m[2]]
    hours, minutes, seconds = re.fullmatch(r"(\d\d):(\d\d):(\d\d(?:\.\d+)?)", text).groups()
    ns = int(hours) * 3600 * 10**9 + int(minutes) * 60 * 10**9 + fractions.Fraction(seconds) * 10**9
    return (ns - start) % DAY


def axis(b):
    """Each label says exactly where it is, and labels do not overlap."""
    count = 0
    for last in (5000, 73 * 10**5, 5 * 10**9, 123456789012, 4 * 10**12):
        for part in (1, 0.37, 0.1, 0.004, 7e-6, 3e-9):
            found = b.run(AXIS % (last, 0.41 * last, (0.41 + part) * last))
            for y in 9, 25:
                end = 0
                row = [t for t in found["texts"] if t[2] == y]
                for text, x, _, wide in row:
                    t = time_of(text, int(found["start"]))
                    place = found["left"] + (float(t) - found["from"]) * found["scale"] + 4
                    if abs(place - x) > 0.1 or x < end or x + wide > found["wide"]:
                        sys.exit("axis of %g, %g: %s at %g, not %g" % (last, part, text, x, place))
                    end, count = x + wide + 2, count + 1
                same("labels of the axis, %g of %g" % (part, last), True, len(row) > 1)
    b.run("show(0, data.last)")
    return count


def zoom(b):
    labels(b)
    axis(b)
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


# Of each visible row the columns that must be filled, and how many are not.
ROWS_FILLED = """(() => {
  let columns = 0, blank = 0;
  now = -1; chosen = null;      /* marks of the cursor and of a selection cover slices */
  for (const r of data.rows) {
    const y = Math.round(r.y - view.y) + 3;
    if (r.group || r.counter || r.states || y < TOP + 2 || y > $('c').height - 4) continue;
    const found = %s(r, [...r.items].map(s => r.instants ? [data.time[s], data.time[s]] :
      [data.begin[s], data.end[s]]));
    columns += found[0]; blank += found[1];
  }
  return [columns, blank];
})()""" % FILLED


# Three slices in each pixel, of made-up lengths: how far each pixel is from the shade that their
# share of its time has, a fifth for none and all for the whole of it.
SHADES = """(() => {
  draw();       /* (Before, a canvas has another width.) */
  const g = $('c').getContext('2d'), w = $('c').width, off = [];
  const r = data.rows.filter(r => r.t && !r.instants && !r.states).reduce((a, b) =>
    b.items.length > a.items.length ? b : a);
  now = -1; chosen = null; picked = NONE;
  show(0, w - LEFT);
  const wide = n => 0.005 + 0.28 * (n % 50) / 50;
  r.items.forEach((s, i) => {
    const pixel = Math.floor(i / 3);
    data.label[s] = data.label[r.items[0]]; data.ended[s] = 1;
    data.begin[s] = pixel + 0.02 + i % 3 * 0.3; data.end[s] = data.begin[s] + wide(pixel);
  });
  r.sums = null; view.y = r.y - 60; draw();
  const y = Math.round(r.y - view.y) + 3, items = r.items;
  r.items = new Uint32Array(0); draw();
  const empty = g.getImageData(0, y, w, 1).data;
  r.items = items; draw();
  const full = g.getImageData(0, y, w, 1).data;
  for (let n = 0; n < Math.min(Math.floor(items.length / 3), w - LEFT); n++)
    /* (The lines of the axis are behind some.) */
    if (!empty[4 * (LEFT + n) + 3])
      off.push(Math.abs(full[4 * (LEFT + n) + 3] / 255 - (0.2 + 0.8 * 3 * wide(n))));
  return [off.length, Math.max(...off, 0), scale()];
})()"""


def shades(b):
    count, most, scale = b.run(SHADES)
    if count < 50 or most > 0.02:
        sys.exit("shades of %d pixels: off by %.3f (%g pixels a ns)" % (count, most, scale))


def pixels(b):
    """Each column that has a slice is filled, at four zooms."""
    for zoom in (1, 7, 60, 900):
        # (Threads may begin late: a time with slices is asked for.)
        b.run("(t => show(t, t + data.last * 0.7 / %d))(data.begin[Math.floor(data.slices * 0.3)])" % zoom)
        b.frame()
        columns, blank = b.run(ROWS_FILLED)
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
                 "(data.all[data.row[0]])")
    b.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    b.mouse("mouseReleased", x, y, button="left", clickCount=1)
    same("the event of the slice", b.run("data.event[0]"), b.run("shown[now]"))


def chosen(b):
    """A click chose the slice: its outline, its duration and its fields."""
    b.frame()
    have = b.run("$('about').textContent")
    for text in ("slice work", "duration " + b.run("duration(data.end[0] - data.begin[0])"),
                 "\nthread ", "\nvpid "):
        if text not in have:
            sys.exit("about the slice, without %r: %s" % (text, have))
    outline = b.run("""(() => {
      const g = $('c').getContext('2d'), r = data.all[data.row[picked]];
      const x = Math.round(LEFT + (data.begin[picked] - view.from) * scale()) - 1;
      const [red, green, blue] = g.getImageData(x, r.y - view.y + 10, 1, 1).data;
      return [red, green, blue];
    })()""")
    if not outline[0] > 1.5 * max(outline[1:]):
        sys.exit("no outline: %r" % outline)
    b.key(".")
    same("the next slice of the row", True, b.run("data.row[picked] === data.row[0] && picked > 0"))
    b.key(",")
    same("the slice before", 0, b.run("picked"))


def steps(b):
    """Enter, n and N step through what the search has found."""
    b.run("select(null); show(0, data.last); $('q').value = ''; refresh()")
    b.key("/")
    b.type("load_entry")
    b.key("Enter")
    first = b.run("now")
    if first < 0 or b.run("shown.length") != 200:
        sys.exit("Enter: row %r of %r" % (first, b.run("shown.length")))
    b.key("Enter")
    same("the second Enter", first + 1, b.run("now"))
    b.key("Escape")
    b.key("n")
    same("n", first + 2, b.run("now"))
    b.key("N")
    same("N", first + 1, b.run("now"))
    same("in view", True, b.run("data.time[shown[now]] >= view.from && data.time[shown[now]] <= view.to"))
    same("marks of hits", True, b.run("""(() => {
      draw();
      const g = $('c').getContext('2d'), x = Math.floor(LEFT + (data.time[rows[now]] - view.from) *
        scale()), [red, green, blue] = g.getImageData(x + 2, TOP - 5, 1, 1).data;
      g.clearRect(0, 0, 1, 1);
      const hit = [...Array($('c').width).keys()].filter(x => x > LEFT).map(x =>
        g.getImageData(x, TOP - 5, 1, 1).data).filter(p => p[0] > 150 && p[1] < 90 && p[2] > 150);
      return hit.length > 0;
    })()"""))
    b.run("$('q').value = ''; refresh()")


def filters(b):
    """Expressions; those that are wrong are marked, and say why."""
    slices = b.run("[...Array(data.slices).keys()].filter(s => data.ended[s]).map(s =>"
                   " data.end[s] - data.begin[s])")
    middle = sorted(slices)[len(slices) // 2]
    for text, n in (("n < 5 && thread = 1", 5), ("n < 5 || thread = 1", 105 + 5),
                    ("duration > %dns" % middle, sum(t > middle for t in slices)),
                    ("duration >= %gus" % (middle / 1000), sum(t >= middle for t in slices)),
                    ("text ~ 'quotes'", 400), ('text !~ "quotes"', 0), ("!(n < 5) && n < 7", 4 * 4),
                    ("big == 18446744073709551615", 200), ("big > 18446744073709551614", 200),
                    ("event = work:note", 200), ("event ~ NOTE && ratio == 0.25", 200),
                    ("n = 0x10", 2 * 4)):
        b.run("$('f').value = %r; refresh()" % text)
        if text.startswith("n < 5 ||"):
            n = b.run("[...Array(data.n).keys()].filter(i => value(i, 'n') < 5 ||"
                      " value(i, 'thread') === 1).length")
        if text.startswith(("!(n", "n = 0x")):
            n = b.run("[...Array(data.n).keys()].filter(i => %s).length" % (
                "[5, 6].includes(value(i, 'n'))" if text[0] == "!" else "value(i, 'n') === 16"))
        same("filter " + text, n, shown(b))
        same("marked " + text, False, b.run("$('f').classList.contains('bad')"))
    for text in ("n <", "(n < 5", "n < 5 thread = 1", "< 5", "n < 5 &&", '"', "duration > 1xs",
                 "n = 3com", "n < .5", "ratoi < 5", "!nothing", "n < 5 || 1xs"):
        b.run("$('f').value = %r; refresh()" % text)
        same("a mistake: " + text, [True, "true", True, 0], b.run(
            "[$('f').classList.contains('bad'), $('f').getAttribute('aria-invalid'),"
            " $('tip').textContent.startsWith('Filter: '), shown.length]"))
    for text, words in (("duration > 1xs", "xs is none of ns, us, "), ("ratoi < 5", "no event has a field ratoi"),
                        ("ratio2 < 5", "did you mean ratio?"), ("n = 3com", "write text in quotes")):
        b.run("$('f').value = %r; refresh()" % text)
        if words not in b.run("$('tip').textContent"):
            sys.exit("filter %s: %s" % (text, b.run("$('tip').textContent")))
    for text in ('text = "3com"', "text ~ 3com", "text = 1.2.3.4", "text = 8:0"):
        b.run("$('f').value = %r; refresh()" % text)
        same("marked " + text, False, b.run("$('f').classList.contains('bad')"))
    b.run("$('f').value = ''; refresh()")
    same("no mistake any more", False, b.run("$('tip').classList.contains('bad')"))


def steps_of_search(b):
    """Enter goes to the first hit of what is visible, or of the selection; then to the next one."""
    view = "show(data.time[rows[%d]] - 0.5, data.time[rows[%d]] + 0.5)"
    b.run("$('q').value = 'load_entry'; select(null); refresh(); " + view % (50, 90))
    want = 50
    for more in range(3):
        b.run("$('q').focus()")
        b.key("Enter")
        same("hit %d after the begin of the view" % more, want + more, b.run("now"))
    b.run("refresh(); " + view % (50, 90))
    want = 90
    b.run("$('c').focus()")
    b.key("N")
    same("the last hit of the view", want, b.run("now"))
    b.run("select([data.time[rows[20]], data.time[rows[30]]]); show(0, data.last)")
    b.run("$('c').focus()")
    b.key("n")
    same("the first hit of the selection", [0, 20], b.run("[now, rows.indexOf(shown[now])]"))
    b.run("$('q').value = ''; select(null); refresh(); show(0, data.last)")


def keys(b):
    """A question mark shows all keys; they do nothing to the page while they are shown."""
    b.run("$('c').focus()")
    before = span(b)
    b.key("?")
    same("the list of keys", True, b.run("$('keys').open"))
    b.key("+")
    same("the page below the list", before, span(b))
    b.key("Escape")
    same("the list after Escape", False, b.run("$('keys').open"))


def groups(b):
    """A click on a group closes it; the keys, too. The overview moves the view."""
    rows = b.run("data.rows.length")
    b.key("c")
    same("closed", b.run("data.all.filter(r => r.group).length"), b.run("data.rows.length"))
    b.key("c")
    same("opened", rows, b.run("data.rows.length"))
    b.run("view.y = 0; draw()")
    y = b.run("(r => r.y - view.y + 8 + $('c').getBoundingClientRect().top)(data.rows.find(r => r.group))")
    b.mouse("mousePressed", 40, y, button="left", buttons=1, clickCount=1)
    b.mouse("mouseReleased", 40, y, button="left", clickCount=1)
    if b.run("data.rows.length") >= rows:
        sys.exit("a click does not close the group")
    b.key("c")
    b.key("c")
    b.run("data.all.forEach(r => { if (r.group) r.group.shut = false; }); layout(); draw()")
    same("empty tracks", 0, b.run("data.all.filter(r => r.t && !r.states && !r.items.length).length"))
    b.run("show(0, data.last / 10)")
    top = b.run("$('over').getBoundingClientRect().top + 10")
    b.mouse("mousePressed", 900, top, button="left", buttons=1, clickCount=1)
    b.mouse("mouseReleased", 900, top, button="left", clickCount=1)
    if b.run("view.from") < b.run("data.last / 2"):
        sys.exit("the overview does not move the view")
    b.run("select([0, data.last])")
    total = b.run("[...Array(data.slices).keys()].filter(s => data.ended[s]).map(s =>"
                  " data.names[data.label[s]] === 'work:load' ? data.end[s] - data.begin[s] : 0)"
                  ".reduce((a, b) => a + b)")
    have = b.run("$('totals').innerText.split('\\n').join(' ')")
    if "work:load" not in have or "200" not in have or b.run("duration(%r)" % total) not in have:
        sys.exit("totals: " + have)
    b.run("select(null); show(0, data.last)")


CONTRAST = """(() => {
  const light = c => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const of = p => 0.2126 * light(p[0]) + 0.7152 * light(p[1]) + 0.0722 * light(p[2]);
  const g = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const read = color => {
    g.clearRect(0, 0, 1, 1); g.fillStyle = color; g.fillRect(0, 0, 1, 1);
    return of(g.getImageData(0, 0, 1, 1).data);
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const text = read(style('--text')), dim = read(style('--dim'));
  let least = Math.min(...['--back', '--bar'].flatMap(c =>
    [ratio(text, read(style(c))), ratio(dim, read(style(c)))]));
  for (let h = 0; h < 360; h++) {
    const name = data.names.length;
    hues.set(name, h);
    least = Math.min(least, ratio(text, read(makeColor(name))));
    hues.delete(name);
  }
  return least;
})()"""


# Texts in the column of names, beside the axis, that are too long for it.
BESIDE = """(() => {
  const g = $('c').getContext('2d'), bad = [];
  g.fillText = (text, x, y) => {
    if (x < LEFT && y < TOP && x + g.measureText(text).width > LEFT - 2) bad.push([text, LEFT]);
  };
  draw();
  delete g.fillText;
  return bad;
})()"""


def hint(b, url):
    """The line of hints is not cut, wherever the page is opened."""
    for width in 1280, 1024, 701, 390, 320:
        b.shape(width, 800, False)
        b.open(url)
        same("the hint at %d" % width, [True, True], b.run(
            "(t => [t.scrollWidth <= t.clientWidth, t.innerText.length > 20])($('tip'))"))
    b.shape(1280, 720, False)


def looks(b):
    """Light and dark, narrow and wide: the canvas fills its place, and nothing is outside."""
    for width, height, dark in ((1280, 720, False), (1280, 720, True), (3840, 2160, False), (390, 800, True)):
        b.shape(width, height, dark)
        b.wait("size", "$('c').width === innerWidth")
        b.frame()
        color = b.run("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        same("light at %d" % width, not dark, sum(color[:3]) > 384)
        least = b.run(CONTRAST)
        if least < 4.5:
            sys.exit("contrast of text: %.2f" % least)
        same("the place of no flame graph", 0, b.run("$('flame').offsetHeight"))
        same("outside of the page", [0, 0], b.run(
            "[document.documentElement.scrollWidth - innerWidth,"
            " document.documentElement.scrollHeight - innerHeight]"))
        same("words beside the axis that leave their column, at %d" % width, [], b.run(BESIDE))
    b.shape(1280, 720, False)
    b.wait("size", "$('c').width === innerWidth")


# Parts of the heading that overlap, leave the window, or cover frames.
HEADING = """(() => {
  const parts = ["details", "head", "search", "found", "reset", "compare"].map(id =>
    [id, $(id).getBoundingClientRect()]).filter(([, r]) => r.width), bad = [];
  const top = Math.min(...frames.filter(f => f.shown).map(f => f.rect.getBoundingClientRect().top));
  parts.forEach(([id, a], i) => {
    if (a.right > innerWidth || a.left < 0 || a.bottom > top) bad.push([id, a.right, a.bottom, top]);
    for (const [other, c] of parts.slice(i + 1))
      if (Math.min(a.right, c.right) > Math.max(a.left, c.left) &&
        Math.min(a.bottom, c.bottom) > Math.max(a.top, c.top)) bad.push([id, other, a.bottom, c.top]);
  });
  return [parts.length, bad];
})()"""


def flame(b, url):
    """The flame graph beside it: labels in their frames, zoom, search, details by keys, themes."""
    b.open(url)
    b.frame()
    have = b.run("(g => [g.length > 3, g.filter(f => !f.querySelector('title')).length,"
                 " g.filter(f => (f.querySelector('text')?.getBBox().width || 0) >"
                 " f.querySelector('rect').getBBox().width).length])"
                 "([...document.querySelectorAll('g.f')])")
    same("frames; without a title, with too long a label", [True, 0, 0], have)
    same("rows that are not sorted by name", 0, b.run(
        "frames.filter(f => frames.some(g => g.depth === f.depth && g.begin < f.begin &&"
        " frames.find(o => around(o, f) && o.depth === f.depth - 1) ==="
        " frames.find(o => around(o, g) && o.depth === g.depth - 1) && g.name > f.name)).length"))
    details = "$('details').textContent"
    same("details without a focus", "", b.run(details))
    b.key("Tab")        # (the document itself)
    b.key("Tab")
    same("keys come to the search first", "words", b.run("document.activeElement.id"))
    b.key("Tab")
    same("then to the comparison", "compare", b.run("document.activeElement.id"))
    for n in range(3):
        b.key("Tab")
        title = b.run("document.querySelectorAll('title')[%d].textContent" % n)
        same("details of frame %d" % n, title.replace("\n", "; "), b.run(details))
    wide = "document.activeElement.querySelector('rect').getBoundingClientRect().width"
    before = b.run(wide)
    b.key("Enter")
    same("the zoomed frame is as wide as the window", [True, True],
         b.run("[Math.abs(%s - innerWidth) < 1, %s > %r || %r >= innerWidth - 1]" %
               (wide, wide, before, before)))
    same("frames beside it are hidden", True, b.run(
        "frames.every(f => !f.shown || f === zoomed || around(f, zoomed) || around(zoomed, f))"))
    b.key("Escape")
    same("reset", [before, "none"], b.run("[%s, $('reset').style.display]" % wide))
    b.key("/")
    b.type("load")
    same("hits", "1 frame, %s %%" % b.run(
        "(100 * frames.find(f => f.name.includes('load')).total / all.total).toFixed(2)"),
         b.run("$('found').textContent"))
    b.key("Escape")
    same("no hits", "", b.run("$('found').textContent"))
    for width, height, dark in ((1280, 720, False), (1280, 720, True), (390, 720, False),
                                (3840, 2160, False)):
        b.shape(width, height, dark)
        b.frame()
        b.run("$('words').value = 'load'; search(); zoom(frames[2]); show(frames[2])")
        same("the heading at %d" % width, [6, []], b.run(HEADING))
        b.run("$('words').value = ''; search(); zoom(all); show()")
        color = b.run("getComputedStyle(document.documentElement).backgroundColor"
                      ".match(/[0-9]+/g).map(Number)")
        same("a light flame graph", not dark, sum(color[:3]) > 384)
        same("letters of 12 pixels, all rows, the whole width", ["12px", None, True, True], b.run(
            "[getComputedStyle(document.querySelector('g.f text')).fontSize, svg.getAttribute("
            "'viewBox'), +svg.getAttribute('height') === TOP + rows * ROW + 10, Math.abs("
            "all.rect.getBoundingClientRect().width - innerWidth) < 1]"))
    b.shape(1280, 720, False)
    same("errors of the flame graph", [], b.errors())


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
    chosen(b)
    steps(b)
    filters(b)
    steps_of_search(b)
    keys(b)
    groups(b)
    looks(b)
    shades(b)
    same("errors of the page", [], b.errors())
    hint(b, url)
    flame(b, url.replace("timeline.html", "flame.svg"))
    print("%.2f" % seconds)


def read_page(b):
    if len(sys.argv) == 3:
        read_stack(b, *sys.argv[1:])
    else:
        use(b, sys.argv[1], sys.argv[2:5])


with_browser(read_page)
