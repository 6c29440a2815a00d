# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_hostile.py DIRECTORY NAME: what hostile names and texts do in timeline.html and flame.svg.

No dialog, no request, no error, no element of theirs; the texts are shown as they are. NAME: of the
process. Prints the first mistake and exits with 1. Exit status 77: the browser does not work here.
"""
import sys

from browser import with_browser


def check(b, what, scripts):
    bad = [e["method"] for e in b.events if e["method"] in
           ("Page.javascriptDialogOpening", "Page.frameNavigated") and
           "file:" not in str(e["params"].get("frame", {}).get("url", "file:"))]
    asked = [e["params"]["request"]["url"] for e in b.events
             if e["method"] == "Network.requestWillBeSent"]
    if bad or len(asked) != 1 or b.errors():
        sys.exit("%s: %r %r %r" % (what, bad, asked, b.errors()))
    found = b.run("[document.querySelectorAll('img, b:not(#side b), iframe').length,"
                  " [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a =>"
                  " /^on/.test(a.name))).length]")
    if found != [0, 0]:
        sys.exit("%s: elements of texts: %r" % (what, found))


def look(b, directory, name):
    b.call("Network.enable")
    b.open("file://%s/timeline.html" % directory)
    for i in range(int(b.run("data.n"))):
        b.run("go(%d)" % i)
    for i in range(int(b.run("data.slices"))):
        b.run("pickSlice(%d)" % i)
    for text in ("<", "alert", "</script>", "txt.exe"):
        b.run("$('q').value = %r; refresh(); step(1)" % text)
        if not b.run("shown.length"):
            sys.exit("a search for %s finds nothing" % text)
    b.run("$('q').value = ''; $('f').value = 'text ~ \"onerror=alert(2)\"'; refresh(); go(0)")
    if b.run("shown.length") != 3 or "onerror=alert(2)>" not in b.run("$('about').textContent"):
        sys.exit("the filter: %r" % b.run("$('about').textContent"))
    turned = b.run("(() => { $('f').value = 'text ~ txt.exe'; refresh(); go(0);"
                   " return document.body.innerText.includes('\\u202e') || $('about').textContent; })()")
    if turned is True or "a\\u202etxt.exe" not in turned:
        sys.exit("a control of the direction of text: %r" % turned)
    check(b, "timeline.html", 4)
    groups = b.run("data.all.filter(r => r.group).map(r => r.group.name)"
                   ".concat([...data.processes.values()].map(p => p.name))")
    if name not in groups:
        sys.exit("processes: %r, without %s" % (groups, name))
    names = b.run("data.tracks.filter(t => t.names.length > 2).map(fullLabel)")
    if len(names) != 1 or "worker-3" not in names[0] or "before </script>\"<b>&'" not in names[0]:
        sys.exit("names of threads: %r" % names)
    if b.run("data.tracks.filter(t => t.tid === t.pid).length"):
        sys.exit("the main thread has no event, but a track")
    b.open("file://%s/flame.svg" % directory)
    b.key("Tab")
    b.key("Tab")
    b.key("Tab")
    check(b, "flame.svg", 1)
    if not b.run("frames.some(f => f.name === '</script>\"<b>&\\'')"):
        sys.exit("no frame of the thread: %r" % b.run("frames.map(f => f.name)"))


with_browser(lambda b: look(b, *sys.argv[1:]))
