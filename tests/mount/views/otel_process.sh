#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# $app.otel:service and $app.otel:resource of a program that does not register them: the attributes
# that its SDK publishes for the process (OTEP 4719), none where it publishes none, or none that is
# valid; as contexts, in filters, and as resource attributes in OTLP.
. "$(dirname "$0")/../../lib/mount.sh"
command -v python3 >/dev/null || skip "there is no python3"
[ "$(getconf LONG_BIT)" = 64 ] || skip "only for programs of 64 bits"
mount_tree
s=$S/s
mkdir "$s" "$s/user/channels/a" "$s/user/channels/b"
put 'process:*' "$s/user/channels/a/events"
put '$app.otel:service $app.otel:resource vpid' "$s/user/channels/a/contexts"
put 'process:note if $app.otel:service == "shop"' "$s/user/channels/b/events"
put start "$s/control"
for how in memfd late update fork drop signature version address wild size large cut noise empty \
	changing; do
	"$BUILD/tests/mount/views/otel_process" $how || echo "$how: $?" >>"$work/failed" &
	running="$running $!"
done
wait $running
"$BUILD/tests/mount/views/otel_process" anon
anon=$?
put stop "$s/control"
is "programs that fail" "" "$(cat "$work/failed" 2>/dev/null)"
cat "$s/export/json" >"$work/json" && cat "$s/export/otlp.jsonl" >"$work/otlp" || fail "cannot read"
[ $anon = 0 ] || echo "# this kernel does not name anonymous mappings"
python3 - "$work/json" "$work/otlp" $anon <<'EOT' >"$work/checked" 2>&1 || fail "$(cat "$work/checked")"
import json, sys
first = 'service.version=1.2,service.name=shop,host.name=first,is.test=true,number=-5,' \
        'text=a%3Db%2C%20%22c%22%20%C3%A9%25'
want = {(how, 2): first for how in ('memfd', 'late', 'update', 'fork', 'drop')}
if sys.argv[3] == '0':
    want['anon', 2] = first
want['late', 1] = want['fork', 3] = want['drop', 4] = ''
want['update', 3] = first.replace('1.2', '1.3')
want['fork', 4] = first
for how in ('signature', 'version', 'address', 'wild', 'size', 'large', 'noise', 'empty', 'changing'):
    want[how, 2] = ''

def same(what, want, got):
    if want != got:
        sys.exit('%s: %r, not %r' % (what, got, want))

seen = filtered = 0
for line in open(sys.argv[1]):
    e = json.loads(line)
    key = e['fields']['how'], e['fields']['n']
    context = {k.replace('_app_otel_', ''): v for k, v in e.get('context', {}).items()}
    if 'vpid' not in context:
        filtered += 1
        continue
    seen += 1
    # What is cut, and the time between the end of a mapping and the next look, may be either.
    if key not in want:
        continue
    same('resource of %s %d' % key, want[key], context.get('resource') or '')
    same('service of %s %d' % key, 'shop' if want[key] else '', context.get('service') or '')
same('events', 21 + (sys.argv[3] == '0'), seen)
at_least = sum(w != '' for w in want.values())
if not at_least <= filtered <= at_least + 3:
    sys.exit('%d events of the filter, not %d' % (filtered, at_least))

found = set()
for line in open(sys.argv[2]):
    for r in json.loads(line).get('resourceLogs', []):
        attributes = {}
        for a in r['resource']['attributes']:
            assert a['key'] not in attributes, 'twice: ' + a['key']
            attributes[a['key']], = a['value'].values()
        for scope in r['scopeLogs']:
            for record in scope['logRecords']:
                fields = {a['key']: list(a['value'].values())[0] for a in record['attributes']}
                key = fields['how'], int(fields['n'])
                if not [k for k in fields if 'vpid' in k] or key not in want:
                    continue
                found.add(key)
                same('%s %d' % key, 'shop' if want[key] else 'unknown_service', attributes['service.name'])
                if want[key]:
                    same('%s %d' % key, ['1.3' if key == ('update', 3) else '1.2', 'first', 'true', '-5',
                         'a=b, "c" \u00e9%'], [attributes[k] for k in
                         ('service.version', 'host.name', 'is.test', 'number', 'text')])
                same('as attributes', [], [k for k in fields if 'otel' in k])
same('events in OTLP', set(want), found)
EOT
checks=$((checks + 1))
echo "$checks checks"
