#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# Traces of CTF 2 as the `input` of a session: made by hand and at random, each with the text that
# babeltrace2 2.1 prints; traces that are refused, each with a sentence; and those of this project,
# whose text is that of the session that recorded them; each value of a field is the same in all
# forms. (Debian 12's babeltrace2 reads CTF 1.8 only.)
. "$(dirname "$0")/../../lib/mount.sh"
python3 -c 'import json' 2>/dev/null || skip "there is no python3"
TZ=UTC
export TZ
mount_tree -o tz=UTC
s=$S/in
mkdir "$s"

# shows DIR: the text of the trace is that of DIR.text
shows() {
	put "$1" "$s/input"
	cat "$s/text" >"$work/text" || fail "$1: $(cat "$s/error")"
	cmp -s "$work/text" "$1.text" ||
		fail "$1: $(diff "$1.text" "$work/text" | head -4 | cut -c 1-1000)"
	checks=$((checks + 1))
}

# ---- made by hand ----

python3 "$top/tests/lib/ctf2_cases.py" "$work/cases" || fail "ctf2_cases.py"
for text in "$work/cases/good"/*.text; do
	shows "${text%.text}"
	has "$(cat "$s/status")" '^input_format CTF 2$'
done
for why in "$work/cases/bad"/*.why; do
	mkdir "$S/bad"
	! echo "${why%.why}" 2>/dev/null >"$S/bad/input" || fail "$why is accepted"
	has "$(cat "$S/bad/error")" "$(cat "$why")"
	rmdir "$S/bad"
done

# Fields of one name in several structures: each has a name of its own where these are one object.
put "$work/cases/good/same_names" "$s/input"
is "names in JSON" '{"context_context_a":2,"context_b":3,"context_a":4,"a":5,"b":6}' "$(
	sed 's/.*"fields"://; s/}$//' "$s/export/json" | xargs -d '\n')"
has "$(head -n 1 "$s/export/csv")" 'fields.context_b,fields.context_a,fields.a,fields.b$'

# Values in JSON: a boolean, named bits, base64, a value that is missing
put "$work/cases/good/optional_bool" "$s/input"
is "a boolean" '{"has-ip":false,"ip":null} {"has-ip":true,"ip":[1,2]}' "$(
	sed 's/.*"fields"://; s/}$//' "$s/export/json" | xargs -d '\n')"
put "$work/cases/good/bit_map" "$s/input"
is "named bits" '{"m":{"value":528,"label":"GREEN, RED, YELLOW"}} {"m":{"value":0,"label":null}}' \
	"$(sed 's/.*"fields"://; s/}$//' "$s/export/json" | xargs -d '\n')"
put "$work/cases/good/length_in_some_options" "$s/input"
has "$(tail -1 "$s/export/json")" '"lock":"qw=="'
has "$(cat "$s/export/csv")" 'qw=='

# ---- at random ----

python3 "$top/tests/lib/make_ctf2.py" "$work/random" 150 || fail "make_ctf2.py"
PACKETS=1 python3 "$top/tests/lib/make_ctf2.py" "$work/random" 20 1001 || fail "make_ctf2.py"
for text in "$work/random"/*.text; do
	shows "${text%.text}"
done

# ---- all forms have the same fields ----

# keep NAME: the forms of the session, which judge_fields.py compares with its JSON
keep() {
	mkdir -p "$work/forms/$1"
	for form in json csv parquet lket.txt chrome.json perfetto timeline.html; do
		cat "$s/export/$form" >"$work/forms/$1/$form" || fail "$1: cannot read $form"
	done
}
mkdir "$work/traces"
for text in "$work/cases/good"/*.text "$work/random"/[1-4]?.text; do
	ln -s "${text%.text}" "$work/traces"
	put "${text%.text}" "$s/input"
	keep "$(basename "$text" .text)"
done
python3 "$top/tests/lib/judge_fields.py" "$work/traces" "$work/forms"/* >"$work/judged" 2>&1 ||
	fail "fields: $(tail -c 2000 "$work/judged")"
[ "$(cat "$work/judged")" -gt 500 ] || fail "only $(cat "$work/judged") values"
checks=$((checks + 1))

# LKET has colons between the names of fields: there are none in them.
put "$work/cases/good/kinds" "$s/input"
is "names in LKET" 1 "$(tr '\0' '\n' <"$s/export/lket/stpd_cpu0" |
	grep -a -c '^context:symbols:a "b"_, .c:bits:')"

# ---- the examples of the specification ----

python3 "$top/tests/lib/ctf2_spec.py" "$work/spec" || fail "ctf2_spec.py"
for text in "$work/spec"/*.text; do
	shows "${text%.text}"
done
[ $checks -gt 300 ] || fail "only $checks checks"

# The byte order must not change inside a byte (6.4.3): example 96, whose `yellow` has the order of
# `orange` now; what is before this event is shown.
cp -r "$work/spec/96" "$work/changed"
sed -i 's/"name": "blue", "field-class": {\([^}]*\)big-endian/"name": "blue", "field-class": {\1little-endian/' \
	"$work/changed/metadata"
put "$work/changed" "$s/input"
is "events" 0 "$(grep -c '^e96: ' "$s/text")"
has "$(cat "$s/error")" 'the byte order changes inside a byte (CTF 2, section 6.4.3)'

# A packet that ends in the middle of an event: the events before it, and a sentence
cp -r "$work/cases/good/leb128" "$work/cut"
head -c 20 "$work/cases/good/leb128/stream" >"$work/cut/stream"
put "$work/cut" "$s/input"
is "events" 1 "$(grep -c '^ev: ' "$s/text")"
has "$(cat "$s/error")" 'stream: offset 6: an event ends after the content of its packet'
# An integer of more than 64 bits
{ head -c 6 "$work/cases/good/leb128/stream"; printf '\200\200\200\200\200\200\200\200\200\2\0'; } \
	>"$work/cut/stream"
put "$work/cut" "$s/input"
is "events" 1 "$(grep -c '^ev: ' "$s/text")"
has "$(cat "$s/error")" 'more than 64 bits'

# ---- our own ----

fields=$BUILD/tests/lib/fields
for version in 1.8 2; do
	o=$S/own
	mkdir "$o" "$o/user/channels/c" || fail mkdir
	put "$version" "$o/ctf_version"
	put '*' "$o/user/events"
	printf '%s\n' vpid procname '$app.fields:turn' '$app.fields:name' >"$o/user/channels/c/contexts"
	put start "$o/control"
	"$fields" 50 >/dev/null || fail "fields"
	"$BUILD/tests/mount/programs/many" >/dev/null 2>&1
	echo 'a line with " and \ and é' >"$MNT/log"
	put stop "$o/control"
	cp -r "$o/trace" "$work/own"
	put "$work/own" "$s/input"
	is "format of $version" "input_format CTF $version" "$(grep '^input_format ' "$s/status")"
	grep -v '^WARNING: Tracer ' "$o/text" >"$work/recorded"
	grep -v '^WARNING: Tracer ' "$s/text" >"$work/imported"
	[ "$(wc -l <"$work/recorded")" -gt 100 ] || fail "few events"
	cmp "$work/recorded" "$work/imported" ||
		fail "$version: $(diff "$work/recorded" "$work/imported" | head -6 | cut -c 1-600)"
	checks=$((checks + 1))
	rm -r "$work/own"
	rmdir "$o"
done
echo "$checks checks"
