# SPDX-License-Identifier: GPL-2.0-or-later
"""browse_hostile.py DIRECTORY NAME: what hostile names and texts do in the pages and flame.svg.

No dialog, no request, no error, no element of theirs; the texts are shown as they are, and the
pages keep their policy. NAME: of the process. Prints the first mistake and exits with 1. Exit
status 77: the browser does not work here.
"""
import sys

from browser import with_browser


def check(b, url):
    bad = [e["method"] for e in b.events if e["method"] in
           ("Page.javascriptDialogOpening", "Page.frameNavigated") and
           "file:" not in str(e["params"].get("frame", {}).get("url", "file:"))]
    asked = {e["params"]["request"]["url"].split("#")[0] for e in b.events
             if e["method"] == "Network.requestWillBeSent"}
    if bad or asked != {url} or b.errors():
        sys.exit("%s: %r %r %r" % (url, bad, asked, b.errors()))
    found = b.run("[document.querySelectorAll('img, iframe, b:not(#side b, #legend b)').length,"
                  " [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a =>"
                  " /^on/.test(a.name))).length]")
    if found != [0, 0]:
        sys.exit("%s: elements of texts: %r" % (url, found))


def check_policy(b, url):
    """The page may load nothing, even if a script wants to. (The refusal is an error of the page.)"""
    loaded = b.run("""Promise.all([
      fetch('data:,x').then(() => 'fetch', () => ''),
      new Promise(done => { const i = new Image(); i.onload = () => done('image');
        i.onerror = () => done(''); i.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; }),
      new Promise(done => { const s = document.createElement('script'); s.onload = () => done('script');
        s.onerror = () => done(''); s.src = 'data:text/javascript,1'; document.body.append(s); })])""")
    if loaded != ["", "", ""]:
        sys.exit("%s: loaded %r" % (url, loaded))


def look(b, directory, name):
    b.call("Network.enable")
    page = "file://%s/timeline.html" % directory
    b.open(page)
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
    check(b, page)
    groups = b.run("data.all.filter(r => r.group).map(r => r.group.name)"
                   ".concat([...data.processes.values()].map(p => p.name))")
    if name not in groups:
        sys.exit("processes: %r, without %s" % (groups, name))
    names = b.run("data.tracks.filter(t => t.names.length > 2).map(fullLabel)")
    if len(names) != 1 or "worker-3" not in names[0] or "before </script>\"<b>&'" not in names[0]:
        sys.exit("names of threads: %r" % names)
    if b.run("data.tracks.filter(t => t.tid === t.pid).length"):
        sys.exit("the main thread has no event, but a track")
    check_policy(b, page)
    look_at_flame(b, "file://%s/flame.svg" % directory)
    look_at_report(b, "file://%s/report.html" % directory)
    look_at_live(b, "file://%s/live.html" % directory)


def look_at_flame(b, page):
    b.open(page)
    b.key("Tab")
    b.key("Tab")
    b.key("Tab")
    b.key("Enter")
    b.key("/")
    b.type("</script>")
    b.run("compare('</script>\"<b>;<img src=x onerror=alert(3)> 7', '<img src=x onerror=alert(4)>')")
    check(b, page)
    if not b.run("frames.some(f => f.name === '</script>\"<b>&\\'')"):
        sys.exit("no frame of the thread: %r" % b.run("frames.map(f => f.name)"))


def look_at_report(b, page):
    """Each kind, column and box; a name with markup is text in a table."""
    b.open(page)
    b.run("kinds.forEach(k => { choose(k); pickBoxes([0, columns, 0, 99]); })")
    b.run("for (let k = 0; k < columns; k++) pickColumn(k)")
    links = b.run("[...document.querySelectorAll('a')].map(a => a.href).filter(u => !u.startsWith('file:'))")
    if links:
        sys.exit("links: %r" % links)
    text = b.run("document.body.innerText")
    if "<" not in text or "\u202e" in text:
        sys.exit("the report does not show names as they are: %r" % text[:2000])
    check(b, page)
    check_policy(b, page)


def look_at_live(b, page):
    b.open(page)
    b.key("p")
    for i in range(int(b.run("data.n"))):
        b.run("go(%d)" % i)
    if b.run("data.n") < 3 or not b.run("data.live"):
        sys.exit("live.html: %r" % b.run("[data.n, data.live]"))
    check(b, page)
    check_policy(b, page)


with_browser(lambda b: look(b, *sys.argv[1:]))
