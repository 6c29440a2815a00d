# SPDX-License-Identifier: GPL-2.0-or-later
"""log.py WAIT: logs once a line comes on standard input (WAIT = 1), and checks the module."""
import errno
import logging
import os
import sys
import threading

import trail


class Other(logging.Handler):
    """It finds records as they are without trail."""

    def emit(self, record):
        assert not record.exc_text and not hasattr(record, "asctime"), record


log = logging.getLogger("shop.orders")
log.setLevel(logging.DEBUG)
log.propagate = False
log.addHandler(trail.Handler())
log.addHandler(Other())
cart = trail.Event("my_app", "cart", {"items": list, "text": str})
request = trail.Event("my_app", "request", {"id": int, "ms": float, "path": str, "ok": bool})
# They are there until the interpreter ends: nothing is printed then.
sys.kept = [request, log]
sys.kept.append(sys.kept)


def error_of(*args):
    try:
        trail.Event(*args)
    except OSError as e:
        return errno.errorcode[e.errno]


for bad in (("p", ""), ("p", "a,b"), ("p", "a b"), ("", "a"), ("p", "a", (), 15),
            ("p", "x" * 256), ("p", "a", [("f%d" % i, int) for i in range(65)]),
            ("p", "a", {"": int}), ("my app", "a"), ("p", "a", {"x y": int}),
            ("p:q", "a"), ("p", "a\x01b"), ("p", "a\x7fb"), ("p", "a\\b"), ("p\0q", "a")):
    assert error_of(*bad) == "EINVAL", bad
many = [trail.Event("p", "n") for _ in range(121)]  # the handler has five
assert error_of("p", "n") == "ENOSPC"
del many
print("ready", flush=True)
if sys.argv[1] == "1":
    sys.stdin.readline()
log.debug("none")
log.info("paid %d of %d", 1, 2, extra={"user": "ann", "sum": 2.5, "n": -7, "new": True})
log.warning("big", extra={"n": 1 << 63, "none": None, "a-b": 1, "level": 3})
log.info("again", extra={"user": "b\0b", "sum": 0.25, "n": 1, "new": False})
log.error("long %s", "x" * 3000)
try:
    1 / 0
except ZeroDivisionError:
    log.critical("failed", exc_info=True)
request(42, 1.5, "/ä", True)
cart([1, 2.5], None)
thread = threading.Thread(target=request, args=(-1, 0, "thread", 0))
thread.start()
thread.join()
if os.fork() == 0:
    request(2, 0, "child", 1)
    os._exit(0)
assert os.wait()[1] == 0
try:
    request(1)
    assert False
except TypeError:
    pass


class Unprintable:
    def __str__(self):
        raise RuntimeError


# Lost, and counted
for values in ((1 << 63, 0, "", 0), (-1 - (1 << 63), 0, "", 0), (1 << 64, 0, "", 0),
               ("1", 0, "", 0), (1, None, "", 0), (1, 0, Unprintable(), 0)):
    request(*values)
for i in range(120):
    log.info("layout", extra={"k%d" % i: i})
