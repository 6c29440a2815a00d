#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
judge_metrics.py FILE [SESSION COUNTS DOMAIN:VALUES.JSON...]: the file is text of OpenMetrics 1.0, and
has what `counts` of the session and `values.json` of its maps say. It is parsed here by the grammar
of the specification, not by a library. Prints each sample: name, labels, value.
"""
import json
import math
import re
import shlex
import sys

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="')
NUMBER = re.compile(r'[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|[+-]?[Ii]nf(inity)?$|[nN]a[nN]$')
SUFFIXES = {'counter': ['_total', '_created'], 'gauge': [''],
            'histogram': ['_bucket', '_sum', '_count', '_created']}


def fail(*words):
    sys.exit('FAILED: ' + ' '.join(str(w) for w in words))


def labels_of(text, line):
    """The labels, and what follows the brace."""
    labels = {}
    while not text.startswith('}'):
        match = LABEL.match(text)
        if not match:
            fail('no label', line)
        name, value, at = match.group(1), '', match.end()
        while text[at:at + 1] != '"':
            if at >= len(text):
                fail('no end of a label', line)
            if text[at] == '\\':
                if text[at + 1:at + 2] not in ('\\', 'n', '"'):
                    fail('an escape that is none', line)
                value += {'n': '\n'}.get(text[at + 1], text[at + 1])
                at += 2
            else:
                value += text[at]
                at += 1
        if name in labels or name.startswith('__'):
            fail('label', name, line)
        labels[name] = value
        text = text[at + 1:]
        if text.startswith(','):
            text = text[1:]
            if not LABEL.match(text):
                fail('a comma without label', line)
        elif not text.startswith('}'):
            fail('no comma', line)
    return labels, text[1:]


def canonical(v):
    """As the specification says of le: 0.0, 100000.0, 1e+06."""
    if math.isinf(v):
        return '+Inf' if v > 0 else '-Inf'
    text = repr(v)
    mantissa, _, exponent = ('%.*e' % (17, v)).partition('e')
    for digits in range(18):
        text = '%.*e' % (digits, v)
        if float(text) == v:
            break
    exponent = int(text.partition('e')[2])
    return text if exponent < -4 or exponent >= 6 else repr(v)


def parse(data):
    text = data.decode('utf-8')         # raises if it is not UTF-8
    if not text.endswith('# EOF\n') or text.count('# EOF') != 1:
        fail('it does not end with # EOF')
    families, family = {}, None
    for line in text[:-len('# EOF\n')].split('\n')[:-1]:
        if line.startswith('# '):
            words = line.split(' ', 3)
            what, name = words[1], words[2]
            if what not in ('TYPE', 'UNIT', 'HELP') or not NAME.fullmatch(name):
                fail('descriptor', line)
            if not family or family['name'] != name:
                if name in families:
                    fail('a family in two places', line)
                family = families[name] = {'name': name, 'samples': []}
            if what in family or family['samples']:
                fail('a descriptor twice, or after samples', line)
            family[what] = words[3]
            continue
        match = NAME.match(line)
        if not match or not family:
            fail('no sample', line)
        name, rest, labels = match.group(0), line[match.end():], {}
        if rest.startswith('{'):
            labels, rest = labels_of(rest[1:], line)
        if not rest.startswith(' ') or not NUMBER.match(rest[1:]):
            fail('no number', line)
        suffix = name[len(family['name']):]
        if not name.startswith(family['name']) or suffix not in SUFFIXES[family['TYPE']]:
            fail('sample of another family', line)
        family['samples'].append((suffix, labels, rest[1:]))
    return families


def key(labels):
    return tuple(sorted((k, v) for k, v in labels.items() if k != 'le'))


def check_family(f):
    seen, order, last = set(), {}, None
    if 'TYPE' not in f or 'HELP' not in f or not f['samples']:
        fail(f['name'], 'has no type, help or samples')
    if 'UNIT' in f and not f['name'].endswith('_' + f['UNIT']):
        fail(f['name'], 'unit')
    for suffix, labels, value in f['samples']:
        metric = key(labels)
        if metric != last and metric in order:
            fail(f['name'], 'a metric in two places', labels)
        last = metric
        order.setdefault(metric, []).append((suffix, labels, value))
        same = (suffix, metric, labels.get('le'))
        if same in seen:
            fail(f['name'], 'a sample twice', labels)
        seen.add(same)
        if ('le' in labels) != (suffix == '_bucket'):
            fail(f['name'], 'le')
        if f['TYPE'] != 'gauge' and suffix != '_sum' and not float(value) >= 0:
            fail(f['name'], 'is negative', labels, value)
    if f['TYPE'] == 'histogram':
        for samples in order.values():
            check_histogram(f['name'], samples)
    f['index'] = {(s[0], key(s[1])): s for s in f['samples'] if s[0] != '_bucket'}
    f['metrics'] = order


def check_histogram(name, samples):
    buckets = [(s[1]['le'], int(s[2])) for s in samples if s[0] == '_bucket']
    others = {s[0]: s[2] for s in samples if s[0] != '_bucket'}
    bounds = [float(le) for le, _ in buckets]
    counts = [n for _, n in buckets]
    if bounds != sorted(set(bounds)) or counts != sorted(counts) or buckets[-1][0] != '+Inf':
        fail(name, 'buckets', buckets)
    for le, bound in zip((le for le, _ in buckets), bounds):
        if le != canonical(bound):
            fail(name, 'le is', le, 'not', canonical(bound))
    if ('_sum' in others) == (bounds[0] < 0) or ('_sum' in others) != ('_count' in others):
        fail(name, 'sum', others, bounds[0])
    if '_count' in others and int(others['_count']) != counts[-1]:
        fail(name, 'count')


def value_of(families, family, suffix='_total', **labels):
    found = families.get(family, {'index': {}})['index'].get((suffix, key(labels)))
    if not found:
        fail('no', family, labels)
    return float(found[2])


def compare(what, wanted, got):
    if wanted != got:
        fail(what, 'is', got, 'not', wanted)


def compare_counts(families, session, path):
    lines = 0
    for line in open(path):
        if line.startswith('#'):
            continue
        domain, channel, event, *numbers = shlex.split(line)
        labels = {'session': session, 'domain': domain, 'channel': channel}
        if event == '*':
            compare(line, int(numbers[1]), value_of(families, 'trailfs_events_discarded', **labels))
            compare(line, int(numbers[2]),
                    value_of(families, 'trailfs_events_overwritten', **labels))
        elif not event.startswith('*/'):
            lines += 1
            compare(line, int(numbers[0]),
                    value_of(families, 'trailfs_events_recorded', event=event, **labels))
    have = [s for s in families['trailfs_events_recorded']['samples']
            if s[1]['session'] == session]
    compare('number of events', lines, len(have))


def compare_map(families, session, domain, m):
    for i, rule in enumerate(m['rules']):
        base = {'session': session, 'domain': domain, 'map': m['map'], 'rule': str(i + 1)}
        value_of(families, 'trailfs_map_rule_info', '', text=rule['rule'], **base)
        for family, member in (('events', 'events'), ('events_lost', 'lost'),
                               ('events_missing', 'missing'), ('events_left_out', 'left_out')):
            compare(rule['rule'] + ' ' + member, rule[member],
                    value_of(families, 'trailfs_map_' + family, **base))
        for row in rule['values']:
            keys = {name.replace('$ctx.', '').replace('.', '_'): str(v)
                    for name, v in row['key'].items()}
            compare(row, row['events'],
                    value_of(families, 'trailfs_map_key_events', **base, **keys))
            for operator, v in row.items():
                if operator in ('key', 'events', 'count'):
                    continue
                labels = dict(base, **keys, operator=operator)
                if operator.startswith(('hist', 'lhist')):
                    compare_histogram(families, labels, v, row['events'])
                elif operator.startswith('topk'):
                    for rank, n in enumerate(v):
                        compare(row, n, value_of(families, 'trailfs_map_value', '',
                                                 **labels, rank=str(rank + 1)))
                else:
                    compare(row, v, value_of(families, 'trailfs_map_value', '', **labels))


def compare_histogram(families, labels, intervals, events):
    """The counts of each interval [from, to) are the differences of buckets."""
    buckets = {float(s[1]['le']): int(s[2])
               for s in families['trailfs_map_distribution']['metrics'].get(key(labels), [])
               if s[0] == '_bucket'}
    compare('all', events, buckets[math.inf])
    for n in intervals:
        low = max((b for b in buckets if b < n.get('from', -math.inf)), default=None)
        high = max((b for b in buckets if b < n['to']), default=None) if 'to' in n else math.inf
        if high is None:
            fail('no bucket for', n, labels, buckets)
        # (The first interval of hist ends with -1, and is shown as one below 0.)
        compare(n, n['count'], buckets[high] - (buckets[low] if low is not None else 0))


families = parse(open(sys.argv[1], 'rb').read())
for family in families.values():
    check_family(family)
if len(sys.argv) > 2:
    compare_counts(families, sys.argv[2], sys.argv[3])
    for argument in sys.argv[4:]:
        domain, _, path = argument.partition(':')
        compare_map(families, sys.argv[2], domain, json.load(open(path)))
for family in families.values():
    for suffix, labels, value in family['samples']:
        print(family['name'] + suffix, json.dumps(labels, sort_keys=True, ensure_ascii=False),
              value)
