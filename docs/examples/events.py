# SPDX-License-Identifier: MIT

"""Events of a Python program, and what it logs, by the module trail (see trail-python(3))."""

import logging

import trail

request = trail.Event("my_app", "request", {"id": int, "path": str, "ms": float})
request(42, "/index.html", 1.5)

logging.getLogger().addHandler(trail.Handler())
logging.getLogger("my_app").warning("slow: %s", "/index.html")
