#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# $app.otel:trace_id and $app.otel:span_id of a program that does not register them: the ids that
# its SDK publishes for the thread (OTEP 4947), none where it publishes none; as contexts, in
# filters, and as the ids of log records in OTLP.
. "$(dirname "$0")/../../lib/mount.sh"
case $(uname -m) in x86_64) ;; *) skip "only on x86-64" ;; esac
mount_tree
s=$S/s
mkdir "$s" "$s/user/channels/a" "$s/user/channels/b"
put 'thread:*' "$s/user/channels/a/events"
put '$app.otel:trace_id $app.otel:span_id' "$s/user/channels/a/contexts"
put 'thread:note if $app.otel:span_id == "acacacacacacacac"' "$s/user/channels/b/events"
put start "$s/control"
run() {
	env ${2:+LD_PRELOAD="$2"} "$BUILD/tests/mount/views/otel_thread" || fail "the program fails"
	put stop "$s/control"
	sed -n 's/.*note: { cpu_id = [0-9]* }, { \(.*\) }, { n = \([0-9]*\) }/\2 \1/p' "$s/text" >"$work/$1"
	cat "$s/export/otlp.jsonl" >"$work/otlp"
}
run with "$BUILD/tests/mount/views/libotelsdk.so"
ids() { sed -n "s/^$1 //p" "$work/with" | grep -o '"[0-9a-f]*"' | tr '\n' ' '; }
is "events" 7 "$(wc -l <"$work/with")"
is "in a span" '"abababababababababababababababab" "acacacacacacacac" ' "$(ids 2)"
is "in another thread" '"77777777777777777777777777777777" "7878787878787878" ' "$(ids 3)"
is "in another span" '"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd" "cececececececece" ' "$(ids 7)"
for n in 1 4 5 6; do is "none" "" "$(ids $n)"; done
is "a filter" 1 "$(grep -c 'note: { cpu_id = [0-9]* }, { n = 2 }' "$s/text")"
has "$(cat "$work/otlp")" '"traceId":"abababababababababababababababab","spanId":"acacacacacacacac"'

# A program without an SDK
printf '%s\n' clear start >"$s/control"
run without ""
is "events without" 7 "$(wc -l <"$work/without")"
is "ids without" "" "$(grep -o '"[0-9a-f]*"' "$work/without")"
echo "$checks checks"
