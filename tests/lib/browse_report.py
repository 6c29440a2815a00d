# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_report.py DIRECTORY LIVE…: uses report.html of the directory, which has timeline.html, too.

The boxes of the heat map and the slowest slices lead to the events in the time line that they are
of. LIVE: URLs of a live.html whose session gets events for each line that is printed here, until
its page has them. Prints the first mistake and exits with 1. Exit status 77: no browser.
"""
import sys

from browser import with_browser


def same(what, want, have):
    if want != have:
        sys.exit("%s: %r, not %r" % (what, have, want))


def quiet(b, what):
    asked = [e["params"]["request"]["url"] for e in b.events
             if e["method"] == "Network.requestWillBeSent"]
    page = b.run("location.href.split('#')[0]")
    if b.errors() or [u for u in asked if not u.startswith("file:") and u.split("#")[0] != page]:
        sys.exit("%s: %r %r" % (what, asked, b.errors()))


# The contrast of a text and of what is below it, as WCAG defines it; the worst of all texts.
CONTRAST = """(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255).map(v =>
    v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  let worst = 99, which = "";
  for (const e of document.querySelectorAll("main *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.tagName === "title") continue;
    const s = getComputedStyle(e), text = e.namespaceURI.endsWith("svg") ? s.fill : s.color;
    let k = e, back = "rgba(0, 0, 0, 0)";
    for (; k && back === "rgba(0, 0, 0, 0)"; k = k.parentElement) back = getComputedStyle(k).backgroundColor;
    const [a, c] = [light(text), light(back)].sort((p, q) => q - p), ratio = (a + 0.05) / (c + 0.05);
    if (ratio < worst) { worst = ratio; which = e.tagName + " " + e.textContent.slice(0, 30) + text + back; }
  }
  return [worst, which];
})()"""


def follow(b, what, link, n):
    b.open(link)
    b.wait(what, "document.body.dataset.ready === '1'")
    same(what, n, int(b.run("document.body.dataset.shown")))


def compare(b, directory):
    """flame.svg and flame.folded of the same session differ nowhere; then one path has more there."""
    with open(directory + "/flame.folded", encoding="utf-8") as f:
        lines = f.read().splitlines()
    b.open("file://%s/flame.svg" % directory)
    b.run("compare(%r, 'itself')" % ("\n".join(lines)))
    same("of a comparison with itself", True, b.run(
        "frames.length > 3 && frames.every(f => Math.abs(change(f)) < 1e-9)"))
    path, n = lines[-1].rsplit(" ", 1)
    b.run("compare(%r, 'more')" % "\n".join(lines[:-1] + ["%s %d" % (path, 9 * int(n)), "gone;x 1000"]))
    changed = b.run("frames.filter(f => f.name === %r).map(f => [change(f) < 0, f.rect.style.fill !== ''])"
                    % path.split(";")[-1])
    if [True, True] not in changed or "is not here" not in b.run("$('details').textContent"):
        sys.exit("a comparison: %r" % changed)
    quiet(b, "flame.svg")


# Cells that leave the page or their table, and pairs of cells of a row that overlap.
OUTSIDE = """(() => {
  const bad = [], box = e => e.getBoundingClientRect();
  for (const e of document.querySelectorAll("main *")) {
    const r = box(e);
    if (r.width && (r.right > innerWidth + 0.5 || r.left < -0.5) && !e.closest("thead"))
      bad.push(["outside", e.tagName, e.textContent.slice(0, 40), r.right]);
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible" && e.clientWidth > 1)
      bad.push(["cut", e.tagName, e.textContent.slice(0, 40), e.scrollWidth - e.clientWidth]);
  }
  for (const tr of document.querySelectorAll("tbody tr")) {
    const cells = [...tr.cells].map(c => { const a = document.createRange(); a.selectNodeContents(c);
      return a.getBoundingClientRect(); }).filter(r => r.width);
    cells.forEach((a, i) => { for (const c of cells.slice(i + 1))
      if (Math.min(a.right, c.right) - Math.max(a.left, c.left) > 0.5 &&
        Math.min(a.bottom, c.bottom) - Math.max(a.top, c.top) > 2) bad.push(["over", tr.textContent.slice(0, 60)]); });
  }
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].map(t => [box(t), t.textContent]);
    texts.forEach(([a, t], i) => {
      if (a.right > box(svg).right + 1 || a.left < box(svg).left - 1) bad.push(["text outside", t]);
      for (const [c, u] of texts.slice(i + 1))
        if (Math.min(a.right, c.right) - Math.max(a.left, c.left) > 1 &&
          Math.min(a.bottom, c.bottom) - Math.max(a.top, c.top) > 4) bad.push(["texts", t, u]);
    });
  }
  return bad.slice(0, 4);
})()"""


def look(b, directory, *live):
    page = "file://%s/report.html" % directory
    b.call("Network.enable")
    b.open(page)
    quiet(b, "report.html")
    for dark in False, True:
        b.shape(1000, 800, dark)
        b.frame()
        worst, which = b.run(CONTRAST)
        if worst < 4.5:
            sys.exit("contrast %.2f of %s" % (worst, which))
    for width in 320, 390, 700, 961, 1400, 1000:
        b.shape(width, 800, False)
        b.wait("size", "+$('rate').getAttribute('viewBox').split(' ')[2] === $('rate').clientWidth")
        same("the width at %d" % width, width, b.run("document.documentElement.scrollWidth"))
        same("at %d" % width, [], b.run(OUTSIDE))
    # Boxes by keys; then all boxes of a kind.
    boxes = b.run("""kinds.filter(k => k.heat).slice(0, 3).map(k => { choose(k);
      pickBoxes([k.heat[0], k.heat[0], k.heat[1], k.heat[1]]); const one = [boxes.link.href, boxes.count];
      pickBoxes([0, columns, 0, 99]); return [k.name, k.count, k.heat[2], one, [boxes.link.href, boxes.count]]; })""")
    b.run("$('heat').focus()")
    b.key("ArrowRight")
    b.key("ArrowUp")
    if not b.run("boxes && $('heatsays').textContent"):
        sys.exit("the keys of the heat map choose nothing")
    slow = b.run("kinds.filter(k => k.count).map(k => { choose(k); return"
                 " [k.name, k.slowest[0][0], $('slow').querySelector('a').href]; })[0]")
    for name, count, first, one, every in boxes:
        same("one box of " + name, first, one[1])
        same("all boxes of " + name, count, every[1])
        follow(b, "events of a box of " + name, one[0], first)
        follow(b, "events of all boxes of " + name, every[0], count)
    follow(b, "the slowest of " + slow[0], slow[2], 1)
    same("the slice that is chosen", [slow[1], slow[0]],
         b.run("[data.begin[picked], data.names[data.label[picked]]]"))
    compare(b, directory)
    for url in live:
        follow_live(b, url)


def follow_live(b, url):
    b.open(url)
    for _ in range(2):
        before = b.run("data.n ? String(data.start + BigInt(data.last)) : ''")
        print("more", flush=True)
        b.wait(url + " loads itself", "typeof data !== 'undefined' && data.n > 0 &&"
               " document.body?.dataset.ready === '1' &&"
               " String(data.start + BigInt(data.last)) !== '%s'" % before)
        quiet(b, url)
    for _ in range(20):
        try:
            b.wait(url + " is loaded", "document.body?.dataset.ready === '1'")
            b.key("p")
            if b.run("document.getElementById('hold')?.getAttribute('aria-pressed')") == "true":
                return
        except RuntimeError:    # (The page loads itself again just now.)
            pass
    sys.exit("the page is not held")


with_browser(lambda b: look(b, *sys.argv[1:]))
