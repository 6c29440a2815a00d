# SPDX-License-Identifier: GPL-2.0-or-later
"""
judge_otlp.py OTLP JSON: whether the lines of OTLP are what the protocol says, and say of the events
what export/json says: each event is in one record; spans are pairs of begin and end on one thread,
and their parent is the span around them. Prints: spans, log records, unfinished spans, spans with a
parent. Where the protobuf definitions of OpenTelemetry are installed, their decoder reads each line
strictly.
"""
import json
import re
import sys

try:
    from google.protobuf import json_format
    from opentelemetry.proto.logs.v1 import logs_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2
except ImportError:
    json_format = None


def fail(*what):
    sys.exit(' '.join(str(w) for w in what))


def hexadecimal(text, n, what):
    if not re.fullmatch('[0-9a-f]{%d}' % n, text) or not int(text, 16):
        fail(what, 'is no id:', text)
    return text


def value_of(v):
    (kind, value), = v.items()
    if kind == 'intValue':
        if not isinstance(value, str) or not -2**63 <= int(value) < 2**63:
            fail('no int64:', value)
        return int(value)
    if kind == 'arrayValue':
        return [value_of(e) for e in value['values']]
    kinds = {'stringValue': str, 'boolValue': bool, 'doubleValue': (float, int, str),
             'bytesValue': str}
    if not isinstance(value, kinds[kind]):
        fail(kind, value)
    return value


def attributes(record):
    out = {}
    for a in record['attributes']:
        if a.keys() != {'key', 'value'} or a['key'] in out:
            fail('attribute', a)
        out[a['key']] = value_of(a['value'])
    return out


def read(path):
    spans, logs = [], []
    for line in open(path, encoding='utf-8'):
        data = json.loads(line)
        kind = 'Spans' if 'resourceSpans' in data else 'Logs'
        if json_format:
            message = trace_pb2.TracesData() if kind == 'Spans' else logs_pb2.LogsData()
            # (JSON of OTLP has ids in hexadecimal, that of protobuf in base64.)
            json_format.Parse(re.sub('"([a-zA-Z]*)Id":"([0-9a-f]*)"',
                                     lambda m: '"%sId":"%s"' % (m[1], base64_of(m[2])), line),
                              message)
        for r in data['resource' + kind]:
            resource = attributes(r['resource'])
            if 'service.name' not in resource or 'host.name' not in resource:
                fail('resource', resource)
            for s in r['scope' + kind]:
                for record in s['spans' if kind == 'Spans' else 'logRecords']:
                    record['resource'] = resource
                    (spans if kind == 'Spans' else logs).append(record)
    return spans, logs


def base64_of(digits):
    import base64
    return base64.b64encode(bytes.fromhex(digits)).decode()


def main():
    spans, logs = read(sys.argv[1])
    events = [json.loads(l) for l in open(sys.argv[2], encoding='utf-8')]
    losses = sum('lost' in e for e in events)
    times = {}
    for e in events:
        if 'lost' not in e:
            times.setdefault(e['time'], []).append(e)
    by_id, unfinished, children = {}, 0, 0
    for s in spans:
        key = (hexadecimal(s['traceId'], 32, 'traceId'), hexadecimal(s['spanId'], 16, 'spanId'))
        if key in by_id:
            fail('two spans have one id:', key)
        by_id[key] = s
        s['from'], s['to'] = int(s['startTimeUnixNano']), int(s['endTimeUnixNano'])
        s['all'] = attributes(s)
        if s['from'] > s['to'] or s['kind'] != 1:
            fail('span', s)
        if s['from'] not in times:
            fail('no event is at the begin of', s)
        if s['all'].get('unfinished'):
            unfinished += 1
        elif s['to'] not in times:
            fail('no event is at the end of', s)
    for s in spans:
        parent = by_id.get((s['traceId'], s.get('parentSpanId')))
        if not parent:
            continue
        children += 1
        if parent['from'] > s['from'] or parent['to'] < s['to']:
            fail('a span is not inside its parent:', s, parent)
        if parent['all'].get('thread.id') != s['all'].get('thread.id'):
            fail('the parent is of another thread:', s, parent)
    lost = 0
    for r in logs:
        r['all'] = attributes(r)
        if r['eventName'] == 'lost':
            lost += 1
            continue
        at = int(r['timeUnixNano'])
        names = [e['event'] for e in times.get(at, ())]
        if r['eventName'] not in names:
            fail('no such event:', r)
        for e in times[at]:
            if e['event'] != r['eventName'] or len(times[at]) > 1:
                continue
            for name, value in e['fields'].items():
                got = r['all'].get(name)
                if isinstance(value, (int, str)) and not isinstance(value, bool) and \
                        str(got) != str(value):
                    fail('field', name, 'is', value, 'not', got)
        if 'spanId' in r:
            span = by_id.get((r['traceId'], r['spanId']))
            if span and not span['from'] <= at <= span['to']:
                fail('a log record is not inside its span:', r, span)
    if lost != losses:
        fail(lost, 'losses, but', losses, 'in JSON')
    count = 2 * len(spans) - unfinished + len(logs) - lost
    if count != len(events) - losses:
        fail(count, 'events are in', len(spans), 'spans and', len(logs), 'log records, not',
             len(events) - losses)
    print(len(spans), len(logs), unfinished, children)


main()
