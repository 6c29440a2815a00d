#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Conditions on events of applications: filters and captures; no session is needed; every hit is
# counted, so `every N` is exact, also at full speed; users see their own; an application or the
# daemon is killed; 200 triggers, and readers that never read.
. "$(dirname "$0")/../../lib/mount.sh"
T=$MNT/triggers
ticker=$BUILD/tests/lib/ticker
fields=$BUILD/tests/lib/fields
mount_tree -o tz=UTC

# trigger NAME CONDITION ACTION…
trigger() {
	mkdir "$T/$1" && echo "$2" >"$T/$1/condition" || fail "trigger $1"
	g=$T/$1
	shift 2
	for action; do echo "$action" >>"$g/actions" || fail "action $action"; done
}
hits() { # NAME N
	[ "$(key hits "$T/$1/status")" = "$2" ]
}
executed() { # NAME N TIMES
	[ "$(awk -v n="$2" '$1 == "action" && $2 == n { print $4 }' "$T/$1/status")" = "$3" ]
}
lines() { # FILE N
	[ "$(wc -l <"$1")" = "$2" ]
}

# --- filter and captures; the trigger is all that there is
trigger a 'event user tick:tock if n >= 3 capture n, thread, $ctx.procname, nothing' notify
for f in notifications notifications.json; do
	timeout 200 cat "$T/a/$f" >"$work/$f" &
	readers="$readers $!"
done
within 10 grep -q '^readers 2' "$T/a/status" || fail "no readers"
"$ticker" 6 0
within 10 lines "$work/notifications.json" 3 || fail "lines: $(cat "$T/a/status" "$work"/not*)"
within 10 lines "$work/notifications" 3 || fail "lines"
is "hits" 3 "$(key hits "$T/a/status")"
is "text" 'n = 3, thread = 0, $ctx.procname = "ticker", nothing = unavailable' \
	"$(sed -n '1s/^\[[0-9:.]*\] a { \(.*\) }$/\1/p' "$work/notifications")"
is "JSON" '{"n":5,"thread":0,"$ctx.procname":"ticker","nothing":null}' \
	"$(sed -n '3s/^{"time":[0-9]*,"trigger":"a","values":\(.*\)}$/\1/p' \
		"$work/notifications.json")"
kill $readers
is "no session is seen" "" "$(ls "$S")"
is "or counted" 0 "$(key sessions "$MNT/status")"
[ ! -e "$S/.trigger-1" ] || fail "it can be named"

# --- a poll of `status` learns of each hit
if command -v python3 >/dev/null; then
	"$ticker" 1000000 1000 &
	p=$!
	timeout 100 python3 - "$T/a/status" <<'END' || fail "poll"
import os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
p = select.poll()
p.register(fd, select.POLLPRI)
for i in range(10):
    os.pread(fd, 10000, 0)
    p.poll()
END
	kill -9 $p
	wait $p 2>/dev/null
	checks=$((checks + 1))
fi

# --- a value of each type
trigger types 'event user f:all capture n, small, large, port, half, word, list, list[1], list[3], text, $app.fields:name, $ctx.vpid, $app.fields:turn, $ctx.vpid, $app.fields:half, $app.no:ne' notify
for f in notifications notifications.json; do
	timeout 100 cat "$T/types/$f" >"$work/types.$f" &
	readers="$readers $!"
done
within 10 grep -q '^readers 2' "$T/types/status" || fail "no readers"
"$fields" 2 &
p=$!
wait $p
within 10 lines "$work/types.notifications.json" 2 || fail "lines: $(cat "$T/types/status")"
within 10 lines "$work/types.notifications" 2 || fail "lines"
is "types" 'n = 1, small = -4, large = 18446744073709551614, port = 1, half = 0.5, word = "word-1", list = [ [0] = 1, [1] = 2, [2] = 3 ], list[1] = 2, list[3] = unavailable, text = "abc", $app.fields:name = "turn-1", $ctx.vpid = '$p', $app.fields:turn = 1, $ctx.vpid = '$p', $app.fields:half = 0.5, $app.no:ne = unavailable' \
	"$(sed -n '2s/^\[[0-9:.]*\] types { \(.*\) }$/\1/p' "$work/types.notifications")"
is "types in JSON" '{"n":1,"small":-4,"large":18446744073709551614,"port":1,"half":0.5,"word":"word-1","list":[1,2,3],"list[1]":2,"list[3]":null,"text":"abc","$app.fields:name":"turn-1","$ctx.vpid":'$p',"$app.fields:turn":1,"$ctx.vpid":'$p',"$app.fields:half":0.5,"$app.no:ne":null}' \
	"$(sed -n '2s/^{"time":[0-9]*,"trigger":"types","values":\(.*\)}$/\1/p' \
		"$work/types.notifications.json")"
kill $readers 2>/dev/null
readers=
rmdir "$T/types"

# --- bad input
wrong() { # TEXT ERRNO SENTENCE COLUMN
	is "'$1'" "$2" "$(tool open "$T/a/condition" w write "$1\n")"
	has "$(cat "$T/a/error")" "^condition:1: .*$3"
	is "caret of '$1'" "$4" "$(awk '/^ *\^$/ { at = index($0, "^") - 3 } END { print at }' \
		"$T/a/error")"
	echo 1 >"$T/a/enabled"
}
wrong 'event' EINVAL 'a domain is missing' 5
wrong 'event usr tick:*' EINVAL "did you mean 'user'" 6
wrong 'event user' EINVAL 'a rule is missing' 10
wrong 'event user capture n' EINVAL 'a rule is missing' 11
wrong 'event user tick capture n' EINVAL 'no provider' 11
wrong 'event user !tick:*' EINVAL 'begins with a pattern' 11
wrong 'event user tick:* loglevel warnin' EINVAL "did you mean 'warning'" 27
wrong 'event user tick:* captur n' EINVAL "'captur'; did you mean 'capture'" 18
wrong 'event user tick:* if n > 3 captures n' EINVAL "did you mean 'capture'" 27
wrong "event user tick:* loglevel cap" EINVAL "no such level .cap.; levels are" 27
wrong 'event user tick:* capture' EINVAL 'a capture is' 25
wrong 'event user tick:* capture n, a[' EINVAL 'a capture is' 29
wrong 'event user tick:* capture n, $ctx.vpd' ENOENT 'no such context' 34
wrong 'event user tick:* capture n, $app.x' EINVAL 'called $app' 34
has "$(cat "$T/a/condition")" '^event user tick:tock if n >= 3 capture n, thread,'

# --- every hit is counted, at full speed, also those that no one could print
# (SOAK: five times as many)
fifth=20000
[ -z "${SOAK-}" ] || fifth=100000
trigger rate 'event user tick:*' "notify every $fifth" "notify once-after $((fifth + 5000))" notify
exec 7<"$T/rate/notifications"
"$ticker" $((fifth * 5 / 2)) 0 2
within 20 hits rate $((fifth * 5)) || fail "hits: $(cat "$T/rate/status")"
rates() { executed rate 1 5 && executed rate 2 1 && executed rate 3 $((fifth * 5)); }
within 20 rates || fail "$(cat "$T/rate/status")"
all_known() {
	[ $(($(key notifications_sent "$T/rate/status") + $(key notifications_lost "$T/rate/status"))) = $((fifth * 5 + 6)) ]
}
within 20 all_known || fail "not all are sent or lost: $(cat "$T/rate/status")"
sent=$(key notifications_sent "$T/rate/status")
timeout 200 cat <&7 >"$work/rate" &
reader=$!
told() {
	[ "$(grep -c '^\[' "$work/rate")" = "$sent" ]
}
within 10 told || fail "sent $sent, read $(grep -c '^\[' "$work/rate")"
kill $reader
is "lost, as the reader learns of it" "$(key notifications_lost "$T/rate/status")" \
	"$(awk '/^# rate: / { n += $3 } END { print n + 0 }' "$work/rate")"
exec 7<&-
rmdir "$T/rate"

# --- readers that open and close while notifications are sent
trigger doors 'event user tick:*' notify
"$ticker" 20000 50 &
p=$!
for i in 1 2 3 4; do
	while kill -0 $p 2>/dev/null; do : <"$T/doors/notifications"; done &
done
wait
within 20 hits doors 20000 || fail "hits: $(cat "$T/doors/status")"
within 20 grep -q '^readers 0' "$T/doors/status" || fail "readers: $(cat "$T/doors/status")"
rmdir "$T/doors"

# --- an application that ends by a signal right after its event
trigger dies 'event user tick:tock if n == 0' 'notify'
for i in 1 2 3 4 5; do
	"$ticker" 1000000 1000 &
	p=$!
	within 10 hits dies $i || fail "hit $i: $(cat "$T/dies/status")"
	kill -9 $p
	wait $p 2>/dev/null
done
is "hits" 5 "$(key hits "$T/dies/status")"

# --- an action on a session, and switching
mkdir "$S/s"
echo 'tick:*' >"$S/s/user/events"
trigger stops 'event user tick:tock if n == 7' 'snapshot s final' 'stop s'
echo start >"$S/s/control"
"$ticker" 8 0
within 10 executed stops 2 1 || fail "stop: $(cat "$T/stops/status")"
is "stopped" inactive "$(key state "$S/s/status")"
[ -d "$S/s/snapshots/final" ] || fail "no snapshot"
echo 0 >"$T/stops/enabled"
"$ticker" 8 0
echo 1 >"$T/stops/enabled"
"$ticker" 8 0
within 10 hits stops 2 || fail "enabled again: $(cat "$T/stops/status")"

# --- `stop` as the first action, and a start, again and again. Another session records it all.
mkdir "$S/cut" "$S/all"
echo 'tick:*' | tee "$S/cut/user/events" >"$S/all/user/events"
trigger cuts 'event user tick:tock if n == 7' 'stop cut' notify
echo start >"$S/all/control"
for i in 1 2 3 4 5; do
	echo start >"$S/cut/control" || fail "start $i"
	"$ticker" 8 0
	within 10 executed cuts 2 $i || fail "stop $i: $(cat "$T/cuts/status")"
	is "stop $i" inactive "$(key state "$S/cut/status")"
done
is "the other session" active "$(key state "$S/all/status")"
is "its events" 5 "$(grep -c 'n = 7 }' "$S/all/text")"

# --- users
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$ticker" "$BUILD"/libtrail.so.0 "$work/"
	as() {
		setpriv --reuid 12345 --regid 12345 --clear-groups env LD_LIBRARY_PATH="$work" "$@"
	}
	as mkdir "$T/hers" || fail "another user"
	as sh -c "echo 'event user tick:*' >'$T/hers/condition'; echo notify >'$T/hers/actions'"
	trigger all 'event user tick:*' notify
	"$ticker" 10 0
	as "$work/ticker" 20 0
	within 10 hits all 30 || fail "root's trigger sees all: $(cat "$T/all/status")"
	within 10 hits hers 20 || fail "hers: $(cat "$T/hers/status")"
	chown 0 "$T/hers"
	"$ticker" 10 0
	within 10 hits hers 30 || fail "root's now: $(cat "$T/hers/status")"
	rmdir "$T/hers" "$T/all"
fi

# --- the daemon is killed right after a hit: triggers, conditions and counters are there again
trigger kept 'event user tick:tock if n == 2' 'notify every 2' 'notify once-after 3' 'stop s'
for i in 1 2 3; do
	"$ticker" 3 0
	within 10 executed kept 3 $i || fail "hit $i: $(cat "$T/kept/status")"
done
counters() {
	grep -v '^readers' "$T/kept/status"
}
before=$(counters)
cd /
kill -9 $(daemon_pids)
within 10 daemon_ended
# One that cannot mount leaves all as it is, although there may be no session.
fusermount3 -u -z "$MNT" || fail "unmount without a daemon"
timeout 20 "$TRAILFS" "$MNT" -o context=no:such:thing 2>"$work/err" && fail "a mount with nonsense"
mount_tree -o tz=UTC
is "counters" "$before" "$(counters)"
has "$before" '^hits 3$'
has "$(cat "$T/dies/condition")" '^event user tick:tock if n == 0$'
before=$(key hits "$T/dies/status")
"$ticker" 3 0
within 10 hits dies $((before + 1)) || fail "after the kill: $(cat "$T/dies/status")"
within 10 hits kept 4 || fail "after the kill: $(cat "$T/kept/status")"
executed kept 1 2 && executed kept 2 1 || fail "rates after the kill: $(cat "$T/kept/status")"

# --- many triggers, and readers that never read: each fires, and the daemon stays small
rmdir "$T"/*
for i in $(seq 150); do trigger "m$i" "event user tick:tock if n == $i" notify; done
mkdir $(seq -f "$T/idle%g" 850) || fail "850 triggers"
trigger hot 'event user tick:*' notify
for i in $(seq 50); do
	timeout 100 sh -c "exec <'$T/hot/notifications'; exec sleep 100" &
	readers="$readers $!"
done
within 20 grep -q '^readers 50$' "$T/hot/status" || fail "readers: $(cat "$T/hot/status")"
"$ticker" $fifth 0
within 60 hits hot $fifth || fail "hot: $(cat "$T/hot/status")"
for i in 1 75 150; do within 60 hits "m$i" 1 || fail "m$i: $(cat "$T/m$i/status")"; done
[ -n "$SAN" ] && [ "$SAN" != 0 ] ||
	awk '/^VmRSS/ { exit $2 > 200000 }' /proc/"$(daemon_pids)"/status ||
		fail "the daemon is large"
kill $readers 2>/dev/null
wait
echo "$checks checks"
