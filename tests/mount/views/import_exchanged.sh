#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The input of a session is written while export/csv is made: the file has one of the two traces as
# a whole, or the open fails with ESTALE; never the columns of one and the rows of the other.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
mount_tree
mkdir "$S/s"

PYTHONPATH=$top/tests/lib python3 -B - "$work" "$S/s" <<'END' || fail "two traces are mixed"
from ctf_trace import *
import errno, threading

for name, field in (("one", "n"), ("other", "m")):
    trace(name, TYPES + "trace { major = 1; minor = 8; byte_order = le; };\n"
          "event { name = ev; fields := struct { uint32_t %s; uint8_t of; }; };" % field,
          s0=b"".join(struct.pack("<IB", i, 1) for i in range(2000)))
paths = [os.path.join(sys.argv[1], name) for name in ("one", "other")]

def put(path):
    with open(sys.argv[2] + "/input", "wb", 0) as f:
        f.write(path.encode())

def csv():
    with open(sys.argv[2] + "/export/csv", "rb") as f:
        return f.read()

def exchange():
    while not done.is_set():
        for path in paths:
            put(path)

whole = []
for path in paths:
    put(path)
    whole.append(csv())
assert whole[0] != whole[1] and all(w.count(b"\n") == 2001 for w in whole)
done = threading.Event()
writer = threading.Thread(target=exchange)
writer.start()
mixed = []
for _ in range(1000):
    try:
        got = csv()
    except OSError as e:
        assert e.errno == errno.ESTALE, e
        continue
    if got not in whole:
        mixed.append(got)
done.set()
writer.join()
print("".join("%d bytes that begin with %r\n" % (len(m), m[:80]) for m in mixed[:3]), end="")
sys.exit(bool(mixed))
END
checks=$((checks + 1))
echo "$checks checks"
