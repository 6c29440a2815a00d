#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# `metrics` of the mount and of sessions: text of OpenMetrics by its grammar, with the numbers of
# `counts` and `values.json`; keys with any bytes; whose sessions the mount shows to whom; the size
# that a web server sees. Where they are installed, prometheus_client, promtool, the node exporter and
# Prometheus itself read it.
. "$(dirname "$0")/../../lib/mount.sh"

command -v python3 >/dev/null || skip "there is no python3"
SELLER=$BUILD/tests/mount/views/seller
[ -x "$SELLER" ] || skip "there is no seller"
JUDGE=$top/tests/lib/judge_metrics.py
mount_tree

# judge FILE [SESSION COUNTS MAP…]: the samples, into $work/samples
judge() {
	python3 "$JUDGE" "$@" >"$work/samples" 2>"$work/judge" || fail "$1: $(cat "$work/judge")"
	checks=$((checks + 1))
}
# sample NAME WORDS: the value of the one sample with these words in its line
sample() {
	name=$1
	shift
	lines=$(grep "^$name " "$work/samples")
	for word; do
		lines=$(printf '%s\n' "$lines" | grep -F -- "$word")
	done
	printf '%s\n' "${lines##* }"
}

# --- nothing yet
judge "$MNT/metrics"
is "no sessions" 0 "$(sample trailfs_sessions)"
is "no programs" 0 "$(sample trailfs_applications)"

# --- events, losses, maps
s=$S/shop
mkdir "$s"
judge "$s/metrics"
is "inactive" 0 "$(sample trailfs_session_active '"shop"')"
is "never started" "" "$(grep started "$work/samples")"
put 'shop:*' "$s/user/events"
mkdir "$s/user/channels/small"
put 4096 "$s/user/channels/small/subbuf_size"
put 'shop:serve_*' "$s/user/channels/small/events"
for m in sales parts pairs odd names; do
	mkdir "$s/user/maps/$m"
done
put 'shop:sale by item, thread count, sum(price), min price, max price, avg(weight), topk(price, 3)' \
	"$s/user/maps/sales/rules"
printf '%s\n' 'shop:sale by item hist(price), hist(weight)' \
	'shop:sale if price >= 0 by item hist(price), lhist(price, 0, 5000, 700)' \
	'shop:sale by item lhist(price, 100, 900, 100)' \
	'shop:sale lhist(price, -300, 300, 100)' >"$s/user/maps/parts/rules"
put 'pair shop:serve_begin shop:serve_end on thread, n by $ctx.procname, thread hist(latency)' \
	"$s/user/maps/pairs/rules"
put 'shop:sale by price, $ctx.vtid, n count' "$s/user/maps/names/rules"
put start "$s/control"
"$SELLER" 3000 2 </dev/null >/dev/null || fail "seller"
put stop "$s/control"
cat "$s/metrics" >"$work/metrics" || fail "cannot read metrics"
cat "$s/metrics.prom" >"$work/plain" && cat "$MNT/metrics.prom" >"$work/plain_top" ||
	fail "cannot read metrics.prom"
cat "$s/counts" >"$work/counts"
maps=
for m in sales parts pairs names; do
	cat "$s/user/maps/$m/values.json" >"$work/$m.json"
	maps="$maps user:$work/$m.json"
done
judge "$work/metrics" shop "$work/counts" $maps
is "some were overwritten" 1 "$(($(sample trailfs_events_overwritten_total '"small"') > 0))"
is "sales" 6000 "$(sample trailfs_events_recorded_total '"shop:sale"')"
# hist and lhist of one field have one sum; of numbers that are not negative, the map's own.
a=$(sample trailfs_map_distribution_sum '"green tea"' '"rule": "2"' '"hist(price)"')
b=$(sample trailfs_map_distribution_sum '"green tea"' '"rule": "2"' '"lhist(price)"')
is "sums" "$a" "$b"
text=$(babeltrace2 "$s/trace" 2>/dev/null | sed -n 's/.*item = "green tea", price = \([0-9]*\),.*/\1/p' |
	awk '{ s += $1 } END { print s }')
if [ -n "$text" ]; then
	is "the sum of the events" "$(printf '%.0f' "$a")" "$text"
fi
is "no sum with negative numbers" "" \
	"$(grep '^trailfs_map_distribution_sum' "$work/samples" | grep '"rule": "4"')"

# --- the mount has the same, and no other user's session
cat "$MNT/metrics" >"$work/top"
# Each metric that the dashboard asks for exists.
python3 - "$top/docs/examples/grafana-trailfs.json" "$work/top" <<'EOF' || fail "the dashboard"
import json, re, sys
with open(sys.argv[2], encoding='utf-8') as f:
    names = {re.match(r'[a-z_]+', line)[0] for line in f if not line.startswith('#')}
with open(sys.argv[1], encoding='utf-8') as f:
    dashboard = json.load(f)

def texts(o):
    for v in o.values() if isinstance(o, dict) else o if isinstance(o, list) else ():
        yield from [v] if isinstance(v, str) else texts(v)

asked = {name for text in texts(dashboard) for name in re.findall(r'trailfs_[a-z_]+', text)}
if len(asked) < 8 or asked - names:
    sys.exit('%d metrics, these are none: %s' % (len(asked), ' '.join(asked - names)))
EOF
checks=$((checks + 1))
judge "$work/top" shop "$work/counts" $maps
is "one session" 1 "$(sample trailfs_sessions)"
if setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	as() { setpriv --reuid 65534 --regid 65534 --clear-groups cat "$1"; }
	as "$MNT/metrics" >"$work/others" || fail "another user cannot read metrics"
	judge "$work/others"
	is "private" "" "$(grep '"shop"' "$work/samples")"
	as "$s/metrics" >/dev/null 2>&1 && fail "another user reads a private session"
	chmod 755 "$s"
	as "$MNT/metrics" >"$work/others"
	judge "$work/others" shop "$work/counts" $maps
	chmod 700 "$s"
fi

# --- clear begins again; names that two labels could have
put clear "$s/control"
judge "$s/metrics"
is "cleared" "" "$(grep shop:sale "$work/samples" | grep -v info)"
put 'shop:sale by item, thread sum(price), sum(weight), lhist(price, 0, 9, 1), lhist(price, 0, 99, 1)' "$s/user/maps/odd/rules"
echo 'shop:sale by le, a.b, a_b, session' >>"$s/user/maps/odd/rules"
put start "$s/control"
"$SELLER" 20 </dev/null >/dev/null || fail "seller"
put stop "$s/control"
judge "$s/metrics"
is "two operators with one label" 2 "$(grep '^trailfs_map_distribution_bucket' "$work/samples" |
	grep '"odd"' | grep '"item": "tea"' | grep 'lhist(price)' | grep -c '"le": "+Inf"')"
put clear "$s/control"

# --- a copy has as many bytes as stat(2) says after the open
python3 - "$MNT/metrics" "$s/metrics" <<'EOF' || fail "sizes"
import os, sys
for path in sys.argv[1:]:
    for _ in range(20):
        with open(path, 'rb', buffering=0) as f:
            size = os.fstat(f.fileno()).st_size
            data = b''
            while part := f.read(4096):
                data += part
            if size != len(data) or not data.endswith(b'# EOF\n'):
                sys.exit('%s: %d bytes, %d read' % (path, size, len(data)))
EOF

# --- the programs that read it
# (Debian's packages are of its own Python.)
debian=/usr/bin/python3
[ -x $debian ] || debian=python3
$debian - "$work/metrics" <<'EOF'
import sys
try:
    from prometheus_client.openmetrics import parser
except ImportError:
    print('not checked: there is no prometheus_client')
    sys.exit(0)
families = list(parser.text_string_to_metric_families(open(sys.argv[1]).read()))
sys.exit(0 if len(families) > 10 else 'only %d families' % len(families))
EOF
[ $? = 0 ] || fail "prometheus_client refuses metrics"
# The older format has the same samples but `_created`, and type and help for each.
is "the samples of metrics.prom" "$(grep -v '^#' "$work/metrics" | grep -v '^[a-z_]*_created[ {]')" \
	"$(grep -v '^#' "$work/plain")"
is "names without a type in metrics.prom" "" "$(awk '
	/^# TYPE / { type[$3] = $4; next }
	/^# HELP / { help[$3] = 1; next }
	{ name = $1; sub(/{.*/, "", name); of = name; sub(/_(bucket|sum|count)$/, "", of)
	  if (!(name in type) && type[of] != "histogram") print name
	  if (!(name in help) && !(of in help)) print name, "help" }' "$work/plain")"
if command -v promtool >/dev/null; then
	for f in "$work/plain" "$work/plain_top"; do
		promtool check metrics <"$f" >"$work/promtool" 2>&1 || fail "promtool: $(cat "$work/promtool")"
		is "promtool" "" "$(cat "$work/promtool")"
	done
	# It reads the samples of OpenMetrics, but not which type and help belong to a counter.
	promtool check metrics <"$work/metrics" >"$work/promtool" 2>&1
	is "promtool" "" "$(grep -v '_\(total\|created\) no help text$' "$work/promtool")"
else
	echo "not checked: there is no promtool"
fi
# --- the textfile collector of the node exporter, with the copy that the cookbook makes
exporter=$(command -v prometheus-node-exporter || command -v node_exporter)
server= prometheus= node=
# (mount.sh's clean_up follows.)
trap 'ended=$?; kill $server $prometheus $node 2>/dev/null; wait; (exit $ended); clean_up' EXIT
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
if [ -n "$exporter" ]; then
	mkdir "$work/textfile"
	cp "$work/plain" "$work/textfile/trailfs.tmp" &&
		mv "$work/textfile/trailfs.tmp" "$work/textfile/trailfs.prom" || fail "cannot copy"
	port=$(free_port)
	"$exporter" --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$work/textfile" \
		--web.listen-address="127.0.0.1:$port" >"$work/exporter.log" 2>&1 &
	node=$!
	cat >"$work/get.py" <<'EOF'
import sys, urllib.request
try:
    sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:%s/metrics' % sys.argv[1]).read().decode())
except OSError:
    pass
EOF
	exported() {
		python3 "$work/get.py" "$port" >"$work/exported"
		grep -q '^node_textfile_scrape_error' "$work/exported"
	}
	within 60 exported || fail "no node exporter: $(cat "$work/exporter.log")"
	is "the node exporter reads the file" "node_textfile_scrape_error 0" \
		"$(grep '^node_textfile_scrape_error' "$work/exported")"
	# It sorts labels, and writes numbers in its own way.
	is "the node exporter has the type of a counter" counter \
		"$(sed -n 's/^# TYPE trailfs_events_recorded_total //p' "$work/exported")"
	python3 - "$work/plain" "$work/exported" <<'EOF' >"$work/compared" 2>&1 ||
import re, sys

def samples(path):
    found = {}
    for line in open(path, encoding='utf-8'):
        m = re.fullmatch(r'(trailfs_[a-z_]+)(?:\{(.*)\})? (\S+)\n', line)
        if m:
            labels = re.findall(r'([a-z_A-Z0-9]+)="((?:[^"\\]|\\.)*)"', m[2] or '')
            # A number is written with and without a point; all samples of a family get all labels.
            labels = [(k, str(float(v)) if k == 'le' else v) for k, v in labels if v]
            found[m[1], tuple(sorted(labels))] = float(m[3])
    return found

ours, theirs = samples(sys.argv[1]), samples(sys.argv[2])
# A histogram of the older format has a sum and a count: 0 where OpenMetrics has none.
for key in set(theirs) - set(ours):
    if key[0] in ('trailfs_map_distribution_sum', 'trailfs_map_distribution_count') and not theirs[key]:
        del theirs[key]
other = [k for k in {**ours, **theirs} if ours.get(k) != theirs.get(k)]
if other or len(ours) < 50:
    sys.exit('%d samples, %d of the exporter; another value: %r' % (len(ours), len(theirs), [(k, ours.get(k), theirs.get(k)) for k in other[:2]]))
EOF
		fail "node exporter: $(cat "$work/compared"); $(grep -i textfile "$work/exporter.log" | tail -n 3)"
	checks=$((checks + 1))
else
	echo "not checked: there is no node exporter"
fi
command -v prometheus >/dev/null || { echo "not checked: there is no prometheus"; echo "$checks checks"; exit 0; }
cat >"$work/serve.py" <<'EOF'
import functools, http.server, sys
class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {'': 'application/openmetrics-text; version=1.0.0; charset=utf-8'}
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Files, directory=sys.argv[1]))
print(server.server_address[1], flush=True)
server.serve_forever()
EOF
python3 "$work/serve.py" "$MNT" >"$work/port" &
server=$!
has_port() { [ -s "$work/port" ]; }
within 20 has_port || fail "no web server"
put start "$s/control"
"$SELLER" 500 </dev/null >/dev/null || fail "seller"
cat >"$work/prometheus.yml" <<EOF
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs:
  - job_name: trailfs
    metrics_path: /metrics
    static_configs: [ { targets: [ '127.0.0.1:$(cat "$work/port")' ] } ]
EOF
port=$(free_port)
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" \
	--web.listen-address="127.0.0.1:$port" --log.level=error >"$work/prometheus.log" 2>&1 &
prometheus=$!
cat >"$work/query.py" <<'EOF'
import json, sys, urllib.parse, urllib.request
url = 'http://127.0.0.1:%s/api/v1/query?query=%s' % (sys.argv[1], urllib.parse.quote(sys.argv[2]))
try:
    print(json.load(urllib.request.urlopen(url))['data']['result'][0]['value'][1])
except (OSError, IndexError):
    pass
EOF
# ask QUERY: the value that Prometheus has of it
ask() {
	python3 "$work/query.py" "$port" "$1"
}
scraped() {
	[ "$(ask 'trailfs_events_recorded_total{session="shop",event="shop:sale",channel="channel0"}')" = 500 ]
}
within 60 scraped || fail "Prometheus: $(ask 'up'); $(cat "$work/prometheus.log")"
is "the mount is up" 1 "$(ask up)"
is "a key" 125 "$(ask 'sum(trailfs_map_key_events_total{map="sales",item="green tea"})')"
is "all buckets" 125 "$(ask 'trailfs_map_distribution_bucket{map="parts",rule="1",operator="hist(price)",item="green tea",le="+Inf"}')"
echo "$checks checks"
