#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# export/otlp.jsonl has the ids that a program puts into its events: fields of a begin are the ids of
# its span, contexts those of its parent, both those of a log record; as text of hexadecimal digits
# or as a number. What is no id is ignored.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
otel=$BUILD/tests/mount/views/otel
mount_tree
s=$S/s
mkdir "$s" "$s/user/channels/f" "$s/user/channels/c"
printf '%s\n' 'web:*' 'db:*' 'job:*' 'bad:*' >"$s/user/channels/f/events"
put vtid "$s/user/channels/f/contexts"
put 'ctx:*' "$s/user/channels/c/events"
printf '%s\n' vtid '$app.otel:trace_id' '$app.otel:span_id' '$app.otel:service' \
	>"$s/user/channels/c/contexts" || fail "contexts: $(cat "$s/error")"
exec 5<"$s/pipe.otlp"	# (before the start, however busy the machine is)
timeout 100 cat <&5 >"$work/pipe" &
reader=$!
exec 5<&-
put start "$s/control"
"$otel" || fail "otel"
put stop "$s/control"
wait $reader || fail "the pipe does not end"
cat "$s/export/otlp.jsonl" >"$work/export" || fail "cannot read"
for f in export pipe; do
	python3 - "$work/$f" <<'EOF' >"$work/checked" 2>&1 || fail "$f: $(cat "$work/checked")"
import json, sys
spans, logs, services = {}, {}, {}
for line in open(sys.argv[1]):
    data = json.loads(line)
    for kind, scope, records in (('resourceSpans', 'scopeSpans', 'spans'),
                                 ('resourceLogs', 'scopeLogs', 'logRecords')):
        for resource in data.get(kind, []):
            attributes = {a['key']: a['value'] for a in resource['resource']['attributes']}
            for part in resource[scope]:
                for r in part[records]:
                    name = r.get('name') or r['eventName']
                    assert name not in spans and name not in logs, name
                    (spans if records == 'spans' else logs)[name] = r
                    services[name] = attributes['service.name']['stringValue']
                    keys = [a['key'] for a in r['attributes']]
                    # Those that cannot be ids are what they are otherwise: not shown twice.
                    assert name.startswith('bad') or not [k for k in keys if 'otel' in k], (name, keys)

def same(what, want, got):
    assert want == got, '%s: %r, not %r' % (what, got, want)

def ids(r):
    return r.get('traceId'), r.get('spanId'), r.get('parentSpanId')

shop = '0af7651916cd43dd8448eb211c80319c'
same('span', (shop, 'b7ad6b7169203331', None), ids(spans['web']))
trace, span, parent = ids(spans['db'])
same('its child', (shop, 'b7ad6b7169203331'), (trace, parent))
assert span not in (None, 'b7ad6b7169203331') and len(span) == 16, span
same('a record in the child', (shop, span, None), ids(logs['db:note']))
same('digits in capitals, and a number', (shop[:-1] + 'd', '00f067aa0ba902b7', None), ids(spans['job']))
trace, span, parent = ids(spans['bad'])
assert len(trace) == 32 and trace != shop and len(span) == 16 and not parent, (trace, span, parent)
same('a record with ids', ('4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b8', None),
     ids(logs['web:record']))
active = '4bf92f3577b34da6a3ce929d0e0e4737'
same('a record in a span of the program', (active, '00f067aa0ba902b9', None), ids(logs['ctx:record']))
trace, span, parent = ids(spans['ctx'])
same('a span in it', (active, '00f067aa0ba902b9'), (trace, parent))
assert span != parent and len(span) == 16, span
same('services', ['shop', 'checkout', 'checkout'], [services[n] for n in ('web', 'ctx', 'ctx:record')])
EOF
	checks=$((checks + 14))
done
echo "$checks checks"
