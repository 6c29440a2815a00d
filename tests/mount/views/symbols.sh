#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Names of code addresses: a program whose call chains are known (its own functions, libc, stripped
# libraries with a build id, one of them with a debug file, code made at run time) has the right
# names in text.symbols and pipe.symbols, while it runs, and from the mappings in the trace after it
# has ended. nm is asked for the addresses independently. Wrong build ids, other hosts and other
# users' files give no names.
. "$(dirname "$0")/../../lib/mount.sh"

cc=${CC:-cc}
python=$(command -v python3) || skip "there is no python3"
command -v objcopy >/dev/null && command -v readelf >/dev/null || skip "there are no binutils"
cd "$work" || fail cd

# ---- the program ----

cat >one.c <<'END'
void one_call(void (*call)(void));
void one_call(void (*call)(void)) { call(); __asm__ volatile(""); }
END
cat >two.c <<'END'
void two_call(void (*call)(void));
static __attribute__((noinline)) void two_hidden(void (*call)(void)) { call(); __asm__ volatile(""); }
void two_call(void (*call)(void)) { two_hidden(call); __asm__ volatile(""); }
END
options="-O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls"
for n in one two; do
	$cc $options -shared -fPIC -Wl,--build-id -o lib$n.so $n.c 2>cc.log ||
		skip "no library can be built here: $(head -n 1 cc.log)"
	cp lib$n.so lib$n.whole
	strip lib$n.so
done
objcopy --only-keep-debug libtwo.whole libtwo.debug &&
	objcopy --add-gnu-debuglink=libtwo.debug libtwo.so || fail "objcopy"
$cc $options -o frames "$top/tests/mount/views/frames/frames.c" -L. -lone -ltwo -Wl,-rpath,"$work" \
	-Wl,-z,lazy || fail "frames cannot be built"
nm libone.so 2>&1 | grep -q one_call && fail "libone.so is not stripped"
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
ids="$work/libone.so=$(id_of libone.so) $work/libtwo.so=$(id_of libtwo.so)"

mkfifo line
./frames "$work/map" <line >said &
frames=$!
exec 3>line
within 20 grep -q '^end' said || fail "frames says nothing"
perf_map=/tmp/perf-$frames.map
trap 'ended=$?; rm -f "$perf_map"; (exit $ended); clean_up' EXIT
[ ! -f map ] || cp map "$perf_map"
host=$(uname -n)
# trace NAME HOST records|none
trace() { "$python" "$top/tests/lib/stack_trace.py" "$work/$1" "$2" $frames "$3" $4 <said || fail "trace"; }
trace alive "$host" none
trace records "$host" records "$ids"
trace plain elsewhere records "$ids"

# ---- what the names must be: nm, for the addresses and the mappings that the program printed ----

# expected ADDRESS BEFORE: the function at ADDRESS - BEFORE, by the mapping and the file's symbols
cat >expected.awk <<'END'
function hex(s,   i, n) {
	n = 0
	s = tolower(s)
	for (i = 1; i <= length(s); i++) n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1
	return n
}
BEGIN {
	at = hex(substr(address, 3)) - before
	while ((getline line <"said") > 0) {
		if (split(line, word, " ") < 6 || word[6] !~ /^\//) continue
		split(word[1], range, "-")
		if (!(word[6] in base)) base[word[6]] = hex(range[1])
		if (at >= hex(range[1]) && at < hex(range[2])) file = word[6]
	}
	if (file == "") exit
	whole = file
	if (sub(/\.so$/, ".whole", whole) && (getline line <whole) < 0) whole = file
	command = "nm -S --defined-only " whole " 2>/dev/null; nm -DS --defined-only " whole " 2>/dev/null"
	while ((command | getline line) > 0)
		if (split(line, word, " ") == 4 && word[3] ~ /[tTwWi]/ && at - base[file] >= hex(word[1]) &&
			at - base[file] < hex(word[1]) + hex(word[2])) {
			sub(/@.*/, "", word[4])
			print word[4]
		}
}
END
expected() { awk -v address="$1" -v before="$2" -f expected.awk; }
grep -E '^(own|libc|one|two|jit) ' said >chains
checked=0
while read -r chain first second rest; do
	case $chain in
	own) is "nm: inner" inner "$(expected "$first" 0 | sort -u)"
		is "nm: outer" outer "$(expected "$second" 1 | sort -u)" ;;
	libc) has "$(expected "$second" 1)" '^bsearch$' ;;
	one) is "nm: one" one_call "$(expected "$second" 1 | sort -u)" ;;
	two) is "nm: two" two_hidden "$(expected "$second" 1 | sort -u)" ;;
	esac
done <chains

# ---- in text ----

mount_tree
for of in alive records plain; do
	mkdir "$S/$of"
	put "$work/$of" "$S/$of/input"
done
# names SESSION CHAIN: as the first event of the chain has them, without offsets
names() {
	grep -m 1 "chain = \"$2\"" "$S/$1/text.symbols" |
		sed 's/.*, { callstack_user = \[ \(.*\) \] }$/\1/; s/\[[0-9]*\] = //g; s/+0x[0-9a-f]* / /g'
}
own='"inner (frames)", "outer (frames)", "main (frames)"'
jit='"in_jit (frames)", "LazyCompile:~add /tmp/a.js:1 ([JIT])"'
compare() {
	is "$1: own functions" "$own" "$(names $1 own)"
	is "$1: libc" '"in_bsearch (frames)", "bsearch (libc.so.6)", "main (frames)"' "$(names $1 libc)"
	is "$1: stripped" '"in_one (frames)", "one_call (libone.so)"' "$(names $1 one)"
	is "$1: a debug file" '"in_two (frames)", "two_hidden (libtwo.so)"' "$(names $1 two)"
	! grep -q '^jit' chains || is "$1: JIT" "$jit" "$(names $1 jit)"
}
compare alive
echo >&3
exec 3>&-
wait $frames || fail "frames"
compare records
# frames SESSION: `DEPTH EVENTS NAME` of each frame of the picture, outermost first
frames() {
	cat "$S/$1/export/flame.svg" >flame.svg || fail "flame.svg: $(cat "$S/$1/error")"
	"$python" - flame.svg <<'END'
import re, sys, xml.etree.ElementTree
frames = []
for g in xml.etree.ElementTree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}g"):
	if g.get("class") != "f":
		continue
	name, total = g[0].text.split("\n")[:2]
	frames.append((-float(g[1].get("y")), float(g[1].get("x")), name, re.search(r"total (\d+) event", total)[1]))
lowest = frames[0][0]
for y, x, name, total in sorted(frames):
	print(int((y - lowest) / 18), total, name)
END
}
compare_frames() {
	count=$(wc -l <chains)
	frames $1 >pictured
	for frame in "0 $((2 * count)) all" "1 4 main" "2 2 outer" "3 2 inner" "2 2 bsearch" "3 2 in_bsearch" \
		"1 2 one_call" "2 2 in_one" "1 2 two_hidden" "2 2 in_two" ${2+"$2" "2 2 in_jit"}; do
		grep -qxF "$frame" pictured || fail "$1: flame.svg has no $frame: $(cat pictured)"
		checks=$((checks + 1))
	done
	is "$1: frames" $((10 + (${2+2} + 0))) "$(wc -l <pictured)"
}
if grep -q '^jit' chains; then
	compare_frames records "1 2 LazyCompile:~add /tmp/a.js:1"
else
	compare_frames records
fi
[ "$(names alive own)" = '"[unknown]", "[unknown]", "[unknown]"' ] ||
	fail "a process that has ended: $(names alive own)"

# Offsets are those of the program: a return address is inside of the calling function.
has "$(cat "$S/records/text.symbols")" '{ chain = "own" }, { callstack_user = \[ \[0\] = "inner+0x[0-9a-f]* (frames)", \[1\] = "outer+0x[0-9a-f]* (frames)", '
# The rest of the lines is `text`; both views agree, and a second reader sees the same.
sed 's/, { callstack_user = \[ \[0\] = "[^{]*$//' "$S/records/text.symbols" | cmp - "$S/records/text" ||
	fail "text.symbols is not text with names"
timeout 60 cat "$S/records/pipe.symbols" | cmp - "$S/records/text.symbols" || fail "pipe.symbols"
# json.symbols is export/json, and the names of text.symbols; csv, chrome.json and the page of the
# time line have them, too.
cat "$S/records/export/json.symbols" >named && cat "$S/records/export/json" >json &&
	cat "$S/records/text.symbols" >texts && cat "$S/records/export/csv" >csv &&
	cat "$S/records/export/chrome.json" >chrome.json &&
	cat "$S/records/export/timeline.html" >page || fail "json.symbols"
"$python" - <<'END' >judged || fail "json.symbols: $(cat judged)"
import csv, json, re, sys
count, every = 0, []
for named, plain, text in zip(*[open(n).read().split("\n")[:-1] for n in ("named", "json", "texts")], strict=True):
	named = json.loads(named)
	symbols = named.pop("symbols", {})
	if named != json.loads(plain):
		sys.exit("%r\n%s" % (named, plain))
	want = text[text.find("{ callstack_user = ["):] if "{ callstack_user = [" in text else ""
	if symbols.get("callstack_user", []) != re.findall(r'\[\d+\] = "([^"]*)"', want):
		sys.exit("%r\n%s" % (symbols, text))
	every.append(symbols)
	count += bool(symbols)
if [json.loads(row["symbols"] or "{}") for row in csv.DictReader(open("csv"))] != every:
	sys.exit("csv has other names")
events = [e for e in json.load(open("chrome.json"))["traceEvents"] if e["ph"] != "M"]
if [e["args"].get("symbols", {}) for e in events] != every:
	sys.exit("chrome.json has other names")
if [json.loads(line[2:]) for line in open("page") if line.startswith("y\t")] != [s for s in every if s]:
	sys.exit("timeline.html has other names")
print(count)
END
is "events with names in JSON and csv" $((2 * $(wc -l <chains))) "$(cat judged)"
stack=$(sed -n 's/.*"chain":"libc".*"callstack_user":\["\([^]]*\)"\].*/\1/p' named | head -n 1 | sed 's/","/|/g')
has "$stack" '^in_bsearch+.*|bsearch+.*|main+'
if command -v chromium >/dev/null; then
	"$python" "$top/tests/lib/browse_page.py" "file://$S/records/export/timeline.html" "$stack" >browsed 2>&1
	case $? in
	0) checks=$((checks + 1)) ;;
	77) echo "# chromium does not work here: $(tail -n 1 browsed)" ;;
	*) fail "the page: $(tail -n 12 browsed)" ;;
	esac
fi

# stats: each chain is there twice, and main is in two chains.
sed -n 's/^frame  *\([0-9]* *[0-9]* [^ ]* [^ ]*\)$/\1/p' "$S/records/stats" | tr -s ' ' >counted
for frame in "2 2 inner frames" "0 2 outer frames" "0 4 main frames" "2 2 in_bsearch frames" \
	"0 2 bsearch libc.so.6" "2 2 in_one frames" "0 2 one_call libone.so" "0 2 two_hidden libtwo.so"; do
	grep -qxF "$frame" counted || fail "stats has no $frame: $(cat "$S/records/stats")"
	checks=$((checks + 1))
done
! grep -q '^jit' chains ||
	has "$(cat "$S/records/stats")" '^frame  *0  *2 "LazyCompile:~add /tmp/a.js:1" "*\[JIT\]"*$'
is "stacks" "stacks $((2 * $(wc -l <chains)))" "$(grep '^stacks' "$S/records/stats")"

# Another host: the files by their build ids, but not the system's process or its JIT compiler.
is "another host: own functions" "$own" "$(names plain own)"
! grep -q '^jit' chains ||
	is "another host: JIT" '"in_jit (frames)", "[unknown]"' "$(names plain jit)"

# ---- a session of our own: functions that were entered, after the program has ended ----

cat >timed.c <<'END'
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void branch(void) { leaf(); leaf(); }
int main(void) { branch(); leaf(); return 0; }
END
$cc -O1 -finstrument-functions -o timed timed.c || fail "timed cannot be built"
s=$S/timed
mkdir "$s"
printf '%s\n' 'lttng_ust_cyg_profile:*' 'lttng_ust_statedump:*' >"$s/user/events"
printf '%s\n' vpid vtid procname >"$s/user/contexts"
put start "$s/control"
LD_PRELOAD=$BUILD/libtrail-dl.so:$BUILD/libtrail-cyg-profile.so ./timed || fail "timed"
put stop "$s/control"
is "functions in text" "main branch leaf leaf leaf" "$(echo $(sed -n \
	's/.*:func_entry: .*, { addr = "\([a-z]*\)+0x0 (timed)", call_site = ".*/\1/p' "$s/text.symbols"))"
"$python" - "$s/export/flame.svg" >functions <<'END'
import sys, xml.etree.ElementTree
for g in xml.etree.ElementTree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}g"):
	if g.get("class") == "f":
		print(g[0].text.split("\n")[0])
END
# (Frames of less than 1/100000 of the time are left out.)
has "$(cat functions)" '^main$'
grep -vxE 'all|timed|main|branch|leaf' functions && fail "flame.svg: other names"
is "flame.folded" "timed;main timed;main;branch timed;main;branch;leaf timed;main;leaf" \
	"$(echo $(sed 's/ [0-9]*$//' "$s/export/flame.folded"))"
# The slices have these names in all pictures and in stats, and addresses are hexadecimal.
is "stats" "1 branch 3 leaf 1 main" "$(echo $(awk '$1 == "pair" { print $NF, $4 }' "$s/stats" |
	sort | awk '{ print $2, $1 }'))"
cat "$s/export/chrome.json" >chrome.json && cat "$s/export/timeline.html" >page &&
	cat "$s/export/perfetto" >perfetto || fail "the pictures of functions"
"$python" - <<'END' >functions || fail "functions: $(cat functions)"
import json, re
events = json.load(open("chrome.json"))["traceEvents"]
begins = [e for e in events if e["ph"] == "B"]
print(*sorted(e["name"] for e in begins))
assert all(re.fullmatch("0x[0-9a-f]{5,}", e["args"][f]) for e in begins for f in ("addr", "call_site")), begins
assert all(e["args"]["symbols"]["addr"].split("+")[0] == e["name"] for e in begins), begins
classes, names = {}, []
for line in open("page"):
	cell = line.rstrip("\n").split("\t")
	if cell[0] == "d":
		classes[cell[1]] = cell[3]
		if "func_entry" in cell[2]:
			assert cell[5].split(" ")[int(cell[4]):] == ["x64", "x64"], cell
	if re.match("[bB][0-9]", line):
		names.append(classes[cell[0][1:].split(" ")[0]])
print(*sorted(names))
# Entries of interned names, and begins of slices (type 1, track, category, name) with their numbers.
trace = open("perfetto", "rb").read()
name = dict(re.findall(rb"\x08(.)\x12[\x04-\x06](main|branch|leaf)", trace, re.S))
found = re.findall(rb"\x48\x01\x58[\x80-\xff]*[\x00-\x7f](?:\x18.)?\x50(.)", trace, re.S)
print(*sorted(name[n].decode() for n in found))
END
one="branch leaf leaf leaf main"
is "functions of three pictures" "$one|$one|$one" "$(paste -sd '|' functions)"
is "stats without stacks" "" "$(grep -E 'stacks|frame' "$s/stats")"
rmdir "$s"

# ---- pictures for docs/: SHOTS is their directory ----

if [ -n "${SHOTS-}" ]; then
	cat >shop.c <<'END'
#define STEP(name, n, calls) static __attribute__((noinline)) void name(void) \
	{ calls; for (volatile int i = 0; i < 1000 * n; i++); }
STEP(hash, 90, ) STEP(compare, 60, ) STEP(look_up, 20, hash(); compare())
STEP(read_line, 70, ) STEP(parse_number, 45, ) STEP(parse_order, 40, read_line(); parse_number())
STEP(discount, 60, ) STEP(price, 30, look_up(); discount())
STEP(compress, 150, ) STEP(write_log, 40, compress()) STEP(send_mail, 80, look_up())
STEP(confirm, 20, write_log(); send_mail())
STEP(serve, 10, parse_order(); price(); price(); confirm())
int main(void) { for (int i = 0; i < 20; i++) serve(); return 0; }
END
	$cc -O1 -finstrument-functions -o shop shop.c || fail "shop cannot be built"
	mkdir "$S/shop"
	printf '%s\n' 'lttng_ust_cyg_profile:*' 'lttng_ust_statedump:*' >"$S/shop/user/events"
	printf '%s\n' vpid vtid procname >"$S/shop/user/contexts"
	put start "$S/shop/control"
	LD_PRELOAD=$BUILD/libtrail-dl.so:$BUILD/libtrail-cyg-profile.so ./shop || fail "shop"
	put stop "$S/shop/control"
	"$python" "$top/tests/lib/browser.py" "file://$S/shop/export/flame.svg" "$SHOTS" ||
		fail "no pictures"
	rmdir "$S/shop"
fi

# ---- files that are not those of the trace ----

cat >>two.c <<'END'
int two_more;
END
$cc $options -shared -fPIC -Wl,--build-id -o other.so two.c || fail "other.so"
cp libtwo.so saved
cp other.so libtwo.debug
has "$(names records two)" '"libtwo.so+0x[0-9a-f]*"$'
cp other.so libtwo.so
has "$(names records two)" '"libtwo.so+0x[0-9a-f]*"$'
cp saved libtwo.so
objcopy --only-keep-debug libtwo.whole libtwo.debug
compare records
# Bytes that are no ELF file, and one that is cut
head -c 1000 libone.whole >libone.so
has "$(names records one)" '"libone.so+0x[0-9a-f]*"$'
: >libone.so
has "$(names records one)" '"libone.so+0x[0-9a-f]*"$'

# ---- rights: the session's owner may read neither the program nor another user's JIT file ----

if [ "$(id -u)" = 0 ] && [ -f map ]; then
	chown 4712 "$perf_map"
	chmod 700 frames
	mkdir "$S/user"
	chown 4711 "$S/user"
	put "$work/records" "$S/user/input"
	is "a file of another user" '"frames+0x, "[unknown]"' \
		"$(names user jit | sed 's/+0x[0-9a-f]*"/+0x/')"
fi
echo "$checks checks"
