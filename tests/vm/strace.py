# SPDX-License-Identifier: GPL-2.0-or-later
"""strace.py DIRECTORY: for strace.sh, compares what trailfs recorded with what strace printed.

The directory has `json`, the events of two runs of one program, and of each run FORM (`raw`: strace
with numbers only, `plain`: with text) strace's output FORM and the program's pid, FORM.pid.
"""
import json
import re
import sys

CALLS = 77                      # of getppid(2), as strace.sh has it
LEAST = 40                      # different system calls whose arguments are compared
# strace has the names of programs, and the kernel's events those of its functions.
NAMES = {'stat': 'newstat', 'lstat': 'newlstat', 'fstat': 'newfstat', 'uname': 'newuname',
         'umount2': 'umount'}
LINE = re.compile(r'^(\w+)\((.*)\)\s+= ')


def split(text):
    """The arguments of a line of strace."""
    parts, depth, quoted, begin, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == '\\'
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in '[{(':
            depth += 1
        elif c in ']})':
            depth -= 1
        elif c == ',' and not depth:
            parts.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    parts.append(text[begin:].strip())
    return [p for p in parts if p]


def read_strace(path):
    """The calls after the program has begun: (name, arguments)."""
    found = [LINE.match(l) for l in open(path, errors='replace')]
    calls = [(NAMES.get(m.group(1), m.group(1)), split(m.group(2))) for m in found if m]
    assert calls[0][0] == 'execve', calls[0]
    return calls[1:]


def read_trace(path, pid):
    """The entries of the thread: (name, fields)."""
    entries = []
    for line in open(path):
        line = line.strip().strip('[],')
        if '"syscall_entry_' not in line:
            continue
        event = json.loads(line)
        if event['context']['tid'] == pid:
            entries.append((event['event'][len('syscall_entry_'):], event['fields']))
    return entries


def same_number(got, wanted):
    """A field may have as many bits as the argument's type in C."""
    if (got - wanted) % 2 ** 64 == 0:
        return True
    return any(-2 ** (bits - 1) <= got < 2 ** bits and (got - wanted) % 2 ** bits == 0
               for bits in (32, 16))


def compare(name, fields, raw, plain):
    """How many arguments are the same; fails at one that is not."""
    values = [v for k, v in fields.items()]
    same = 0
    for i, wanted in enumerate(raw):
        if i >= len(values) or isinstance(values[i], (list, dict)):
            break               # trail.ko has what it leads to in its place
        got, number = values[i], int(wanted, 0)
        if isinstance(got, str) and re.match(r'^0x[0-9a-fA-F]+$', got):
            assert int(got, 16) == number, (name, i, got, wanted)
        elif isinstance(got, str):
            assert '"%s"' % got == plain[i], (name, i, got, plain[i])
        elif not same_number(got, number):
            # trail.ko: the family of an address in place of its pointer
            assert name in ('bind', 'connect') and i == 1, (name, i, got, wanted)
            break
        same += 1
    return same


def main():
    where = sys.argv[1]
    calls = {form: read_strace(f'{where}/{form}') for form in ('raw', 'plain')}
    names = [c[0] for c in calls['raw']]
    assert names == [c[0] for c in calls['plain']], 'the two runs differ'
    compared, arguments, text = set(), 0, 0
    for form in ('raw', 'plain'):
        pid = int(open(f'{where}/{form}.pid').read())
        trace = read_trace(f'{where}/json', pid)[-len(names):]
        got = [name for name, _ in trace]
        assert got == names, ('other calls', got, names)
        assert got.count('getppid') == CALLS, got.count('getppid')
        if form == 'plain':
            continue            # its addresses are those of `raw` only as far as it read nothing
        begin = names.index('open')
        for (name, fields), (_, raw), (_, plain) in list(
                zip(trace, calls['raw'], calls['plain']))[begin:]:
            same = compare(name, fields, raw, plain)
            text += sum(isinstance(v, str) and not v.startswith('0x') for v in fields.values())
            compared.add(name)
            arguments += same
    assert len(compared) >= LEAST, sorted(compared)
    print(f'{where.split(".")[-1]}: {len(compared)} system calls, {arguments} arguments are as '
          f'strace has them, {text} of them as text; {CALLS} of {CALLS} calls')


main()
