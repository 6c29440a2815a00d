# SPDX-License-Identifier: GPL-2.0-or-later
"""make_lket.py DIRECTORY: LKET's files of two CPUs, big endian, with times of gettimeofday.

Fields of all types, user fields after those of the system, an event without a name, and a last event
that is cut off.
"""
import os
import struct
import sys


def event(usec, group, hook, cpu, system, user=b""):
    common = struct.pack(">QQQ", usec, 101 << 32 | 100,
                         7 << 32 | group << 24 | hook << 16 | cpu << 8)
    return struct.pack(">hh", 24 + len(system) + len(user), 24 + len(system)) + common + system + user


def describe(hook, group, number, *texts):
    return event(1700000000000000, 1, hook, 0,
                 bytes([group, number]) + b"".join(t.encode() + b"\0" for t in texts))


def write(path, data):
    with open(path, "wb") as f:
        f.write(struct.pack(">IhBBBBBi", 0xAEFCDB6B, 9, 1, 1, 2, 2, 64, 0) + data)


os.makedirs(sys.argv[1], exist_ok=True)
start = 1700000000000000
write(sys.argv[1] + "/stpd_cpu0",
      describe(5, 9, 1, "iosyscall.open.entry") +
      describe(1, 9, 1, "STRING:INT32:INT32", "filename:flags:mode") +
      describe(3, 9, 1, "INT8:UINT16:INT64", "small:unsigned:large") +
      describe(5, 9, 2, "iosyscall.open.return") + describe(1, 9, 2, "INT64", "return") +
      describe(1, 3, 5, "UINT8:UINT32:UINT64:INT16", "a:b:c:d") +
      event(start + 1, 9, 1, 0, b"/etc/passwd\0" + struct.pack(">ii", -1, 0o644),
            struct.pack(">bHq", -3, 65535, -2 ** 40)) +
      event(start + 3, 9, 2, 0, struct.pack(">q", -2)) +
      event(start + 4, 9, 2, 0, struct.pack(">q", 5))[:-1])
write(sys.argv[1] + "/stpd_cpu1",
      event(start + 2, 3, 5, 1, struct.pack(">BIQh", 255, 2 ** 32 - 1, 2 ** 64 - 1, -2)))
