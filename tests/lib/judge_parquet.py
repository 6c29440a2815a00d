# SPDX-License-Identifier: GPL-2.0-or-later
"""
judge_parquet.py PARQUET CSV: reads a flat Parquet file by the format's documents alone, and compares
it with the table of export/csv: columns, rows and values. Prints: rows, columns, row groups.
"""
import csv
import struct
import sys
import zlib


class Thrift:
    """The compact protocol: structures as dictionaries by the numbers of their fields."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        n = shift = 0
        while True:
            b = self.byte()
            n |= (b & 127) << shift
            shift += 7
            if b < 128:
                return n

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (5, 6):
            n = self.varint()
            return n >> 1 ^ -(n & 1)
        if kind == 8:
            n = self.varint()
            self.at += n
            return self.data[self.at - n:self.at]
        if kind == 9:
            head = self.byte()
            n = head >> 4 if head < 0xf0 else self.varint()
            return [self.value(head & 15) for _ in range(n)]
        if kind == 12:
            return self.struct()
        sys.exit('thrift: type %d' % kind)

    def struct(self):
        out, last = {}, 0
        while True:
            head = self.byte()
            if not head:
                return out
            last += head >> 4
            out[last] = self.value(head & 15)


def levels(data, count):
    """Bits of the levels of definition."""
    t, out = Thrift(data), []
    while len(out) < count:
        head = t.varint()
        if head & 1:
            for _ in range(head >> 1):
                b = t.byte()
                out += [b >> i & 1 for i in range(8)]
        else:
            out += [t.byte()] * (head >> 1)
    return out[:count]


def read_page(data, chunk, rows):
    meta = chunk[3]
    t = Thrift(data)
    t.at = meta[9]
    page = t.struct()
    packed = data[t.at:t.at + page[3]]
    if t.at + page[3] - meta[9] != meta[7]:
        sys.exit('the size of a column chunk is wrong')
    raw = zlib.decompress(packed, 31) if meta[4] else packed
    if len(raw) != page[2] or page[5][1] != rows:
        sys.exit('the size of a page is wrong')
    n, = struct.unpack_from('<I', raw)
    present, at, out = levels(raw[4:4 + n], rows), 4 + n, []
    for there in present:
        if not there:
            out.append(None)
        elif meta[1] == 6:
            n, = struct.unpack_from('<I', raw, at)
            out.append(raw[at + 4:at + 4 + n].decode())
            at += 4 + n
        else:
            kind = {2: '<q', 4: '<f', 5: '<d'}[meta[1]]
            out.append(struct.unpack_from(kind, raw, at)[0])
            at += struct.calcsize(kind)
    if at != len(raw):
        sys.exit('a page has more than its values')
    return out


def read_table(path):
    """The elements of the schema, the rows, and how many row groups they are in."""
    data = open(path, 'rb').read()
    if data[:4] != b'PAR1' or data[-4:] != b'PAR1':
        sys.exit('no Parquet')
    n, = struct.unpack('<I', data[-8:-4])
    meta = Thrift(data[-8 - n:-8]).struct()
    schema = meta[2][1:]
    names = [e[4].decode() for e in schema]
    unsigned = {i for i, e in enumerate(schema) if e.get(6) == 14}
    rows = []
    for group in meta[4]:
        columns = [read_page(data, chunk, group[3]) for chunk in group[1]]
        if [c[3][3][0].decode() for c in group[1]] != names:
            sys.exit('the columns of a row group are others')
        for i in unsigned:
            columns[i] = [v if v is None else v & 2**64 - 1 for v in columns[i]]
        rows += list(zip(*columns))
    if len(rows) != meta[3]:
        sys.exit('%d rows, not %d' % (len(rows), meta[3]))
    return schema, rows, len(meta[4])


def main():
    schema, rows, groups = read_table(sys.argv[1])
    names = [e[4].decode() for e in schema]
    # `time` in microseconds, `time_ns` exactly, as the table has it.
    kinds = {e[4].decode(): e for e in schema}
    if kinds['time'].get(6) != 10 or 2 not in kinds['time'][10][8][2] or not kinds['time'][10][8][1]:
        sys.exit('time is %r' % kinds['time'])
    if names[:2] != ['time', 'time_ns'] or 6 in kinds['time_ns'] or 10 in kinds['time_ns']:
        sys.exit('columns %s' % names)
    for row in rows:
        if row[1] is not None and row[0] != row[1] // 1000:
            sys.exit('time %r, time_ns %r' % row[:2])
    names = ['time'] + names[2:]
    rows = [row[1:] for row in rows]
    table = list(csv.reader(open(sys.argv[2], newline='')))
    if table[0] != names:
        sys.exit('columns %s, not %s' % (names, table[0]))
    if len(table) - 1 != len(rows):
        sys.exit('%d rows, csv has %d' % (len(rows), len(table) - 1))
    for want, got in zip(table[1:], rows):
        for name, w, g in zip(names, want, got):
            if isinstance(g, float) and w:
                kind = '<f' if kinds[name][1] == 4 else '<d'
                same = struct.pack(kind, float(w)) == struct.pack(kind, g)
            else:
                same = w == ('' if g is None else str(g))
            if not same:
                sys.exit('%s is %r, in csv %r: %s' % (name, g, w, want))
    print(len(rows), len(names) + 1, groups)


if __name__ == '__main__':
    main()
