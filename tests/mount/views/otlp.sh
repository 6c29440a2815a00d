#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# export/otlp.jsonl and pipe.otlp: each event is in a span or a log record of OpenTelemetry, with
# parents by nesting, the ids of the program, the environment of the trace, and losses. A reader
# that shares nothing with the daemon compares them with export/json; the protobuf definitions of
# OpenTelemetry, from npm where that can be reached, hold all that is in the lines.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/npm.sh"
command -v python3 >/dev/null || skip "there is no python3"
# (Later versions have no definitions in them.)
if need_npm @opentelemetry/otlp-transformer@0.212.0; then
	definitions=yes
else
	definitions=
	echo "# no protobuf definitions of OpenTelemetry: $(grep -v '^$' "$work/npm.log" | head -n 1)"
fi
slices=$BUILD/tests/lib/slices
ticker=$BUILD/tests/lib/ticker
mount_tree

judge() { # SESSION: compares; the numbers are in $work/judged
	cat "$1/export/otlp.jsonl" >"$work/otlp" && cat "$1/export/json" >"$work/json" ||
		fail "cannot read"
	python3 "$top/tests/lib/judge_otlp.py" "$work/otlp" "$work/json" >"$work/judged" 2>&1 ||
		fail "$1: $(tail -c 2000 "$work/judged")"
	[ -n "$definitions" ] || return 0
	node "$top/tests/lib/judge_otlp.js" "$work/otlp" >"$work/decoded" 2>&1 ||
		fail "$1: $(tail -n 40 "$work/decoded")"
	is "lines that the definitions have" "$(wc -l <"$work/otlp")" "$(cat "$work/decoded")"
}

s=$S/a
mkdir "$s"
echo 'work:*' >"$s/user/events"
printf '%s\n' vpid vtid procname >"$s/user/contexts"
is "nothing yet" "" "$(cat "$s/export/otlp.jsonl")"
exec 5<"$s/pipe.otlp"	# (before the start, however busy the machine is)
timeout 100 cat <&5 >"$work/pipe" &
reader=$!
exec 5<&-
put start "$s/control"
"$slices" 50 || fail "slices"
put stop "$s/control"
wait $reader || fail "the pipe does not end"
judge "$s"
is "spans, log records, unfinished, with a parent" "406 304 4 302" "$(cat "$work/judged")"
cp "$work/judged" "$work/first"
python3 "$top/tests/lib/judge_otlp.py" "$work/pipe" "$work/json" >"$work/judged" 2>&1 ||
	fail "pipe.otlp: $(tail -c 2000 "$work/judged")"
cmp "$work/first" "$work/judged" || fail "the pipe has other numbers: $(cat "$work/judged")"
ids() { grep -o '"spanId":"[0-9a-f]*"' "$1" | sort -u; }
[ "$(ids "$work/otlp")" = "$(ids "$work/pipe")" ] || fail "the ids of the pipe are others"
has "$(cat "$work/otlp")" '"service.name","value":{"stringValue":"unknown_service"}'
has "$(cat "$work/otlp")" '"process.pid"'

# --- losses
s=$S/lossy
mkdir "$s" "$s/user/channels/c"
echo 4K >"$s/user/channels/c/subbuf_size"
echo 2 >"$s/user/channels/c/subbuf_count"
echo discard >"$s/user/channels/c/loss_mode"
echo 'tick:*' >"$s/user/channels/c/events"
put start "$s/control"
one_cpu "$ticker" 5000 0
put stop "$s/control"
judge "$s"
is "as many as status says" "$(key events_discarded "$s/status")" \
	"$(grep -o '"lost.events","value":{"intValue":"[0-9]*"' "$work/otlp" | grep -o '[0-9]*"$' |
		tr -d '"' | awk '{ n += $1 } END { print n + 0 }')"
echo "$checks checks"
