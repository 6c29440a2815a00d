#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Pairs of maps whose events join by fields of different names, have a filter each, and give fields
# of the first event as keys and numbers; arrays as keys; misspelt names are refused at once.
. "$(dirname "$0")/../../lib/mount.sh"

SELLER=$BUILD/tests/mount/views/seller
HITS=$BUILD/tests/mount/views/hits
[ -x "$SELLER" ] && [ -x "$HITS" ] || skip "there is no seller"
mount_tree
s=$S/joined
mkdir "$s" "$s/user/maps/m" "$s/user/maps/o"
m=$s/user/maps/m
refuses() { # ERRNO RULE SENTENCE
	is "$2" "$1" "$(tool open "$m/rules" wt write "$2\\n" close | grep -v ok)"
	has "$(cat "$s/error")" "$3"
}
# rows MAP: of its first rule, sorted
rows() { awk '/^#/ { on = 1; next } /^$/ { on = 0 } on { $1 = $1; print }' "$1/values" | sort; }

# --- joins of two names, filters on each event, values of the first one
put 'pair shop:sale if price > 2000 shop:serve_end if n >= 100 && thread == 1 on thread, n by first.item count, sum(first.price), max(n)' "$m/rules"
put 'pair shop:open if shelf == 0x1f00 shop:serve_begin on threads = n count' "$s/user/maps/o/rules"
put start "$s/control"
"$SELLER" 3000 2 </dev/null >/dev/null || fail "seller"
awk 'BEGIN { split("tea|green tea|m,3|caf\303\251", items, "|")
	for (n = 100; n < 3000; n++) { p = n * 7919 % 5000 - 100; i = items[n % 4 + 1]
		if (p > 2000 && n % 9) { c[i]++; s[i] += p; hi[i] = n } }
	for (i in c) printf("%d %d %d %s\n", c[i], s[i], hi[i], i ~ /[ ,]/ ? "\"" i "\"" : i) }' |
	sort >"$work/wanted"
rows "$m" >"$work/got"
cmp -s "$work/wanted" "$work/got" || fail "pairs: $(diff "$work/wanted" "$work/got")"
has "$(cat "$m/values")" '^#  *count sum(first.price)  *max(n) first.item$'
is "a first event for one of two" "1 1" "$(rows "$s/user/maps/o" | tr '\n' ' ')$(key unpaired "$s/user/maps/o/values" | awk '{ print $1 - 5998 }')"
has "$(cat "$s/config")" 'on threads = n count'
if python3 -c 'import sqlite3' 2>/dev/null; then
	python3 -c 'import sqlite3, sys
db = sqlite3.connect(":memory:")
db.executescript(sys.stdin.read())
for row in db.execute("""SELECT a.value, b.value, c.value, f.value FROM map_values a, map_values b, map_values c,
		key_fields f WHERE a.key_id = b.key_id AND b.key_id = c.key_id AND c.key_id = f.key_id AND
		a.operator = "count" AND b.operator = "sum(first.price)" AND c.operator = "max(n)" AND
		f.field = "first.item" """):
	print(row[0], row[1], row[2], "\"%s\"" % row[3] if " " in row[3] or "," in row[3] else row[3])
print(db.execute("SELECT count(*), max(events) FROM rules").fetchone(), file=sys.stderr)
print(db.execute("SELECT count(*) FROM vmap WHERE rule LIKE \"pair%\"").fetchone(), file=sys.stderr)' \
		<"$m/values.sql" >"$work/sql" 2>"$work/counts" || fail "values.sql: $(cat "$work/counts")"
	sort "$work/sql" | cmp -s - "$work/wanted" || fail "values.sql: $(cat "$work/sql")"
	n=$(awk 'BEGIN { for (n = 0; n < 3000; n++) {
		e += 2 * (n * 7919 % 5000 - 100 > 2000) + (n >= 100 && n % 9 > 0) } print e }')
	is "tables" "(1, $n) (12,)" "$(tr '\n' ' ' <"$work/counts" | sed 's/ $//')"
fi

# --- mistakes, at once while a program has the events
mkfifo "$work/go"
"$SELLER" 10 <"$work/go" >"$work/opened" &
app=$!
exec 9>"$work/go"
within 20 grep -q open "$work/opened" || fail "seller does not open"
refuses EINVAL 'pair shop:open shop:sale on threads=thred' "no field 'thred' in the second events of the pair; did you mean 'thread'?"
refuses EINVAL 'pair shop:open shop:sale on thread=thread' "did you mean 'threads'?"
refuses EINVAL 'pair shop:sale shop:serve_end on n by first.itm' "did you mean 'item'?"
refuses EINVAL 'pair shop:sale shop:serve_end on n sum(first.prise)' "did you mean 'price'?"
refuses EINVAL 'pair shop:sale shop:serve_end on n by item' "no field 'item' in the second events of the pair"
refuses EINVAL 'shop:sale by first.item' "no field 'first'"
refuses EINVAL 'pair shop:sale shop:serve_end on thread == n' "one '='"
refuses EINVAL 'pair shop:sale if price > shop:serve_end on n' 'rules:1'
refuses EINVAL 'pair shop:sale if price shop:serve_end if on n' 'rules:1'
refuses EINVAL 'shop:sale by thread=n' "after 'by' is one name"
echo >&9
exec 9>&-
wait $app

# --- arrays
put 'shop:list by a, texts' "$m/rules"
"$HITS" arrays || fail "hits arrays"
is "arrays as keys" '2 "[0,7,-9]" x|3 "[1,7,-9]" x' "$(rows "$m" | tr '\n' '|' | sed 's/|$//')"
rmdir "$s"

# --- the kernel
if ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/woken
	mkdir "$s" "$s/kernel/maps/m"
	put 'pair sched_wakeup if prio < 140 sched_switch on tid = next_tid by first.comm hist(latency)' \
		"$s/kernel/maps/m/rules"
	is "kernel" EINVAL "$(tool open "$s/kernel/maps/m/rules" wt write 'pair sched_wakeup sched_switch on tid = nextid\n' close | grep -v ok)"
	has "$(cat "$s/error")" "did you mean 'next_tid'?"
	put start "$s/control"
	for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done
	put stop "$s/control"
	has "$(cat "$s/kernel/maps/m/values")" '^ *[1-9][0-9]* sleep$'
	rmdir "$s"
fi
echo "$checks checks"
