#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `counts`, `stats` and the values of a map answer the same question alike, and as babeltrace2 and
# awk do on the trace: beside programs that use all CPUs, while events are overwritten, and after a
# program, and then the daemon, was killed. What is lost is said: what is emitted is that and what
# is counted.
. "$(dirname "$0")/../../lib/mount.sh"

command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
SELLER=$BUILD/tests/mount/views/seller
[ -x "$SELLER" ] || skip "there is no seller"
mount_tree

# begin NAME MODE SUBBUF_SIZE RULE…: a session with a channel, and maps of its sales and all events
begin() {
	s=$S/$1
	mkdir "$s" "$s/user/channels/all" "$s/user/maps/items" "$s/user/maps/all"
	echo "$2" >"$s/user/channels/all/loss_mode"
	echo "$3" >"$s/user/channels/all/subbuf_size"
	filter=${4-}
	put "shop:*$filter" "$s/user/channels/all/events"
	put "shop:sale$filter by item count, sum(price)" "$s/user/maps/items/rules"
	put "shop:*$filter" "$s/user/maps/all/rules"
	put start "$s/control"
}
# ask: what trailfs says: `counts|stats EVENT NUMBER`, sales of the map: `ITEM COUNT SUM`
ask() {
	awk '/^#/ || $3 == "*" { next } { print $3, $4 }' "$s/counts" | sort >"$work/counts"
	awk '$1 == "event" { print $NF, $3 }' "$s/stats" | sort >"$work/stats"
	cat "$s/user/maps/items/values" >"$work/items" && cat "$s/user/maps/all/values" >"$work/all" ||
		fail "the maps cannot be read"
	awk '/^#/ { on = 1; next } on { print (NF > 3 ? $3 "_" $4 : $3), $1, $2 }' "$work/items" |
		tr -d '"' | sort >"$work/map"
}
# judge_trace: what babeltrace2 and awk make of the events held
judge_trace() {
	babeltrace2 "$s/trace" >"$work/bt" 2>"$work/bt.err" || fail "babeltrace2: $(cat "$work/bt.err")"
	awk '{ for (i = 1; $i !~ /:$/; i++); sub(/:$/, "", $i); n[$i]++ }
		END { for (e in n) print e, n[e] }' "$work/bt" | sort >"$work/held"
	sed -n 's/.*item = "\(.*\)", price = \([-0-9]*\),.*/\1\t\2/p' "$work/bt" | judge_sales >"$work/sold"
}
# judge_emitted COUNT THREADS TIMES: the sales that the programs made
judge_emitted() {
	awk -v count="$1" -v times=$(($2 * $3)) 'BEGIN {
		split("tea\tgreen tea\tm,3\tcafé", item, "\t")
		for (n = 0; n < count; n++)
			for (i = 0; i < times; i++)
				printf("%s\t%d\n", item[n % 4 + 1], n * 7919 % 5000 - 100) }' |
		judge_sales >"$work/emitted"
}
judge_sales() {
	awk -F '\t' '{ sub(/ /, "_", $1); n[$1]++; s[$1] += $2 }
		END { for (i in n) printf("%s %d %d\n", i, n[i], s[i]) }' | sort
}
# agree WHAT FILE FILE
agree() {
	cmp -s "$work/$2" "$work/$3" || fail "$1: $(diff "$work/$2" "$work/$3" | head -n 8)"
	[ -s "$work/$2" ] || fail "$1: there is nothing"
	checks=$((checks + 1))
}
lost() {
	is "losses of $1" "$2" "$(key lost "$work/items") $(key missing "$work/items") $(key left_out "$work/items")"
}
total() { awk '{ n += $2 } END { print n + 0 }' "$work/$1"; }
column() { awk -v n="$1" '$3 == "*" { print $n }' "$s/counts"; }

# --- beside programs that use all CPUs (12,000 sales fit into the map's buffers, however late the
# daemon is)
begin load discard 2M
busy=
for i in 1 2; do
	timeout 100 sh -c 'while :; do :; done' &
	busy="$busy $!"
done
sellers=
for i in 1 2 3; do
	"$SELLER" 2000 2 </dev/null >/dev/null &
	sellers="$sellers $!"
done
for i in $sellers; do
	wait "$i" || fail "seller"
done
ask
kill $busy
judge_trace
judge_emitted 2000 2 3
is "recorded beside load" "0 0" "$(key events_discarded "$s/status") $(key events_overwritten "$s/status")"
agree "counts and the trace" held counts
agree "stats and the trace" held stats
agree "the map and the trace" sold map
agree "the map and the programs" emitted map
lost load "0 0 0"
is "all events of the map" "$(total held)" "$(key events "$work/all")"
rmdir "$s"

# --- while events are overwritten
begin small overwrite 4k
"$SELLER" 3000 2 </dev/null >/dev/null || fail "seller"
put stop "$s/control"
judge_trace
ask
judge_emitted 3000 2 1
emitted=$((1 + 2 * (3 * 3000 - 334)))
is "recorded is emitted" "$emitted" "$(column 4)"
is "overwritten and held" "$emitted" "$(($(column 6) + $(total held)))"
[ "$(column 6)" -gt 0 ] || fail "nothing was overwritten: the test is void"
agree "stats of what is held" held stats
grep -v '^?' "$work/counts" >"$work/named"
agree "counts of what is held" held named
is "recorded, with what was not read in time" "$emitted" "$(total counts)"
is "stats say what is lost" "$(column 6)" "$(awk '$1 == "lost" { print $3 }' "$s/stats")"
agree "the map and the program" emitted map
lost overwriting "0 0 0"
is "the map has them all" "$emitted" "$(key events "$work/all")"
rmdir "$s"

# --- a program is killed; then the daemon
begin killed discard 512k ' if n & 4095 == 0'
"$SELLER" 100000000 2 </dev/null >/dev/null &
app=$!
many() { [ "$(key events "$s/user/maps/items/values")" -gt 100 ]; }
within 20 many || fail "no values while a program records"
kill -9 $app
wait $app 2>/dev/null
ask
judge_trace
agree "counts after kill -9" held counts
agree "stats after kill -9" held stats
# (Each thread may be killed after it recorded for one of the two, and before the other.)
awk 'NR == FNR { n[$1] = $2; next } { d += n[$1] - $2 } END { exit d < -2 || d > 2 }' \
	"$work/sold" "$work/map" || fail "the map after kill -9: $(diff "$work/sold" "$work/map")"
lost "a killed program" "0 0 0"
all=$(key events "$work/all")
items=$(key events "$work/items") tea=$(awk '$1 == "tea" { print $2, $3 }' "$work/map")
kill -9 $(daemon_pids)
within 20 daemon_ended || fail "the daemon lives"
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
ask
agree "counts of the next daemon" held counts
agree "stats of the next daemon" held stats
is "counted values outlive the daemon" "$all" "$(key events "$work/all")"
is "aggregated values outlive it" "$items" "$(key events "$work/items")"
"$SELLER" 8192 2 </dev/null >/dev/null || fail "seller"
ask
judge_trace
agree "counts go on" held counts
agree "stats go on" held stats
# n is 0 and 4096: both are tea.
set -- $tea
is "the map goes on" "$(($1 + 4)) $(($2 + 2 * (4096 * 7919 % 5000 - 100 - 100)))" \
	"$(awk '$1 == "tea" { print $2, $3 }' "$work/map")"
rmdir "$s"
echo "$checks checks"
