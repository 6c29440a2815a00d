#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# Fields of <trail/trail.h> that are more than a number: arrays, enumerations with labels, bit
# fields, variants, and in C++ strings, containers, structures (api/rich.*): names, types and values
# as the text shows them; babeltrace2 agrees, filters see them.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
mkfifo "$work/fifo"
mount_tree
flags="-Wall -Wextra -Wshadow -pedantic -Werror -I$top/ustlib -L$BUILD"
link="-ltrail -Wl,-rpath,$BUILD"

# line NAME N: what the event is for n = N, without time and CPU
phase() { case $1 in 0) echo '( "PHASE_IDLE" : container = 0 )' ;; 1) echo \
	'( "PHASE_BUSY" : container = 5 )' ;; 2) echo \
	'( "PHASE_FAILED" : container = -1 )' ;; esac; }
repeat() { printf "%$1s" | tr ' ' "$2"; }
line() {
	n=$2
	real=$n
	case $1 in
	names) echo "rich:names { id = $((n + 10)), parts = 2, twice = $((2 * n)), n = $n, n_2 = $n, index = 0, errno = $n }" ;;
	alike) echo "rich:alike { _n = $n, n_2 = $n, _ids_length = 1, ids = [ [0] = $n ], ids_length_2 = 1 }" ;;
	arrays)
		echo "rich:arrays { ints = [ [0] = $n, [1] = -$n, [2] = 3 ], doubles = [ [0] = $n.5, [1] = -1e+09 ], floats = [ [0] = 0.25, [1] = 1.5 ], bytes = [ [0] = 0, [1] = 255 ], flags = [ [0] = 1, [1] = 0 ], wide = [ [0] = 18446744073709551615 ], phases = [ [0] = 0, [1] = -1 ], text = \"text\", full = \"full\", parts = [ [0] = 7, [1] = -8 ], addresses = [ [0] = 0x10, [1] = 0x0 ], words = [ [0] = 0x20 ], literal = \"abc\", _some_length = 2, some = [ [0] = $n.5, [1] = -1e+09 ], one = [ [0] = 0.25 ], n = $n }" |
			sed 's/-0,/0,/' ;;
	labels)
		case $n in
		0) code='( <unknown> : container = 4 )' small='( <unknown> : container = 0 )' ;;
		1) code='( "PHASE_BUSY" : container = 5 )' \
			small='( "PHASE_FAILED" : container = -1 )' ;;
		2) code='( <unknown> : container = 6 )' small='( <unknown> : container = -2 )' ;;
		esac
		echo "rich:labels { phase = $(phase \
			"$n"), code = $code, small = $small, n = $n }" ;;
	large)
		ints=$(awk -v n="$n" 'BEGIN { for (i = 0; i < 100; i++) printf "%s[%d] = %d", i ? ", " : "", i, n }')
		idle="( <unknown> : container = $n )"
		[ "$n" != 0 ] || idle='( "PHASE_IDLE" : container = 0 )'
		echo "rich:large { ints = [ $ints ], text = \"$(repeat 10 t)\", full = \"$(repeat \
			300 f)\", phase = $idle, n = $n }" ;;
	bits)
		code=$((n == 1 ? 5 : 0))
		echo "rich:bits { ack = 1, delta = $((n - 16)), window = $((4093 + n)), before = 65535, phase = $code, lowest = $n, word = $((2147483648 + n)), minus = $((-n)), all = $((-n)), last = $n, end = $((n - 2)), n = $n }" |
			sed 's/-0,/0,/g' ;;
	last_bits) echo "rich:last_bits { n = $n, one = 1, minus = $((-n)) }" ;;
	large_bits)
		echo "rich:large_bits { odd = $((n % 2)), next = $((n + 1)), full = \"$(repeat \
			300 f)\", minus = $((-n)), even = $(((n + 1) % 2)), n = $n }" ;;
	variants)
		case $n in
		0) v='( "_OPTION_WHOLE" : container = 0 ), value = { -5 }' o='( "_OPTION_REAL" : container = 0 ), other = { 0.25 }' ;;
		1) v='( "_OPTION_TEXT" : container = 2 ), value = { "text" }' o='( "_OPTION_FULL" : container = 1 ), other = { "full" }' ;;
		2) v='( "_none" : container = 3 ), value = { { } }' o='( "_OPTION_PHASE" : container = 2 ), other = { 0x10 }' ;;
		esac
		echo "rich:variants { value_tag = $v, value_tag_2 = $((n + 1)), other_tag = $o, bits = $n, n = $n }" ;;
	large_variants)
		case $n in
		0) v='( "_OPTION_WHOLE" : container = 0 ), v = { 0 }' o='( "_none" : container = 2 ), # = { { } }' ;;
		1) v="( \"_1\" : container = 1 ), v = { \"$(repeat 299 t)\" }" o='( "_1" : container = 0 ), # = { -1 }' ;;
		2) v='( "_none" : container = 2 ), v = { { } }' o='( "_2" : container = 1 ), # = { 0.5 }' ;;
		esac
		echo "rich:large_variants { v_tag = $v, $(for f in a b c d e f g h i j k l; do
			echo "${f}_tag = $o, " | sed "s/#/$f/"; done | tr -d '\n')n = $n }" ;;
	containers)
		echo "rich:containers { s = \"string $n\", empty = \"\", nul = \"a\", view = \"str\", none = \"\", _ints_length = 2, ints = [ [0] = $n, [1] = -1 ], _doubles_length = 2, doubles = [ [0] = 0.5, [1] = $n.25 ], _nothing_length = 0, nothing = [ ], fixed = [ [0] = 1, [1] = 2, [2] = $n ], real = [ [0] = 2.5 ], _span_length = 2, span = [ [0] = $n, [1] = -1 ], temporary = \"made $n\", n = $n }" ;;
	structures)
		st='( "running" : container = 4 )'
		[ "$n" != 0 ] || st='( "idle" : container = 3 )'
		request="id = $n, path = \"$3\", st = $st, from = { x = 1, y = -2 }, _sizes_length = 2, sizes = [ [0] = 7, [1] = 8 ], gains = [ [0] = 0.5, [1] = 1.5 ], note = \"(null)\""
		[ "$3" = /index ] ||
			{ echo "rich:large_structure { r = { $request }, n = $n }"; return; }
		echo "rich:structures { st = $st, odd = ( <unknown> : container = 77 ), p = { x = $n, y = 0.5 }, r = { $request }, both = { a = { x = 1, y = 2 }, b = { x = 3, y = $n.75 } }, from = { x = 1, y = -2 }, other = { x = 5, y = 6 }, n = $n }" ;;
	esac
}
for n in 0 1 2; do
	for e in names alike arrays labels large bits large_bits last_bits variants large_variants; do line $e $n; done
done >"$work/want"
{
	cat "$work/want"
	for n in 0 1 2; do
		line containers $n
		line structures $n /index
		line structures $n "$(repeat 1000 x)"
	done
	echo 'rich:in_template { value = "text" }'
	echo 'rich:in_template { _value_length = 2, value = [ [0] = 1, [1] = 2 ] }'
	echo 'rich:in_template { value = { x = 1, y = 2 } }'
	echo 'rich:empty_vector { _v_length = 0, v = [ ] }'
} >"$work/want.cxx"

# csv_has_bits SESSION: the values of rich:bits are those of the text
csv_has_bits() {
	cat "$S/$1/export/csv" >"$work/csv" || return
	awk -F, 'NR == 1 { for (i = 5; i <= NF; i++) { name[i] = $i; sub("fields.", "", name[i]) } }
		$4 == "rich:bits" { for (i = 5; i <= NF; i++)
			if ($i != "") { printf " %s = %s%s", name[i], $i, name[i] == "n" ? "\n" : "," } }
		' "$work/csv" | tr ',' '\n' | sort >"$work/csv.bits"
	awk -F'[{}]' '/ rich:bits/ { print $(NF - 1) }' "$work/text" | tr ',' '\n' |
		sed 's/ $//' | sort | cmp -s - "$work/csv.bits"
}

# run NAME WANT PROGRAM: runs it traced and compares
run() {
	mkdir "$S/$1" && echo 'rich:*' >"$S/$1/user/events" && echo start >"$S/$1/control" ||
		fail "session $1"
	"$3" || fail "$1: exit status $?"
	echo stop >"$S/$1/control" || fail stop
	cat "$S/$1/text" >"$work/text"
	TZ=UTC babeltrace2 "$S/$1/trace" >"$work/bt2" 2>"$work/bt2.err" ||
		fail "$1: babeltrace2: $(cat "$work/bt2.err")"
	# (babeltrace2 2.0 shows empty strings as what was before them.)
	for f in text bt2; do awk 'NR == FNR { skip[FNR] = /= ""/; next } !skip[FNR]' "$work/text" \
		"$work/$f" >"$work/$f.full"; done
	cmp "$work/text.full" "$work/bt2.full" ||
		fail "$1: text and babeltrace2 differ: $(diff "$work/text.full" "$work/bt2.full" |
		cut -c1-300)"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" \
		>"$work/have"
	diff "$work/have" "$2" >"$work/diff" || fail "$1: $(cut -c1-700 "$work/diff" | head -n 20)"
	csv_has_bits "$1" || fail "$1: csv has other bit fields: $(grep rich:bits "$work/csv")"
	cp "$(find "$S/$1/trace" -name metadata | head -n 1)" "$work/metadata"
	[ "$1" = c1 ] || rmdir "$S/$1" || fail rmdir
	checks=$((checks + 1))
}

round=0
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	case $cc in
	gcc) cxx=g++ std="c11 -O2" stdcxx="c++17 -O2" ;;
	*) cxx=clang++ std="gnu17 -O0" stdcxx="gnu++20 -O0" ;;
	esac
	$cc -std=$std $flags -o "$work/c" "$here/api/rich.c" $link || fail "$cc $std"
	round=$((round + 1))
	run c$round "$work/want" "$work/c"
	command -v $cxx >/dev/null || continue
	$cxx -std=$stdcxx $flags -o "$work/cxx" "$here/api/rich.cc" $link || fail "$cxx $stdcxx"
	round=$((round + 1))
	run cxx$round "$work/want.cxx" "$work/cxx"
done
[ $round -gt 0 ] || skip "there is no compiler"
[ -x "$work/cxx" ] || { echo "$checks programs, none in C++"; exit 0; }

# As LTTng and the kernel's events have it
meta=$(tr -d '\0' <"$work/metadata")
has "$meta" '"idle" = 3,'
has "$meta" \
	'floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _doubles\[ __doubles_length \];'
has "$meta" 'floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _floats\[2\];'

has "$meta" 'integer { size = 12; align = 1; signed = 0; base = 10; } _window;'
has "$meta" 'integer { size = 64; align = 8; signed = 1; base = 10; } _all;'

# seen RULE EXPECTED: the values of n that come through. One run is for all rules.
mkdir "$work/rules"
seen() {
	round=$((round + 1))
	s=$S/f$round
	mkdir "$s" && echo "$1" >"$s/user/events" && echo start >"$s/control" ||
		fail "rule: $1: $(cat "$S"/*/error)"
	printf '%s\n' "$1" "$2" >"$work/rules/f$round"
}
seen 'rich:arrays if ints[1] == -2' "2 "
seen 'rich:arrays if doubles[0] > 0.75' "1 2 "
seen 'rich:arrays if some[0] == 1.5 && some[1] < 0' "1 "
seen 'rich:arrays if text == "te*" && full == "full" && n < 2' "0 1 "
seen 'rich:labels if phase == -1' "2 "
seen 'rich:bits if window > 4094' "2 "
seen 'rich:bits if delta == -15 && phase == 5 && ack' "1 "
seen 'rich:bits if end < 0 && all == 0 && last == 0 && !lowest' "0 "
seen 'rich:large_bits if minus == -2 && next != 0 && full == "f*"' "2 "
seen 'rich:variants if value.OPTION_WHOLE < 0' "0 "
seen 'rich:variants if value.OPTION_TEXT == "text" && other.OPTION_FULL == "f*l" && bits == 1' "1 "
seen 'rich:variants if other.OPTION_PHASE == 16 && n' "2 "
seen 'rich:variants if !value.OPTION_WHOLE' ""
seen 'rich:large_variants if v.1 == "ttt*" && l.1 == -1 && n < 2' "1 "
seen 'rich:containers if s == "string 1"' "1 "
seen 'rich:containers if ints[1] < 0 && fixed[2] == 2' "2 "
seen 'rich:containers if doubles[1] >= 1.25 && real[0] == 2.5' "1 2 "
seen 'rich:containers if doubles[2] >= 1' ""
seen 'rich:structures if r.path == "/ind*" && r.from.x == 1 && p.x >= 1' "1 2 "
seen 'rich:structures if r.sizes[1] == 8 && r.gains[1] == 1.5 && both.b.y < 1.5' "0 "
seen 'rich:structures if st == 3' "0 "
seen 'rich:structures if x == 1' ""
seen 'rich:large_structure if r.path == "*x" && n == 1' "1 "
"$work/cxx" || fail "exit status $?"
for f in "$work"/rules/*; do
	s=$S/${f##*/}
	echo stop >"$s/control"
	is "$(sed -n 1p "$f")" "$(sed -n 2p "$f")" \
		"$(sed -n 's/.*[{,] n = \([0-9]*\) }$/\1/p' "$s/text" | tr '\n' ' ')"
	rmdir "$s"
done
# Variants in the other forms, in CTF 2 and after an import; a value of a map is that of the option
s=$S/variants
mkdir "$s" "$s/user/maps/by_value" || fail "session variants"
echo 2 >"$s/ctf_version"
echo 'rich:variants by value count' >"$s/user/maps/by_value/rules" ||
	fail "map: $(cat "$s/error" "$S/error")"
echo 'rich:variants' >"$s/user/events" && echo start >"$s/control" && "$work/cxx" &&
	echo stop >"$s/control" || fail "variants"
cat "$s/export/json" >"$work/json"
is "json" '"value":-5,"value_tag_2":1,"other":0.25 "value":"text","value_tag_2":2,"other":"full" "value":null,"value_tag_2":3,"other":16 ' \
	"$(sed 's/.*{\("value".*\),"bits".*/\1/' "$work/json" | tr '\n' ' ')"
is "csv" '-5,1,0.25,0,0 text,2,full,1,1 ,3,16,2,2 ' \
	"$(sed -n 's/.*rich:variants,//p' "$s/export/csv" | tr '\n' ' ')"
has "$(cat "$s/export/chrome.json")" '"value":"text","value_tag_2":2,"other":"full"'
has "$(cat "$s/export/sql")" "'text',2,'full',1,1)"
has "$(cat "$s/user/maps/by_value/values")" ' 1 text$'
python3 "$top/tests/lib/judge_ctf2.py" "$s/trace" "$work/json" >"$work/judged" ||
	fail "CTF 2: $(head -c 3000 "$work/judged")"
mkdir "$S/import" && cp -r "$S/c1/trace" "$work/copy" && echo "$work/copy" >"$S/import/input" ||
	fail "import"
cmp "$S/import/text" "$S/c1/text" || fail "text of an import"
rmdir "$S/import" "$S/c1" "$s"

# Neither a structure nor a variant as such is anything to compare.
mkdir "$S/bad" && echo 'rich:structures if p == 1' >"$S/bad/user/events" &&
	echo 'rich:variants if value == 1' >>"$S/bad/user/events" &&
	echo start >"$S/bad/control" || fail "session bad"
"$work/cxx" wait <"$work/fifo" &
pid=$!
exec 3>"$work/fifo"
within 20 grep -q '^rich:structures ' "$MNT/available/user/fields" ||
	fail "no fields of rich:structures"
has "$(cat "$MNT/available/user/fields")" '^rich:structures {.* struct { int32 id; string path; enum state uint8 st; struct { int32 x; double y } from; int16 sizes\[\]; float gains\[2\]; string note } r;'
has "$(cat "$MNT/available/user/fields")" '^rich:variants { variant { int32 OPTION_WHOLE; double OPTION_REAL; string OPTION_TEXT } value;'
exec 3>&-
wait $pid || fail "exit status $?"
is "a structure or a variant compared with a number" 0 "$(key events_recorded "$S/bad/status")"
rmdir "$S/bad"
echo "$checks checks"
