# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_speedscope.py PACKAGE FOLDED...: whether speedscope has the times of `export/flame.folded`.

PACKAGE: the directory of speedscope's npm package, whose page Chromium opens with each file. Each
frame's own time in its table must be what lines that end with the frame have together. Prints the
numbers of frames. Exit status 77: the browser does not work here.
"""
import base64
import collections
import os
import sys
import tempfile

from browser import with_browser

ROWS = """[...document.querySelectorAll('table tr')].map(r => [...r.cells].map(c => c.innerText.trim()))
  .filter(r => r.length === 3 && /^[\\d,]/.test(r[1]))"""


def check(b, package, folded):
    want = collections.Counter()
    with open(folded, encoding="utf-8") as lines:
        for line in lines:
            stack, value = line.rstrip("\n").rsplit(" ", 1)
            want[stack.split(";")[-1]] += int(value)
    with tempfile.TemporaryDirectory() as directory:
        script = os.path.join(directory, "profile.js")
        with open(folded, "rb") as data, open(script, "w", encoding="ascii") as out:
            out.write("speedscope.loadFileFromBase64('flame.folded', '%s')" %
                      base64.b64encode(data.read()).decode())
        b.open("data:,")    # a page whose address differs in its fragment alone would stay
        b.open("file://%s/dist/release/index.html#localProfilePath=%s" % (package, script))
        b.wait("the profile", "document.body.innerText.includes('flame.folded')")
        b.key("3")
        b.wait("the table", ROWS + ".length > 0")
    have = collections.Counter()
    for _, own, name in b.run(ROWS):
        have[name] += int(own.split(" ")[0].replace(",", ""))
    if not want or +want != +have:
        sys.exit("%s: speedscope has %r, not %r" % (folded, dict(have - want), dict(want - have)))
    print(len(want))


def use(b):
    for folded in sys.argv[2:]:
        check(b, sys.argv[1], folded)


with_browser(use)
