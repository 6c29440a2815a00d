#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Maps that only count, by events or by nothing: applications count the hits in shared memory. All
# are counted, at any rate: 2 * 10^7 of four processes (10^9 in SOAK); the values are exact after kill
# -9 of programs and of the daemon; filters, threads without rseq, stop, start, clear, a program
# that writes nonsense over its counters.
. "$(dirname "$0")/../../lib/mount.sh"

HITS=$BUILD/tests/mount/views/hits
[ -x "$HITS" ] || skip "there is no hits"
all=20000000 kills=3
[ -z "${SOAK-}" ] || all=1000000000 kills=50
mount_tree
s=$S/counted
m=$s/user/maps/m
numbers=$work/numbers
fresh() { head -c 4096 /dev/zero >"$numbers"; }
# begun, ended: what the programs say that they hit
begun() { od -An -v -t u8 -w16 "$numbers" | awk '{ n += $1 } END { printf "%.0f\n", n }'; }
ended() { od -An -v -t u8 -w16 "$numbers" | awk '{ n += $2 } END { printf "%.0f\n", n }'; }
# rows MAP: `KEY VALUE` of each row, sorted
rows() { awk '/^#/ { on = 1; next } /^$/ { on = 0 } on { print $2, $1 }' "$1/values" | sort; }
# events MAP: of its first rule
events() { awk '$1 == "events" { print $2; exit }' "$1/values"; }

# --- rules
mkdir "$s" "$s/user/maps/m"
refuses() { # RULE SENTENCE
	is "$1" EINVAL "$(tool open "$m/rules" wt write "$1\\n" close | grep -v ok)"
	has "$(cat "$s/error")" "$2"
}
refuses 'shop:* by $events' 'an event has $event and $provider'
refuses 'shop:* sum($event)' "after 'by' only"
refuses 'pair shop:cart shop:pay on $event' "after 'by' only"
if ! grep -q '^kernel none' "$MNT/version"; then
	mkdir "$s/kernel/maps/k"
	is "kernel" EINVAL "$(tool open "$s/kernel/maps/k/rules" wt write 'sched_switch by $provider\n' close | grep -v ok)"
	has "$(cat "$s/error")" 'no provider'
	put 'syscall:entry:getp* by $event' "$s/kernel/maps/k/rules"
fi

# --- keys: counted, and recorded with a number beside
put '* by $event' "$m/rules"
mkdir "$s/user/maps/providers" "$s/user/maps/all" "$s/user/maps/even" "$s/user/maps/sums"
put '* by $provider' "$s/user/maps/providers/rules"
put '*' "$s/user/maps/all/rules"
put 'web:page if even == 0 by $event, $provider count, topk(5)' "$s/user/maps/even/rules"
put 'shop:* by $provider, $event sum(n), max(n)' "$s/user/maps/sums/rules"
put start "$s/control"
fresh
"$HITS" "$numbers" 0 3000 || fail "hits"
is "by event" "shop:cart 1000 shop:pay 1000 web:page 1000" "$(rows "$m" | tr '\n' ' ' | sed 's/ $//')"
is "by provider" "shop 2000 web 1000" "$(rows "$s/user/maps/providers" | tr '\n' ' ' | sed 's/ $//')"
is "of all" 3000 "$(events "$s/user/maps/all")"
is "with a filter" "500 web:page web" "$(awk '/^#/ { getline; print $1, $2, $3 }' "$s/user/maps/even/values")"
is "recorded beside" "1499500 2998 shop shop:pay" \
	"$(awk '/shop:pay/ { $1 = $1; print }' "$s/user/maps/sums/values")"
is "lost" 0 "$(key lost "$m/values")"
has "$(cat "$m/values.json")" '"key":{"$event":"web:page"},"events":1000'
has "$(cat "$s/metrics")" 'web:page'
if [ -d "$s/kernel/maps/k" ]; then
	sh -c : # getpid or getppid
	has "$(cat "$s/kernel/maps/k/values")" 'syscall_entry_getp'
	rmdir "$s/kernel/maps/k"
fi
rmdir "$s/user/maps/sums"
! "$HITS" || fail "hits without arguments"
# A map with rules of both kinds
printf 'shop:cart by $event\nshop:pay by n max(n)\nshop:* by $provider\n' >"$s/user/maps/even/rules"
"$HITS" "$numbers" 0 300 || fail "hits"
is "both kinds" "100 100 200" "$(awk '$1 == "events" { print $2 }' "$s/user/maps/even/values" | tr '\n' ' ' | sed 's/ $//')"
rmdir "$s/user/maps/even" "$s/user/maps/providers"

# --- a thread without rseq, and a forked child
put 1 "$m/clear"
is "cleared" "0" "$(events "$m")"
is "others stay" 3300 "$(events "$s/user/maps/all")"
GLIBC_TUNABLES=glibc.pthread.rseq=0 TRAIL_RSEQ=0 "$HITS" "$numbers" 0 3000 2 || fail "hits"
is "without rseq" 6000 "$(events "$m")"

# --- all of four processes
put 1 "$m/clear"
fresh
for i in 0 1 2 3; do
	"$HITS" "$numbers" $((8 * i)) $((all / 8)) 2 &
	eval "p$i=$!"
done
while kill -0 "$p0" 2>/dev/null; do
	[ "$(events "$m")" -le "$all" ] || fail "more than all"
	sleep 0.2
done
wait "$p0" && wait "$p1" && wait "$p2" && wait "$p3" || fail "hits"
is "$all hits" "$((all / 8 * 8)) 0" "$(events "$m") $(key lost "$m/values")"

# --- stop, start, clear of the session
put stop "$s/control"
"$HITS" "$numbers" 0 300 || fail "hits"
is "after stop" "$((all / 8 * 8))" "$(events "$m")"
put start "$s/control"
"$HITS" "$numbers" 0 300 || fail "hits"
is "after start" $((all / 8 * 8 + 300)) "$(events "$m")"
put clear "$s/control"
is "after clear" "0 0" "$(events "$m") $(events "$s/user/maps/all")"

# --- programs that are killed: of each thread at most one hit may be counted that has not ended
fresh
round=0
while [ $round -lt "$kills" ]; do
	"$HITS" "$numbers" $((2 * round)) 0 2 &
	app=$!
	one() { [ "$(od -An -v -t u8 -j $((32 * round + 8)) -N 8 "$numbers" | tr -d ' ')" -gt 1000 ]; }
	within 20 one || fail "no hits"
	kill -9 $app
	wait $app 2>/dev/null
	round=$((round + 1))
done
# (What a program counted before it was attached, the daemon adds when it sees its end.)
no_apps() { [ -z "$(ls "$MNT/apps")" ]; }
within 20 no_apps || fail "apps: $(ls "$MNT/apps")"
for map in m all; do
	n=$(events "$s/user/maps/$map")
	[ "$n" -ge "$(ended)" ] && [ "$n" -le "$(begun)" ] ||
		fail "programs killed: $map has $n, $(ended) ended, $(begun) begun"
done

# --- the daemon is killed while programs hit
put clear "$s/control"
since=$(key since "$m/values")
fresh
"$HITS" "$numbers" 0 0 2 &
one=$!
"$HITS" "$numbers" 2 0 &
two=$!
round=0
while [ $round -lt "$kills" ]; do
	before=$(ended)
	more() { [ "$(ended)" -gt $((before + 1000)) ]; }
	within 20 more || fail "the programs do not continue"
	kill -9 $(daemon_pids)
	umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
	before=$(ended)
	within 20 more || fail "the programs do not continue without a daemon"
	mount_tree
	n=$(events "$m")
	[ "$n" -ge "$before" ] && [ "$n" -le "$(begun)" ] ||
		fail "daemon killed: $n counted, $before had ended, $(begun) have begun"
	round=$((round + 1))
done
kill $one $two
wait $one $two 2>/dev/null
n=$(events "$m")
[ "$n" -ge "$(ended)" ] && [ "$n" -le "$(begun)" ] ||
	fail "$n counted, $(ended) ended, $(begun) begun"
is "since" "$since" "$(key since "$m/values")"
is "lost" 0 "$(key lost "$m/values")"
# … and while the session is stopped, and no program has the counters
put stop "$s/control"
n=$(events "$m")
rmdir "$s/user/maps/all"
kill -9 $(daemon_pids)
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree
is "of a stopped session" "$n" "$(events "$m")"
is "buffers of sessions" "" "$(grep problem "$MNT/status")"
put start "$s/control"
"$HITS" "$numbers" 0 300 || fail "hits"
is "counted again" $((n + 300)) "$(events "$m")"
# Other rules begin again, and nothing of the old ones stays.
put 'shop:* by $event' "$m/rules"
is "new rules" 0 "$(events "$m")"
is "hidden sessions" 1 "$(ls -a "$TRAIL_RUNTIME_DIR/sessions" | grep -c '^[.]map-')"

# --- nonsense in the counters
"$HITS" "$numbers" 0 300 || fail "hits"
is "before" 200 "$(events "$m")"
"$HITS" spoil || fail "spoil"
[ "$(events "$m")" -le 201 ] || fail "nonsense is counted: $(events "$m")"
has "$(cat "$m/values")" '^problem a program stored numbers'
put 1 "$m/clear"
rmdir "$s"
is "after rmdir" "" "$(ls -A "$TRAIL_RUNTIME_DIR/sessions")"
echo "$checks checks"
