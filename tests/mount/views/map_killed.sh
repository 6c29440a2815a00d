#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# The values of maps that the daemon aggregates are exact after kill -9 of the daemon and of
# programs, several times (50 in SOAK): counts, sums, histograms, greatest values, keys without
# room, pairs with fields of their first event, increments by a trigger, the kernel's events; also
# of a session that is stopped. What was cleared stays so. A part of a record of the journal counts
# for nothing; a journal that was changed is not used.
. "$(dirname "$0")/../../lib/mount.sh"

SELLER=$BUILD/tests/mount/views/seller
HITS=$BUILD/tests/mount/views/hits
[ -x "$SELLER" ] && [ -x "$HITS" ] || skip "there is no seller"
rounds=5 sales=30000
[ -z "${SOAK-}" ] || rounds=50
mount_tree
s=$S/shop
m=$s/user/maps/sales
# again: another daemon in the place of a killed one
again() {
	kill -9 $(daemon_pids)
	umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
	mount_tree
}
# rows MAP: of its first rule, sorted
rows() { awk '/^#/ { if (on++) exit; next } on && (/^$/ || /^[a-z]*[(]/) { exit } on { $1 = $1; print }' "$1/values" | sort; }
events() { awk '$1 == "events" { print $2; exit }' "$1/values"; }

mkdir "$s" "$m" "$s/user/maps/pairs" "$s/user/maps/keys" "$s/user/maps/added"
printf '%s\n' 'shop:sale by item count, sum(price), min price, max price, hist(price)' \
	'shop:sale by thread sum(weight), topk(price, 3)' >"$m/rules"
put 'pair shop:serve_begin shop:serve_end on thread, n by first.thread count, hist(latency)' \
	"$s/user/maps/pairs/rules"
put 'shop:sale by n count, sum(price)' "$s/user/maps/keys/rules"
put increments "$s/user/maps/added/rules"
for map in sales pairs keys; do put 64M "$s/user/maps/$map/buffer_size"; done
put start "$s/control"
since=$(key since "$m/values")

# --- the daemon is killed while programs record
round=0
while [ $round -lt $rounds ]; do
	began=$(events "$m")
	"$SELLER" $sales 2 </dev/null >/dev/null &
	app=$!
	moves() { [ "$(events "$m")" -gt "$began" ]; }
	within 20 moves || fail "no values"
	again
	wait $app || fail "seller"
	round=$((round + 1))
done
awk -v rounds=$rounds -v sales=$sales 'BEGIN {
	split("tea|green tea|m,3|caf\303\251", items, "|")
	for (n = 0; n < sales; n++) { p = n * 7919 % 5000 - 100; i = items[n % 4 + 1]
		c[i]++; s[i] += p
		if (c[i] == 1 || p < lo[i]) lo[i] = p
		if (c[i] == 1 || p > hi[i]) hi[i] = p }
	for (i in c) printf("%d %d %d %d %s\n", 2 * rounds * c[i], 2 * rounds * s[i], lo[i], hi[i],
		i ~ /[ ,]/ ? "\"" i "\"" : i) }' | sort >"$work/wanted"
awk '/^rule/ { r++ } r == 1 && /^[(\[]/ { split($0, f, "|"); n = split(f[1], w, " "); t += w[n] } END { print t }' \
	"$m/values" >"$work/hist"
rows "$m" >"$work/got"
cmp -s "$work/wanted" "$work/got" || fail "sales: $(diff "$work/wanted" "$work/got")"
is "histograms" $((2 * rounds * sales)) "$(cat "$work/hist")"
is "lost" "0" "$(key lost "$m/values" | sort -u)"
is "weights" "$(awk -v r=$rounds -v n=$sales 'BEGIN { for (i = 0; i < n; i++) w += i % 12 * 0.75
	print r * w }')" "$(awk '/^rule/ { r++ } r == 2 && /^#/ { getline; print $1 + 0; exit }' "$m/values")"
is "greatest" "4899 4899 4899" "$(awk '/^topk/ { on++; next } on == 1 { printf "%s%s", (n++ ? " " : ""), $1 }' "$m/values")"
is "pairs" "$(awk -v r=$rounds -v n=$sales 'BEGIN { for (i = 0; i < n; i++) c += i % 9 > 0
	print r * c, 0; print r * c, 1 }' | sort)" "$(rows "$s/user/maps/pairs")"
is "unpaired, lost" "0 0" "$(echo $(key unpaired "$s/user/maps/pairs/values") $(key lost "$s/user/maps/pairs/values"))"
is "keys" "4096 $((2 * rounds * sales))" "$(rows "$s/user/maps/keys" |
	awk -v n="$(key left_out "$s/user/maps/keys/values")" '{ n += $1 } END { print NR, n }')"
is "since" "$since" "$(key since "$m/values" | head -n 1)"

# --- increments
mkdir "$MNT/triggers/t"
put 'event user shop:cart' "$MNT/triggers/t/condition"
put 'increment shop/user/added carts' "$MNT/triggers/t/actions"
numbers=$work/numbers
head -c 4096 /dev/zero >"$numbers"
for n in 1 2 3; do
	"$HITS" "$numbers" 0 30 || fail "hits"
	added() { [ "$(rows "$s/user/maps/added")" = "$((10 * n)) carts" ]; }
	within 20 added || fail "increments: $(rows "$s/user/maps/added")"
	again
	added || fail "increments after kill -9: $(rows "$s/user/maps/added")"
done

# --- programs are killed, and the daemon with them
head -c 4096 /dev/zero >"$numbers"
mkdir "$s/user/maps/hits"
put 'shop:* if n & 4095 == 0 by $event count, max(n)' "$s/user/maps/hits/rules"
# hits COLUMN: how many of the filter's began (1), ended (2), by what the programs say
hits() {
	od -An -v -t u8 -w16 "$numbers" | awk -v c="$1" '{ k = int(($c + 4095) / 4096)
		n += 2 * int(k / 3) + (k % 3 > 2 ? 2 : k % 3) } END { print n }'
}
round=0
while [ $round -lt $rounds ]; do
	began=$(events "$s/user/maps/hits")
	"$HITS" "$numbers" $((2 * round)) 0 2 &
	app=$!
	more() { [ "$(events "$s/user/maps/hits")" -gt $((began + 100)) ]; }
	within 20 more || fail "no hits"
	kill -9 $app $(daemon_pids)
	wait $app 2>/dev/null
	umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
	mount_tree
	n=$(events "$s/user/maps/hits")
	[ "$n" -ge "$(hits 2)" ] && [ "$n" -le "$(hits 1)" ] ||
		fail "killed: $n counted, $(hits 2) ended, $(hits 1) begun"
	round=$((round + 1))
done
is "hits lost" 0 "$(key lost "$s/user/maps/hits/values")"
is "all in rows" "$n" "$(rows "$s/user/maps/hits" | awk '{ n += $1 } END { print n }')"

# --- a session that is stopped; again, and started
put stop "$s/control"
again
again
rows "$m" | cmp -s - "$work/wanted" || fail "of a stopped session: $(rows "$m")"
put start "$s/control"
"$SELLER" 10 </dev/null >/dev/null || fail "seller"
is "continued" $((2 * rounds * sales + 10)) "$(events "$m")"

# --- a part of a record
daemon=$(daemon_pids)
stop_process "$daemon"
file=$TRAIL_RUNTIME_DIR/sessions/shop/values-user-sales
[ -s "$file" ] || fail "there is no journal"
printf 'MPJ1\377\0\0\0H\0' >>"$file"
again
is "after a part of a record" $((2 * rounds * sales + 10)) "$(events "$m")"
put 'shop:sale by item' "$s/user/maps/keys/rules"
is "other rules" 0 "$(events "$s/user/maps/keys")"
again
is "other rules, again" 0 "$(events "$s/user/maps/keys")"

# --- cleared
"$SELLER" 10 </dev/null >/dev/null || fail "seller"
is "before" 10 "$(events "$s/user/maps/keys")"
put 1 "$s/user/maps/keys/clear"
again
is "a map that was cleared" 0 "$(events "$s/user/maps/keys")"
put clear "$s/control"
again
is "a session that was cleared" "0 0" "$(events "$m") $(events "$s/user/maps/pairs")"
"$SELLER" 10 </dev/null >/dev/null || fail "seller"
is "and counted again" "10 10" "$(events "$m") $(events "$s/user/maps/keys")"

# --- a journal with another byte
stop_process "$(daemon_pids)"
awk 'BEGIN { printf "S" }' | dd of="$file" bs=1 seek=8 conv=notrunc 2>/dev/null
again
is "a journal that was changed" 0 "$(events "$m")"
"$SELLER" 10 </dev/null >/dev/null || fail "seller"
is "and begun again" 10 "$(events "$m")"
rmdir "$s/user/maps/sales"
[ ! -e "$file" ] || fail "the journal of a removed map stays"
rmdir "$MNT/triggers/t" "$s"
is "state" "" "$(ls -A "$TRAIL_RUNTIME_DIR/sessions")"

# --- the kernel
if ! grep -q '^kernel none' "$MNT/version"; then
	s=$S/calls
	mkdir "$s" "$s/kernel/maps/reads"
	# (A size that no other process reads. Not the name of a program: after a kill the next daemon
	# does not know the name of a thread that has ended.)
	size=$((100003 + $$))
	put "syscall:entry:read if count == $size by count count, sum(count)" \
		"$s/kernel/maps/reads/rules"
	read_zeros() { dd if=/dev/zero of=/dev/null bs=$size count="$1" 2>/dev/null; }
	put start "$s/control"
	round=0
	while [ $round -lt $rounds ]; do
		read_zeros 2000
		[ $((round % 2)) = 0 ] || cat "$s/kernel/maps/reads/values" >/dev/null
		again
		read_zeros 1000
		round=$((round + 1))
	done
	is "reads" "$((rounds * 3000)) $((rounds * 3000 * size)) $size" "$(rows "$s/kernel/maps/reads")"
	rmdir "$s"
fi
echo "$checks checks"
