# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines by trail.Event, trail.Handler and logging.FileHandler; see languages.sh."""
import logging
import sys
import time

import trail


def measure(name, lines, line):
    for n in range(100):
        line(n)
    begin = time.process_time_ns()
    for n in range(lines):
        line(n)
    print(name, (time.process_time_ns() - begin) // lines)


def logger_of(name, handler):
    logger = logging.getLogger(name)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return logger


LINES = int(sys.argv[1])
request = trail.Event("lines", "request_python", {"n": int, "path": str})
measure("trail", LINES, lambda n: request(n, "/index.html"))
ours = logger_of("ours", trail.Handler())
measure("handler", LINES, lambda n: ours.info("request n=%d path=%s", n, "/index.html"))
theirs = logger_of("theirs", logging.FileHandler("/dev/null"))
measure("logging", LINES, lambda n: theirs.info("request n=%d path=%s", n, "/index.html"))
