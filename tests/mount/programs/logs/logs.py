# SPDX-License-Identifier: GPL-2.0-or-later
"""What is difficult for trail.Handler: records that cannot be printed, logging within logging, in a
child of fork(), and when the program has used all events itself."""
import logging
import os
import sys
import threading

import trail


class Fails:
    def __str__(self):
        raise ValueError("no text")


def while_made(what):
    """Calls it when the handler makes an event."""
    def profile(frame, event, _):
        if event == "call" and frame.f_code is trail.Event.__init__.__code__:
            sys.setprofile(None)
            what()
    sys.setprofile(profile)


log = logging.getLogger("hard")
log.setLevel(1)
log.propagate = False
log.addHandler(trail.Handler())

log.info("wrong %d", "x")
log.info("few %s %s", 1)
log.info("item", extra={"bad": Fails()})
log.info("nul\0", extra={"text": "a\0b", "": 1, "é": 2, "ü": 3})
log.error("wide", extra={"f%d" % n: n for n in range(61)})

while_made(lambda: log.info("inner", extra={"k": "s"}))
log.info("outer", extra={"k": "s"})

entered, leave = threading.Event(), threading.Event()


def wait():
    entered.set()
    leave.wait()


def log_in_thread():
    while_made(wait)
    log.info("thread", extra={"other": 1})


thread = threading.Thread(target=log_in_thread)
thread.start()
entered.wait()
child = os.fork()
if child == 0:
    log.info("child", extra={"child": 1})
    os._exit(0)
os.waitpid(child, 0)
leave.set()
thread.join()

flag = trail.Event("hard", "flag", {"flag": bool})
for value in (True, False, -1, 2, "x", None):
    flag(value)

own = []
try:
    while True:
        own.append(trail.Event("hard", "own"))
except OSError:
    pass
log.critical("full", extra={"full": 1})
