# SPDX-License-Identifier: GPL-2.0-or-later
"""judge_flame.py THEIRS FLAME: whether flame.svg has the totals that flamegraph.pl has of
flame.folded: the same numbers for each name in each row. (It sorts whole lines, and so may divide a
frame in two.) flame.svg leaves out what is narrower than a hundredth of a pixel. Prints the first difference and
exits with 1, else the number of names in rows.
"""
import collections
import re
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


def titles(path):
    for g in xml.parse(path).iter(SVG + "g"):
        title = g.find(SVG + "title")
        if title is not None:
            yield g, title.text


def main():
    theirs, ours, narrow = collections.Counter(), collections.Counter(), collections.Counter()
    found = [(float(g.find(SVG + "rect").get("y")), re.fullmatch(
        r"(.*) \(([\d,]+) \S+, [\d.]+%\)", text, re.S)) for g, text in titles(sys.argv[1])]
    found = [(y, m) for y, m in found if m]
    rows = sorted({y for y, _ in found}, reverse=True)
    frames = [((m[1], rows.index(y)), int(m[2].replace(",", ""))) for y, m in found]
    whole = max((n for _, n in frames), default=0)
    for key, n in frames:
        theirs[key] += n
        narrow[key] += n if n < whole * 1.01e-5 else 0
    for g, text in titles(sys.argv[2]):
        name = text.split("\n")[0].replace(";", ":")
        ours[re.sub(r"[\0-\x1f]", " ", name), int(g.get("data-d"))] += int(g.get("data-t"))
    for key in sorted(set(theirs) | set(ours)):
        if not 0 <= theirs[key] - ours[key] <= narrow[key]:
            sys.exit("%s in row %d: %d, %d in flame.svg" % (*key, theirs[key], ours[key]))
    if len(theirs) < 3 or not whole:
        sys.exit("no frames: %r %r" % (theirs, ours))
    print(len(theirs))


main()
