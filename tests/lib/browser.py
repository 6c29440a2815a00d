# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium that a test drives over the browser's own protocol, by two pipes."""
import base64
import json
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SLOW = 60      # s: a browser that needs longer for an answer does not work


class Silent(Exception):
    """The browser ends, or does not answer."""


class Browser:
    """Commands of the protocol, one after another."""

    def __init__(self, size=(1280, 720), dark=False):
        self.home = tempfile.mkdtemp(prefix="trailfs-browser.")
        self.events, self.count, self.left, self.session = [], 0, b"", None
        ours, theirs = os.pipe(), os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec chromium "$@" 3<&%d 4>&%d' % (ours[0], theirs[1]), "sh",
             "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--user-data-dir=" + self.home, "--hide-scrollbars", "--no-first-run",
             "about:blank"],
            pass_fds=(ours[0], theirs[1]), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.answers = ours[1], theirs[0]
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.shape(*size, dark=dark)

    def read(self):
        while b"\0" not in self.left:
            ready = select.select([self.answers], [], [], SLOW)[0]
            piece = ready and os.read(self.answers, 1 << 20)
            if not piece:
                raise Silent("the browser %s" % ("has ended" if ready else "does not answer"))
            self.left += piece
        line, self.left = self.left.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.count += 1
        command = {"id": self.count, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def shape(self, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def run(self, script):
        """The value of an expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (script, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def open(self, url):
        """Returns the seconds until the page's scripts have run and a frame has been drawn."""
        begin = time.monotonic()
        self.events = []
        self.call("Page.navigate", url=url)
        # Each step of the load is an event; one may still be of the empty page before.
        while not self.run("location.href !== 'about:blank' && document.readyState === 'complete'"):
            self.events.append(self.read())
        self.frame()
        return time.monotonic() - begin

    def wait(self, what, expression):
        """Until the expression holds: some changes come a moment after the key."""
        begin = time.monotonic()
        while not self.run(expression):
            if time.monotonic() - begin > SLOW:
                sys.exit("%s: not after %d s" % (what, SLOW))
            time.sleep(0.01)
        self.frame()

    def frame(self):
        """Waits until the page has drawn what the last command changed."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key, text=None):
        named = {"key": key, "code": key if len(key) > 1 else "", "windowsVirtualKeyCode":
                 {"Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                  "ArrowDown": 40, "Enter": 13}.get(key, ord(key[0].upper()))}
        if len(key) == 1:
            named["text"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown", **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text):
        """All at once: a slow machine would show what a part of the text finds."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, path):
        self.frame()
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def errors(self):
        """What scripts of the page have failed with."""
        return [e for e in self.events if e["method"] == "Runtime.exceptionThrown" or
                e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]

    def close(self):
        # Its processes are a group of their own; some of them still write files.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)


def with_browser(use):
    """Runs use(browser). Exits with 77 if there is no browser here, or it is silent."""
    b = None
    try:
        b = Browser()
        use(b)
    except (Silent, OSError) as e:
        print(e)
        sys.exit(77)
    finally:
        if b:
            b.close()


def main():
    """browser.py URL [DIRECTORY]: prints the seconds until the page of a time line can be used.

    Writes two pictures to the directory: all of it, light; then the program slices.c, dark. Of a
    flame graph: light and dark.
    """
    b = None
    try:
        b = Browser()
        print("%.2f" % b.open(sys.argv[1]))
        if sys.argv[2:] and sys.argv[1].endswith(".svg"):
            tall = b.run("+document.documentElement.getAttribute('height')")
            for dark in False, True:
                b.shape(1120, math.ceil(tall), dark)
                b.screenshot(sys.argv[2] + ("/flame-dark.png" if dark else "/flame.png"))
        elif sys.argv[2:]:
            b.shape(1120, 560, False)
            b.screenshot(sys.argv[2] + "/timeline.png")
            b.shape(1120, 600, True)
            b.run("$('q').value = 'work:'; refresh(); show(data.time[rows[2000]],"
                  " data.time[rows[2060]]); go(2001, true); view.y ="
                  " data.rows.find(r => r.group && r.group.name.startsWith('slices')).y - 24")
            b.screenshot(sys.argv[2] + "/timeline-dark.png")
    except (Silent, OSError) as e:
        print(e)
    finally:
        if b:
            b.close()


if __name__ == "__main__":
    main()
