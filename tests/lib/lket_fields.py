# SPDX-License-Identifier: GPL-2.0-or-later
"""lket_fields.py KERNELS KERNEL OUT DIR…: which of LKET's fields the records of hooks fill.

Each DIR is `export/lket`. Its files are decoded from LKET's description alone. A field is filled if
one record of its hook has another value than 0 or the empty string. KERNELS is
data/lket-kernels.txt: its lines `empty HOOK FIELD…: REASON` name the fields that are not. Prints each
field that is neither. OUT gets the lines
`HOOK FIELD VALUE` with a value of each, or `-`. Prints at last the numbers of records in the first DIR
that have a thread, a process, a parent, and of all its records.
"""
import glob
import re
import struct
import sys
from collections import defaultdict
from fnmatch import fnmatchcase

SIZES = {"INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "UINT8": 1, "UINT16": 2, "UINT32": 4,
         "UINT64": 8, "STRING": 0}


def cut_string(data):
    end = data.index(b"\0")
    return data[:end].decode("utf-8", "replace"), data[end + 1:]


def read_file(path, names, fields, values, common):
    with open(path, "rb") as f:
        data = f.read()
    magic, length = struct.unpack_from("<Ih", data)
    if magic != 0xAEFCDB6B or length != 9:
        sys.exit("%s: no header of LKET" % path)
    at = 6 + length
    while at < len(data):
        total, system, _, thread, rest = struct.unpack_from("<hhqQQ", data, at)
        body = data[at + 28:at + 4 + system]
        kind = (rest >> 24 & 255, rest >> 16 & 255)
        at += 4 + total
        if kind[0] == 1:                # a description
            of = (body[0], body[1])
            if kind[1] == 5:
                names[of] = cut_string(body[2:])[0]
            elif kind[1] == 1:
                types, more = cut_string(body[2:])
                fields[of] = list(zip(cut_string(more)[0].split(":"), types.split(":")))
            continue
        if kind[0] >= 128:              # no hook
            continue
        common[0] += thread >> 32 != 0
        common[1] += thread & 0xffffffff != 0
        common[2] += rest >> 32 not in (0, 0xffffffff)
        common[3] += 1
        for name, type_name in fields.get(kind, ()):
            if not SIZES[type_name]:
                value, body = cut_string(body)
            else:
                value = int.from_bytes(body[:SIZES[type_name]], "little",
                                       signed=type_name[0] == "I")
                body = body[SIZES[type_name]:]
            seen = values[names[kind]]
            seen[name] = seen.get(name) or value
        if body:
            sys.exit("%s: %d bytes are left of a record" % (names[kind], len(body)))


def read_empty(path, kernel):
    """The fields that no record fills, by patterns of hooks."""
    known = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            found = re.match(r"empty (\S+) ([^:]*): (?:(6[.\d, ]*): )?", line)
            if found and kernel in (found.group(3) or kernel).split(", "):
                known.append((found.group(1), found.group(2).split()))
    return known


def main():
    empty = read_empty(sys.argv[1], sys.argv[2])
    values, common = defaultdict(dict), [0, 0, 0, 0]
    for directory in sys.argv[4:]:
        names, fields, counts = {}, {}, [0, 0, 0, 0]
        # The descriptions are in the file of the CPU with the first event.
        for path in sorted(glob.glob(directory + "/stpd_cpu*"), key=describes, reverse=True):
            read_file(path, names, fields, values, counts)
        common = common if common[3] else counts
    filled = 0
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        for hook in sorted(values):
            for name, value in values[hook].items():
                named = any(fnmatchcase(hook, h) and name in f for h, f in empty)
                filled += bool(value)
                out.write("%s %s %s\n" % (hook, name, value or "-"))
                if not value and not named:
                    print("%s: nothing fills %s" % (hook, name))
    total = sum(map(len, values.values()))
    print("%d of %d fields are filled; records: %d %d %d %d" % ((filled, total) + tuple(common)))


def describes(path):
    with open(path, "rb") as f:
        head = f.read(15 + 28)
    return len(head) == 43 and struct.unpack_from("<Q", head, 35)[0] >> 24 & 255 == 1


main()
