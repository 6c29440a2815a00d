#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 200
#
# Maps: their numbers are those that babeltrace2 and awk count in the events of a channel of the
# same session; for several threads, when a program is killed, when buffers overflow (what is lost
# is said), when there is no room for a key; rules are saved, restored and refused; system calls.
. "$(dirname "$0")/../../lib/mount.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
SELLER=$BUILD/tests/mount/views/seller
[ -x "$SELLER" ] || skip "there is no seller"
mount_tree

# text SESSION: into $work/bt, the events as babeltrace2 has them
text() {
	babeltrace2 --clock-seconds "$1/trace" >"$work/bt" 2>"$work/bt.err" ||
		fail "babeltrace2: $(cat "$work/bt.err")"
}
# same MAP FILE: the table of the map, sorted, is what the file has
same() {
	cat "$1/values" >"$work/values" || fail "cannot read ${1#"$S"/}/values"
	awk '/^#/ { on = 1; next } /^$/ { on = 0 } /^[a-z]*\(/ { on = 0 } on' "$work/values" |
		awk '{ $1 = $1; print }' | sort >"$work/got"
	sort "$2" >"$work/wanted"
	cmp -s "$work/wanted" "$work/got" ||
		fail "${1#"$S"/}: $(diff "$work/wanted" "$work/got" | head -n 8)"
	[ -s "$work/got" ] || fail "${1#"$S"/} has no values"
	checks=$((checks + 1))
}
refuses() { # ERRNO RULE SENTENCE
	is "$2" "$1" "$(tool open "$m/rules" wt write "$2\\n" close | grep -v ok)"
	has "$(cat "$s/error")" "$3"
}

# --- rules
s=$S/shop
mkdir "$s"
for m in sales weights pairs; do
	mkdir "$s/user/maps/$m"
done
m=$s/user/maps/sales
refuses EINVAL 'shop:sale by item, sum(price)' 'rules:1: an operator follows the last field'
refuses EINVAL 'shop:sale by item summ(price)' "did you mean 'sum'"
refuses EINVAL 'shop:sale if price > by item' 'rules:1'
refuses ENOENT 'shop:sale by $ctx.nonsense' 'nonsense'
refuses EINVAL 'pair shop:sale by item' 'rules:1'
refuses EINVAL 'shop:sale lhist(price, 5, 1, 1)' 'MIN < MAX'
refuses ENOENT '!shop:sale' 'no such rule'
for field in 'a[-1]' 'a[4294967296]' 'a[1' a. a..b 'a[1]b' a.b.c.d.e.f.g.h.i; do
	refuses EINVAL "shop:sale by $field" 'a field is NAME, with members'
done
refuses EINVAL 'shop:sale by $ctx.' 'the name of the context is missing'
put 'shop:sale by a[1].b[4294967295][0].c, d.e sum(f.g.h.i.j.k.l.m)' "$m/rules"
echo >"$m/rules"
is "no rules yet" "" "$(cat "$m/rules")"
put 'shop:sale by item count, sum(price), min price, max price, avg price, hist(price)' "$m/rules"
put 'shop:sale if price > 2000 && count != 3 || thread == 1 by thread sum weight' "$s/user/maps/weights/rules"
echo 'shop:sale lhist(price, 0, 1000, 250), topk(price, 3)' >>"$s/user/maps/weights/rules"
put 'pair shop:serve_begin shop:serve_end on thread, n by thread count, hist(latency)' "$s/user/maps/pairs/rules"
is "two maps with one name" EEXIST "$(tool mkdir "$s/user/maps/sales")"

# --- the same events in a channel and in maps, of two processes with threads
mkdir "$s/user/channels/all"
echo 8M >"$s/user/channels/all/subbuf_size"
echo 'shop:*' >"$s/user/channels/all/events"
put start "$s/control"
"$SELLER" 3000 2 </dev/null >/dev/null &
"$SELLER" 2000 </dev/null >/dev/null || fail "seller"
wait $! || fail "seller"
text "$s"
is "all are recorded" 0 "$(key events_discarded "$s/status")"
# item, price, weight of each sale, with tabs
sed -n 's/.*shop:sale: .*thread = \([0-9]*\), n = \([0-9]*\), item = "\(.*\)", price = \([-0-9]*\), weight = \([0-9.]*\) }$/\1\t\2\t\3\t\4\t\5/p' \
	"$work/bt" >"$work/sales"
is "sales" 8000 "$(wc -l <"$work/sales")"
awk -F '\t' 'function digits(a,    n, t) {
		for (n = 15; n <= 17; n++) { t = sprintf("%." n "g", a); if (t + 0 == a) return t } }
	{ i = $3; n[i]++; s[i] += $4
		if (n[i] == 1 || $4 < lo[i]) lo[i] = $4
		if (n[i] == 1 || $4 > hi[i]) hi[i] = $4 }
	END { for (i in n) { a = s[i] / n[i]; name = i
		if (i ~ /[ ,]/) name = "\"" i "\""
		printf("%d %d %d %d %s %s\n", n[i], s[i], lo[i], hi[i], a == int(a) ? a : digits(a), name) } }' \
	"$work/sales" >"$work/expected"
same "$s/user/maps/sales" "$work/expected"
is "lost" 0 "$(key lost "$work/values")"
is "events" 8000 "$(key events "$work/values")"
# The histogram of the first kind.
awk '/^hist\(price\) tea$/ { on = 1; next } on && !/\|/ { exit } on' "$work/values" |
	sed 's/ *\([0-9]*\) |[^|]*|$/ \1/' | sort >"$work/got"
awk -F '\t' '$3 == "tea" { p = $4
		if (p < 0) k = "(..., 0)"; else if (p == 0) k = "[0, 1)"
		else { b = 1; while (2 * b <= p) b *= 2
			k = "[" (b < 1024 ? b : b / 1024 "K") ", " (2 * b < 1024 ? 2 * b : 2 * b / 1024 "K") ")" }
		n[k]++ } END { for (k in n) print k, n[k] }' "$work/sales" | sort >"$work/wanted"
# (Intervals in the middle may be empty.)
grep -v ' 0$' "$work/got" >"$work/got.some"
cmp -s "$work/wanted" "$work/got.some" || fail "hist: $(diff "$work/wanted" "$work/got.some")"
# A filter with words that are operators; several rules.
awk -F '\t' '$1 == 1 { s[$1] += $5 } END { for (i in s) print s[i], i }' "$work/sales" >"$work/expected"
put 'shop:sale if thread == 1 by thread sum weight' "$s/user/maps/weights/rules"
echo 'shop:sale lhist(price, 0, 1000, 250), topk(price, 3)' >>"$s/user/maps/weights/rules"
is "new rules begin again" 0 "$(key events "$s/user/maps/weights/values" | head -n 1)"
# The keys with the greatest values only.
mkdir "$s/user/maps/top"
m=$s/user/maps/top
refuses EINVAL 'shop:sale by item topk(0)' 'topk(K): K is 1 to 4096'
refuses EINVAL 'shop:sale by item topk(4097)' 'topk(K): K is 1 to 4096'
refuses EINVAL 'shop:sale by item topk(2, 3)' 'expected )'
refuses EINVAL 'shop:sale by item topk(-1)' 'topk(K): K is 1 to 4096'
refuses EINVAL 'shop:sale by item topk(2), topk(3)' 'topk(K) is there already'
refuses EINVAL 'shop:sale by item topk 2' 'brackets: topk(K)'
refuses EINVAL 'shop:sale by item, topk(2)' 'follows the last field without a comma'
mkdir "$s/user/maps/shelves"
put 'shop:open by shelf, threads' "$s/user/maps/shelves/rules"
put 'shop:sale by n topk(3), sum(price), topk(price, 1)' "$m/rules"
"$SELLER" 1200 2 </dev/null >/dev/null || fail "seller"
is "a key in base 16" "1 0x1F00 2" "$(awk '/^#/ { on = 1; next } on { $1 = $1; print }' "$s/user/maps/shelves/values")"
rmdir "$s/user/maps/shelves"
awk 'BEGIN { for (n = 0; n < 1200; n++) print 2 * (n * 7919 % 5000 - 100), n }' | sort -rnk1,1 | head -n 3 >"$work/expected"
same "$m" "$work/expected"
is "all keys, and lists of some" "1200 3" "$(key keys "$work/values") $(grep -c '^topk(price) ' "$work/values")"
is "in JSON" "1 3" "$(grep -c '"keys":1200,' "$m/values.json") $(grep -c '^{"key"' "$m/values.json")"
put 'shop:sale by item topk(3)' "$m/rules"
is "the default beside topk" "#         count item" "$(grep '^#' "$m/values")"
rmdir "$m"
cat "$s/user/maps/weights/values" >"$work/values"
# 1200 sales of thread 1: 100 times 0 + 0.75 + … + 8.25
is "sum with a filter" "4950 1" "$(awk '/^#/ && /sum/ { getline; print $1, $2; exit }' "$work/values")"
awk 'BEGIN { for (n = 0; n < 1200; n++) { p = n * 7919 % 5000 - 100
		if (p < 0) k = "(..., 0)"; else if (p >= 1000) k = "[1000, ...)"
		else { b = int(p / 250) * 250; k = "[" b ", " b + 250 ")" }
		c[k] += 2 } for (k in c) print k, c[k] }' | sort >"$work/wanted"
awk '/^lhist/ { on = 1; next } /^topk/ { exit } on' "$work/values" |
	sed 's/ *\([0-9]*\) |[^|]*|$/ \1/' | sort >"$work/got"
cmp -s "$work/wanted" "$work/got" || fail "lhist: $(diff "$work/wanted" "$work/got")"
awk 'BEGIN { for (n = 0; n < 1200; n++) { print n * 7919 % 5000 - 100; print n * 7919 % 5000 - 100 } }' |
	sort -rn | head -n 3 >"$work/wanted"
awk '/^topk/ { on = 1; next } on' "$work/values" >"$work/got"
cmp -s "$work/wanted" "$work/got" || fail "topk: $(cat "$work/got")"

text "$s"
# --- pairs. (Each ring has times of its own, which differ from those of the channel: a lower bound
# is known, because the seller sleeps in its second round.)
awk 'match($0, /thread = [0-9]+, n = [0-9]+/) {
		k = substr($0, RSTART, RLENGTH); split(k, f, "[ ,]+")
		if (/serve_begin/) top[k]++
		else if (/serve_end/ && top[k]) { top[k]--; n[f[3]]++ } }
	END { for (i in n) printf("%d %d\n", n[i], i) }' "$work/bt" >"$work/expected"
same "$s/user/maps/pairs" "$work/expected"
is "hist of pairs" "$(awk '{ n += $1 } END { print n }' "$work/expected")" \
	"$(awk -F '[)|]' '/^[[]/ { n += $2 } END { print n }' "$work/values")"
awk '/^[[]/ && $3 + 0 { last = $1 } END { exit last !~ /[0-9]m?s,$/ }' "$work/values" ||
	fail "no pair of 2 ms: $(cat "$work/values")"
is "each end has its begin" 0 "$(key unpaired "$work/values")"
! grep -q 'map-' "$S"/*/status || fail "the hidden session is named"
is "streams of the channel only" "" "$(find "$s/trace" -name '*channel0*')"
if python3 -c 'import json' 2>/dev/null; then
	python3 -c 'import json, sys
for r in json.load(sys.stdin)["rules"]:
	print(r["events"], sum(v["count"] for v in r["values"]), sorted(v["key"]["item"] for v in r["values"]))' \
		<"$s/user/maps/sales/values.json" >"$work/json" || fail "values.json: $(cat "$s/user/maps/sales/values.json")"
	is "JSON" "10400 10400 ['café', 'green tea', 'm,3', 'tea']" "$(cat "$work/json")"
fi

# --- clear and stop
put 1 "$s/user/maps/sales/clear"
is "cleared" 0 "$(key events "$s/user/maps/sales/values")"
put clear "$s/control"
is "cleared with the session" 0 "$(key events "$s/user/maps/pairs/values")"
"$SELLER" 100 </dev/null >/dev/null
put stop "$s/control"
"$SELLER" 100 </dev/null >/dev/null
is "after stop" 100 "$(key events "$s/user/maps/sales/values")"
rmdir "$s/user/maps/weights" || fail "rmdir of a map"
[ ! -e "$s/user/maps/weights" ] || fail "the map is still there"
cat "$s/config" >"$work/saved.ini"
rmdir "$s"

# --- events without a value say why
s=$S/reasons
mkdir "$s"
reason() { # RULE SENTENCE
	mkdir "$s/user/maps/r"
	put "$1" "$s/user/maps/r/rules"
	"$SELLER" 10 </dev/null >/dev/null
	cp "$s/user/maps/r/values" "$work/values"
	has "$(cat "$s/user/maps/r/values.json")" "\"reason\":\"${2#reason }"
	rmdir "$s/user/maps/r"
	is "$1" "$2" "$(grep '^reason' "$work/values")"
	is "$1: missing" 10 "$(key missing "$work/values")"
}
put shop:open "$s/user/events"
put start "$s/control"
reason 'shop:sale by itm sum price' "reason 'shop:sale' has no field 'itm'; did you mean 'item'?"
reason 'shop:sale by item sum(prce), max(n)' "reason 'shop:sale' has no field 'prce'; did you mean 'price'?"
reason 'shop:sale by item.x' "reason 'shop:sale' has no field 'item.x'"
reason 'shop:sale by n topk(item, 3)' "reason 'item' of 'shop:sale' is no number"
reason 'shop:sale by colour_of_it' "reason 'shop:sale' has no field 'colour_of_it'"
mkdir "$s/user/maps/r"
put 'shop:sale by item' "$s/user/maps/r/rules"
"$SELLER" 10 </dev/null >/dev/null
is "none is missing" "0 0" "$(key missing "$s/user/maps/r/values") $(grep -c reason "$s/user/maps/r/values")"
rmdir "$s"

# --- a program that is killed while it records
s=$S/killed
mkdir "$s" "$s/user/maps/some"
put 'shop:sale if n & 4095 == 0 by thread count' "$s/user/maps/some/rules"
put 'shop:sale if n & 4095 == 0' "$s/user/events"
put start "$s/control"
"$SELLER" 100000000 2 </dev/null >/dev/null &
app=$!
many() { [ "$(key events "$s/user/maps/some/values")" -gt 100 ]; }
within 20 many || fail "no values while a program records"
kill -9 $app
wait $app 2>/dev/null
put stop "$s/control"
text "$s"
sed -n 's/.*thread = \([0-9]*\), .*/\1/p' "$work/bt" | sort | uniq -c | awk '{ print $1, $2 }' >"$work/expected"
same "$s/user/maps/some" "$work/expected"
is "losses" "0 0" "$(key lost "$work/values") $(key events_discarded "$s/status")"
rmdir "$s"

# --- config; a session without channels; overflow while the daemon stands still
s=$S/copy
mkdir "$s"
cat "$work/saved.ini" >"$s/config" || fail "config: $(cat "$s/error")"
is "maps of config" "pairs sales" "$(ls "$s/user/maps" | tr '\n' ' ' | sed 's/ $//')"
rmdir "$s/user/channels/all" "$s/user/maps/pairs"
m=$s/user/maps/sales
put 'shop:* by $ctx.vuid count' "$m/rules"
put 100k "$m/buffer_size"
is "a size is a power of two" 131072 "$(cat "$m/buffer_size")"
is "a size that is too small" EINVAL "$(tool open "$m/buffer_size" wt write '0\n' close | grep -v ok)"
put start "$s/control"
mkfifo "$work/go"
asleep() { # ROUNDS: the values after the seller has sold beside a daemon that stands still
	: >"$work/opened"               # what an earlier seller said must not be found
	one_cpu "$SELLER" $1 <"$work/go" >"$work/opened" &
	app=$!
	exec 9>"$work/go"
	within 20 grep -q open "$work/opened" || fail "seller does not open"
	is "one event" 1 "$(key events "$m/values")"
	daemon=$(daemon_pids)
	stop_process "$daemon"
	echo >&9
	exec 9>&-
	wait $app
	code=$?
	kill -CONT $daemon
	is "seller beside a daemon that stands still" 0 $code
	cat "$m/values" >"$work/values"
	# 8 of 9 rounds have an end
	is "events and losses" $((1 + 3 * $1 - ($1 + 8) / 9)) \
		$(($(key events "$work/values") + $(key lost "$work/values")))
}
asleep 12000
[ "$(key lost "$work/values")" -gt 0 ] || fail "nothing was lost: the test is void"
has "$(cat "$work/values")" '^advice buffer_size: .* 131072 bytes'
has "$(cat "$m/values.json")" '"advice":."buffer_size: '
put 4M "$m/buffer_size"
is "the values stay" "$(key lost "$work/values")" "$(key lost "$m/values")"
put 1 "$m/clear"
asleep 12000
is "lost with a larger buffer" 0 "$(key lost "$work/values")"
! grep -q ^advice "$work/values" || fail "advice without a loss"
# Only what the rule needs is in the buffer: a sale has 40 bytes, its price 4. The filter sees all.
put 256k "$m/buffer_size"
put 'shop:sale if item != "tea" by $ctx.procname sum(price)' "$m/rules"
SALES=12000
mkfifo "$work/go2"
: >"$work/opened"
"$SELLER" $SALES <"$work/go2" >"$work/opened" &
app=$!
exec 9>"$work/go2"
within 20 grep -q open "$work/opened" || fail "seller does not open"
stop_process "$daemon"
echo >&9
exec 9>&-
wait $app
kill -CONT $daemon
cat "$m/values" >"$work/values"
is "parts of events in the buffer" "$((SALES * 3 / 4)) 0" \
	"$(key events "$work/values") $(key lost "$work/values")"
is "their sum" "$(awk -v n=$SALES 'BEGIN { for (i = 0; i < n; i++) if (i % 4)
	s += i * 7919 % 5000 - 100; print s, "seller" }')" \
	"$(awk '/^#/ { getline; print $1, $2 }' "$work/values")"
put 4M "$m/buffer_size"

# --- keys without room are counted
put 'shop:sale by n' "$s/user/maps/sales/rules"
"$SELLER" 5000 </dev/null >/dev/null
cat "$s/user/maps/sales/values" >"$work/values"
is "keys" "5000 904" "$(key events "$work/values") $(key left_out "$work/values")"
is "rows" 4096 "$(awk '/^#/ { on = 1; next } on' "$work/values" | wc -l)"
has "$(cat "$work/values")" '^advice max_keys: .* 4096'
put 5000 "$m/max_keys"
"$SELLER" 5000 </dev/null >/dev/null
cat "$m/values" >"$work/values"
is "more keys" "5000 0" "$(key events "$work/values") $(key left_out "$work/values")"

# --- kill -9 of the daemon: the rules and the values stay (map_killed.sh)
kill -9 $(daemon_pids)
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
is "restored" 'shop:sale by n 4194304 5000' \
	"$(echo $(cat "$m/rules" "$m/buffer_size" "$m/max_keys"))"
has "$(cat "$s/config")" '^buffer_size = 4194304'
"$SELLER" 50 </dev/null >/dev/null
is "records again" 5050 "$(key events "$s/user/maps/sales/values")"
rmdir "$s"

# --- the kernel
if ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/calls
	mkdir "$s"
	mkdir "$s/kernel/maps/reads" "$s/kernel/channels/all"
	put 'pair syscall:entry:read syscall:exit:read on $ctx.tid by $ctx.procname count, sum(ret), hist(latency)' \
		"$s/kernel/maps/reads/rules"
	printf 'tid procname\n' >"$s/kernel/channels/all/contexts"
	printf 'syscall:entry:read\nsyscall:exit:read\n' >"$s/kernel/channels/all/events"
	put $$ "$s/kernel/track/pid"
	put start "$s/control"
	dd if=/dev/zero of=/dev/null bs=100 count=2000 2>/dev/null
	put stop "$s/control"
	text "$s"
	cat "$s/kernel/maps/reads/values" >"$work/values"
	awk '!/procname = "dd"/ { next }
		{ match($0, /tid = [0-9]+/); k = substr($0, RSTART, RLENGTH) }
		/syscall_entry_read:/ { began[k] = 1 }
		/syscall_exit_read:/ && began[k] { match($0, /ret = [-0-9]+/)
			r += substr($0, RSTART + 6, RLENGTH - 6); n++; began[k] = 0 }
		END { printf("%d %d dd\n", n, r) }' "$work/bt" >"$work/wanted"
	awk '$NF == "dd" && /^ / { $1 = $1; print }' "$work/values" >"$work/got"
	cmp -s "$work/wanted" "$work/got" ||
		fail "reads: $(cat "$work/wanted" "$work/got" "$work/values" | head -n 30)"
	[ "$(awk '{ print $1 }' "$work/got")" -ge 2000 ] || fail "too few: $(cat "$work/got")"
	rmdir "$s"
fi
echo "$checks checks"
