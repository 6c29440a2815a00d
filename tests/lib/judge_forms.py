#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
judge_forms.py SCHEMA KIND JSON TEXT: the JSON file of the mount is valid by a definition of the schema
(docs/schema.json), and has the values of the text form: status, counts, rules or stats. The
validator knows what that schema uses; where python3-jsonschema is installed, it judges as well.
"""
import json
import re
import shlex
import sys

TYPES = {'object': dict, 'array': list, 'string': str, 'null': type(None)}


def fail(*words):
    sys.exit('FAILED: ' + ' '.join(str(w) for w in words))


def is_type(value, name):
    if name in ('integer', 'number'):
        return isinstance(value, (int,) if name == 'integer' else (int, float)) and \
            not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problem(value, rule, schema, at='$'):
    """None, or what is wrong."""
    known = {'$ref', 'type', 'enum', 'minimum', 'minLength', 'required', 'properties', 'items',
             'additionalProperties', 'anyOf', 'description'}
    if set(rule) - known:
        fail('the validator does not know', set(rule) - known)
    if '$ref' in rule:
        target = schema
        for part in rule['$ref'].split('/')[1:]:
            target = target[part]
        return problem(value, target, schema, at)
    if 'anyOf' in rule and all(problem(value, r, schema, at) for r in rule['anyOf']):
        return '%s: %r is none of the allowed' % (at, value)
    types = rule.get('type', [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        return '%s: %r is no %s' % (at, value, types)
    if 'enum' in rule and value not in rule['enum']:
        return '%s: %r is none of %s' % (at, value, rule['enum'])
    if 'minimum' in rule and value is not None and value < rule['minimum']:
        return '%s: %r is less than %s' % (at, value, rule['minimum'])
    if 'minLength' in rule and len(value) < rule['minLength']:
        return '%s: %r is too short' % (at, value)
    if isinstance(value, dict):
        for name in rule.get('required', []):
            if name not in value:
                return '%s: no member %s' % (at, name)
        others = rule.get('additionalProperties', {})
        for name, member in value.items():
            r = rule.get('properties', {}).get(name, others)
            wrong = '%s: member %s' % (at, name) if r is False else \
                problem(member, r, schema, '%s.%s' % (at, name))
            if wrong:
                return wrong
    if isinstance(value, list):
        for i, item in enumerate(value):
            wrong = problem(item, rule.get('items', {}), schema, '%s[%d]' % (at, i))
            if wrong:
                return wrong
    return None


def pairs_once(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        fail('a member twice', names)
    return dict(pairs)


def number(word):
    return None if word == '-' else int(word)


def nanoseconds(word, factor):
    if word == '-':
        return None
    whole, _, rest = word.partition('.')
    return int(whole) * factor + int(rest)


def rows(text):
    return [line for line in text.splitlines() if line and not line.startswith('#')]


def same(what, text, form):
    if text != form:
        fail(what, 'has', form, 'for', text)


def compare_status(text, form):
    seen = {}
    for line in rows(text):
        key, _, value = line.partition(' ')
        seen.setdefault(key, []).append(value)
    work = ('syncing', 'pending')       # (may end between the two reads)
    seen = {k: v for k, v in seen.items() if not k.startswith(work)}
    form = {k: v for k, v in form.items() if not k.startswith(work)}
    same('keys', sorted(seen), sorted(form))
    changing = ('cpu_us', 'cpu_user_us', 'cpu_system_us', 'uptime_us', 'started', 'frozen_bytes',
                'user', 'bytes', 'buffer_bytes',
                'apps_free_bytes', 'snapshots_copied')
    for key, values in seen.items():
        have = form[key] if isinstance(form[key], list) else [form[key]]
        if key not in changing:
            same(key, values, [str(v) for v in have])


def compare_counts(text, form):
    events = [[r['domain'], r['channel'], '?' if r['event'] is None else r['event'], r['recorded'],
               r['discarded'], r['overwritten'], r['rejected']] for r in form['events']]
    channels = [[r['domain'], r['channel'], '*', r['recorded'], r['discarded'], r['overwritten'],
                 r['rejected']] for r in form['channels']]
    owners = [[r['domain'], r['channel'], '*/' + r['owner'], r['recorded'], r['discarded'],
               r['overwritten'], None] for r in form['owners']]
    lines = [shlex.split(line) for line in rows(text)]
    lines = [words[:3] + [number(w) for w in words[3:]] for words in lines]
    same('rows', sorted(map(repr, lines)), sorted(map(repr, events + channels + owners)))


def compare_rules(text, form):
    """text: the files of both domains, with the domain before each line."""
    lines = [line.split(' ', 4) for line in rows(text)]
    same('rules', [[d, c, int(n), number(hits), rule] for d, c, n, hits, rule in lines],
         [[d, r['channel'], r['tracepoints'], r['hits'], r['rule']]
          for d in ('user', 'kernel') for r in form[d]])


def compare_stats(text, form):
    """Each cell of each table, in the order of the columns."""
    at = {}
    for line in rows(text):
        table, *words = shlex.split(line)
        # A bar is for people only.
        words = [w for w in words if not re.fullmatch('[▏▎▍▌▋▊▉█·]+', w)]
        row = form[table][at.setdefault(table, 0)]
        at[table] += 1
        same('columns of ' + table, len(words), len(row))
        for word, (name, value) in zip(words, row.items()):
            if name.endswith('ns'):
                got = nanoseconds(word, 10**9 if table == 'span' else 1000)
            elif name in ('domain', 'by', 'name', 'procname', 'function', 'file'):
                got = None if word == '-' else word
            else:
                got = None if word == '-' else float(word)
            same('%s %s' % (table, name), got, value)
    for table, values in form.items():
        if isinstance(values, list):
            same('rows of ' + table, at.get(table, 0), len(values))


def field_line(f):
    """A field as available/ has it in lines."""
    if f['type'] in ('struct', 'variant') and 'fields' in f:
        return '%s { %s } %s' % (f['type'], '; '.join(map(field_line, f['fields'])), f['name'])
    words = ['nowrite'] * f.get('nowrite', 0)
    if 'enum' in f:
        words += ['enum'] + [f['enum']] * bool(f['enum'])
    words += ['hex'] * f.get('hex', 0) + ['be'] * f.get('big_endian', 0) + [f['type']]
    size = ''
    if 'length' in f:
        size = '[]' if f['length'] is None else '[%d]' % f['length']
    address = ' (its address: this kernel does not record the text)' if f.get('address') else ''
    return ' '.join(words + [f['name']]) + size + address


def compare_available(text, form):
    """text: the files of the directory, before each line the file's name and a tabulator."""
    lines = []
    for name, table in form.items():
        for row in table:
            word = row['name']
            if kind == 'available_user' and name == 'tracepoints':
                lines += ['tracepoints\t%s %s' % (word, row['loglevel']),
                          'fields\t%s { %s%s}' % (word, '; '.join(map(field_line, row['fields'])),
                                                  ' ' * bool(row['fields']))]
                continue
            if name in ('groups', 'probes'):
                word = ' '.join(str('-' if v is None else v) for v in row.values())
            elif row.get('fields'):
                event = word.replace(':', '/', 1) if name == 'tracepoints' else \
                    'syscalls/sys_enter_' + word
                lines += ['events/%s\t%s' % (event, field_line(f)) for f in row['fields']]
            lines.append('%s\t%s' % (name, word))
    have = [line for line in text.splitlines() if line]
    if kind == 'available_kernel':  # (of the files of events, the text has some)
        some = {line.split('\t')[0] for line in have if line.startswith('events/')}
        lines = [x for x in lines if not x.startswith('events/') or x.split('\t')[0] in some]
    less, more = sorted(set(have) - set(lines)), sorted(set(lines) - set(have))
    if less or more or len(have) != len(lines):
        fail("lines: only in the text", less[:9], "only in the JSON", more[:9])


schema = json.load(open(sys.argv[1]))
kind = sys.argv[2]
form = json.load(open(sys.argv[3]), object_pairs_hook=pairs_once)
wrong = problem(form, schema['definitions'][kind], schema)
if wrong:
    fail(sys.argv[3], wrong)
try:
    import jsonschema
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(form, dict(schema, **{'$ref': '#/definitions/' + kind}))
except ImportError:
    print('not checked: there is no jsonschema')
compare = {'daemon': compare_status, 'session': compare_status, 'channel': compare_status,
           'counts': compare_counts, 'rules': compare_rules, 'stats': compare_stats,
           'available_user': compare_available, 'available_kernel': compare_available,
           'available_loggers': compare_available}
compare[kind](open(sys.argv[4]).read(), form)
