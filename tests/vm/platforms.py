# SPDX-License-Identifier: GPL-2.0-or-later
"""platforms.py PAGE DIRECTORY KERNEL...: for platforms.sh, prints the table of docs/platforms.md.

The columns of the kernels are those of the files DIRECTORY/KERNEL, lines `ROW|VALUE`, where there
are such (`?`: the page's own value); the other columns are the page's.
"""
import os
import sys


def page_columns(path):
    """The columns of a page: {kernel: {row: value}}, and its rows in order."""
    try:
        lines = [l for l in open(path) if l.startswith('|')]
    except FileNotFoundError:
        return {}, []
    cells = [[c.strip() for c in l.strip().strip('|').split('|')] for l in lines]
    if len(cells) < 2:
        return {}, []
    columns = {name: {} for name in cells[0][1:]}
    for row in cells[2:]:
        for name, value in zip(cells[0][1:], row[1:]):
            columns[name][row[0]] = value
    return columns, [row[0] for row in cells[2:]]


def order(name):
    """Series by number, the suites, other processors."""
    series = name.split('-')[0]
    number = [int(n) for n in series.split('.')] if series[0].isdigit() else [99]
    return [100] if name in ('arm64', 'armhf', 'riscv64', 's390x') else number, name


def main():
    columns, rows = page_columns(sys.argv[1])
    for kernel in sys.argv[3:]:
        path = os.path.join(sys.argv[2], kernel)
        if os.path.exists(path):
            found = [l.rstrip('\n').split('|', 1) for l in open(path)]
            # What was not tried this time is as it was.
            before = columns.get(kernel, {})
            columns[kernel] = {n: before.get(n, v) if v == '?' else v for n, v in found}
            names = [name for name, _ in found]
            rows = names + [r for r in rows if r not in names]
    kernels = sorted(columns, key=order)
    print('| | ' + ' | '.join(kernels) + ' |')
    print('|---' * (len(kernels) + 1) + '|')
    for row in rows:
        if not any(row in columns[k] and columns[k][row] != '?' for k in kernels):
            continue            # of an earlier version
        print('| ' + ' | '.join([row] + [columns[k].get(row, '?') for k in kernels]) + ' |')


main()
