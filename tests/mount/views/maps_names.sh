#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Maps and triggers say which names of a rule are misspelt: at once if events exist that the rule
# matches, else in `values` and `status`. Numbers in maps have the form of export/json.
. "$(dirname "$0")/../../lib/mount.sh"

GAUGE=$BUILD/tests/mount/views/gauge
[ -x "$GAUGE" ] || skip "there is no gauge"
mount_tree
s=$S/names
mkdir "$s" "$s/user/maps/m"
m=$s/user/maps/m
refuses() { # ERRNO RULE SENTENCE
	is "$2" "$1" "$(tool open "$m/rules" wt write "$2\\n" close | grep -v ok)"
	has "$(cat "$s/error")" "$3"
}

# --- words of other tools, and a pair of two names
refuses EINVAL 'gauge:read quantize(number)' "did you mean 'hist'?"
refuses EINVAL 'gauge:read lhist(number)' 'hist(FIELD) needs none'
refuses EINVAL 'gauge:read lhist number' "did you mean 'hist'?"
refuses EINVAL 'pair gauge:read gauge:read on tid==next_tid' "one '='"

# --- no program: accepted, and told
put 'gauge:read by numbr' "$m/rules"
put 'gauge:reed if numbr > 1 by number' "$m/rules"
put start "$s/control"
is "an unknown event, in values" "unmatched gauge:reed if numbr > 1" "$(sed -n 2p "$m/values")"
is "in status" "unmatched gauge:reed if numbr > 1" "$(grep ^unmatched "$s/status")"
has "$(cat "$m/values.json")" '"problems":\["unmatched gauge:reed if numbr > 1"\]'

# --- a program that has the events
mkfifo "$work/go"
"$GAUGE" 12.3e-6 -0 1 0.1 1e20 inf -inf 123456789012 2.5 2.5 <"$work/go" >"$work/opened" &
app=$!
exec 9>"$work/go"
within 20 grep -q open "$work/opened" || fail "gauge does not open"
listed() { [ -n "$(ls "$MNT/apps")" ]; }
within 20 listed || fail "gauge is not registered"
put 'gauge:reed if numbr > 1 by number' "$m/rules"
refuses EINVAL 'gauge:read by numbr' "no field 'numbr' in the events of the rule; did you mean 'number'?"
has "$(cat "$s/error")" '^ *^'
refuses EINVAL 'gauge:read by number sum(smal)' "no field 'smal' in the events of the rule; did you mean 'small'?"
refuses EINVAL 'pair gauge:* gauge:read on i by nothing_like_it' "no field 'nothing_like_it'"
is "the rules stay" 'gauge:reed if numbr > 1 by number' "$(cat "$m/rules")"
put 'gauge:read if numbr > 1 by number' "$m/rules"
want="unknown_field gauge:read if numbr > 1: no field 'numbr' in the tracepoints that it matches; did\
 you mean 'number'?"
is "a field of the filter" "$want" "$(sed -n 2p "$m/values")"
is "in status" "$want" "$(grep ^unknown_field "$s/status")"

# --- triggers
mkdir "$MNT/triggers/g"
put 'event user gauge:read if numbr > 1' "$MNT/triggers/g/condition"
is "of a trigger" "$want" "$(grep ^unknown_field "$MNT/triggers/g/status")"
put 'event user gauge:reed' "$MNT/triggers/g/condition"
is "an event of a trigger" "unmatched gauge:reed" "$(grep ^unmatched "$MNT/triggers/g/status")"
put 'event user gauge:read' "$MNT/triggers/g/condition"
! grep -qE '^(unmatched|unknown)' "$MNT/triggers/g/status" || fail "a rule without a mistake"

# --- numbers
put 'gauge:read by number, small count, max(small)' "$m/rules"
echo 'gauge:read sum(i), avg(i), avg(small), min(number), topk(small, 2)' >>"$m/rules"
echo 'gauge:read' >"$s/user/events"
echo >&9
exec 9>&-
wait $app || fail "gauge"
put stop "$s/control"
is "events" "10 10" "$(key events "$m/values" | paste -sd " ")"
# What export/json has of the same fields, each pair of values once.
sed -n 's/.*"number":\("[^"]*"\|[^,]*\),"small":\("[^"]*"\|[^,}]*\).*/\1 \2/p' "$s/export/json" |
	sort -u >"$work/wanted"
is "values in export/json" 9 "$(wc -l <"$work/wanted")"
sed -n 's/.*"key":{"number":\(.*\),"small":\(.*\)},"events".*/\1 \2/p' "$m/values.json" |
	sort >"$work/got"
cmp -s "$work/wanted" "$work/got" || fail "values.json: $(diff "$work/wanted" "$work/got")"
awk '/^#/ { on = 1; next } on && !NF { exit } on { print $3, $4 }' "$m/values" | sort >"$work/got"
tr -d '"' <"$work/wanted" | sort | cmp -s - "$work/got" || fail "values: $(cat "$work/got")"
sed -n 's/.*"key":{.*"small":\(.*\)},"events.*"max(small)":\([^}]*\)}.*/\1 \2/p' "$m/values.json" |
	awk '$1 != $2 { bad = 1 } END { exit bad || NR != 9 }' ||
	fail "a float as key and as maximum: $(cat "$m/values.json")"
has "$(cat "$m/values.json")" '"sum(i)":55,"avg(i)":5.5,"avg(small)":"NaN","min(number)":"-Infinity","topk(small)":\["Infinity",' ||
	fail "of all"
rmdir "$s"

# --- commas in lists
s=$S/lists
mkdir "$s"
put 'vpid,vtid, procname' "$s/user/contexts"
is "contexts" "vpid vtid procname" "$(paste -sd ' ' "$s/user/contexts")"
put '17,18 , 19' "$s/user/track/vpid"
is "processes" "17 18 19" "$(paste -sd ' ' "$s/user/track/vpid")"

# --- fields of all kinds: some are in the buffer, the filter is on one that is never there
m=$s/user/maps/parts
mkdir "$m"
put 'f:all if behind == 1 by word, text, port sum(list[1]), max(large)' "$m/rules"
put '*' "$s/user/track/vpid"
put start "$s/control"
"$BUILD/tests/lib/fields" 9 || fail "fields"
put stop "$s/control"
awk '/^#/ { on = 1; next } on { $1 = $1; print }' "$m/values" | sort >"$work/got"
printf '%s\n' '14 18446744073709551608 word-7 ahc 7' '2 18446744073709551614 word-1 abc 1' \
	'8 18446744073709551611 word-4 aec 4' | cmp -s - "$work/got" || fail "parts: $(cat "$m/values")"
put 'f:all if behind == 1 by word, text, port max(large)' "$m/rules"
put start "$s/control"
"$BUILD/tests/lib/fields" 9 || fail "fields"
put stop "$s/control"
awk '/^#/ { on = 1; next } on { $1 = $1; print $2, $3, $4 }' "$m/values" | sort >"$work/got"
printf '%s\n' 'word-1 abc 1' 'word-4 aec 4' 'word-7 ahc 7' | cmp -s - "$work/got" ||
	fail "parts: $(cat "$m/values")"

# --- the kernel has its events at once
if ! grep -q '^kernel none' "$MNT/version"; then
	mkdir "$s/kernel/maps/k"
	m=$s/kernel/maps/k
	refuses EINVAL 'sched:sched_switch by next_comm, prev_tidd' "did you mean 'prev_tid'?"
	refuses EINVAL 'pair sched:sched_wakeup sched:sched_switch on next_tid' "no field 'next_tid'"
	put 'sched:sched_switch by prev_comm, next_tid' "$m/rules"
	mkdir "$MNT/triggers/k"
	is "a trigger's filter" EINVAL \
		"$(tool open "$MNT/triggers/k/condition" wt write 'event kernel sched:sched_switch if prev_tidd == 1\n' close | grep -v ok)"
	has "$(cat "$MNT/triggers/k/error")" "did you mean 'prev_tid'?"
fi
echo "$checks checks"
