# SPDX-License-Identifier: GPL-2.0-or-later
"""lket_records.py DIR: a line `HOOK FIELD:TYPE=VALUE,…` for each record of LKET's files in DIR.

DIR is `export/lket`. Names, types and signs are those of the descriptions in the files; the fields are
LKET's own, without those of users. Kinds without a hook have the group that they are numbered by.
"""
import glob
import re
import struct
import sys


def cut_string(data):
    end = data.index(b"\0")
    return data[:end].decode("utf-8", "replace"), data[end + 1:]


def records(path):
    with open(path, "rb") as f:
        data = f.read()
    at = 15
    while at < len(data):
        total, system, _, _, kind = struct.unpack_from("<hhqQQ", data, at)
        yield (kind >> 24 & 255, kind >> 16 & 255), data[at + 28:at + 4 + system]
        at += 4 + total


names, fields, lines = {}, {}, []
for path in glob.glob(sys.argv[1] + "/stpd_cpu*"):
    for (group, hook), body in records(path):
        if group != 1:
            continue
        if hook == 5:
            names[tuple(body[:2])] = cut_string(body[2:])[0]
        elif hook == 1:
            types, rest = cut_string(body[2:])
            fields[tuple(body[:2])] = list(zip(cut_string(rest)[0].split(":"), types.split(":")))
for path in glob.glob(sys.argv[1] + "/stpd_cpu*"):
    for kind, body in records(path):
        if kind[0] == 1:
            continue
        text = ""
        for name, of in fields.get(kind, ()):
            size = int(re.sub("[^0-9]", "", of) or 0) // 8
            if size:
                value, body = int.from_bytes(body[:size], "little", signed=of[0] == "I"), body[size:]
            else:
                value, body = cut_string(body)
            text += "%s:%s=%s," % (name, of, value)
        print(names[kind], text)
