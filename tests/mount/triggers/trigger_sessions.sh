#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Each condition with each action (those about events of the kernel: kernel_triggers.sh); rate
# policies; actions that fail; notifications: one queue for each reader, bounded, with a line about
# what was lost; poll.
. "$(dirname "$0")/../../lib/mount.sh"
T=$MNT/triggers
ticker=$BUILD/tests/lib/ticker
fields=$BUILD/tests/lib/fields
mount_tree -o tz=UTC
mkdir "$work/out"

# session NAME [OUTPUT]
session() {
	mkdir "$S/$1" || fail "mkdir $1"
	echo 'tick:*' >"$S/$1/user/events"
	[ -z "$2" ] || echo "$2" >"$S/$1/output" || fail "output"
}
# trigger NAME CONDITION ACTION…
trigger() {
	mkdir "$T/$1" && echo "$2" >"$T/$1/condition" || fail "trigger $1"
	g=$T/$1
	shift 2
	for action; do echo "$action" >>"$g/actions" || fail "action $action"; done
}
executed() { # TRIGGER N TIMES: the action was executed that often
	[ "$(awk -v n="$2" '$1 == "action" && $2 == n { print $4 }' "$T/$1/status")" = "$3" ]
}
failed() {
	[ "$(awk -v n="$2" '$1 == "action" && $2 == n { print $6 }' "$T/$1/status")" = "$3" ]
}
state() { # SESSION STATE
	[ "$(key state "$S/$1/status")" = "$2" ]
}

# --- each condition, with each action on another session
session s "$work/out/s"
mkdir "$S/m" "$S/m/user/channels/channel0" && cd "$S/m/user/channels/channel0" || fail "mkdir m"
echo 'f:*' >events
echo 4k >subbuf_size
echo 2 >subbuf_count
echo discard >loss_mode
echo 1ms >monitor_period
cd /
echo start >"$S/m/control"
conditions='session s started
session s stopped
session s destroyed
rotation s ongoing
rotation s completed
event user f:all if n == 0
buffer m/user/channel0 > 50%
consumed m > 1k
discarded m/user/channel0 > 0'
i=0
while read -r condition; do
	i=$((i + 1))
	session "a$i"
	session "b$i" && echo start >"$S/b$i/control"
	session "c$i" "$work/out/c$i" && echo start >"$S/c$i/control"
	session "d$i" && echo start >"$S/d$i/control"
	"$ticker" 5 0
	trigger "t$i" "$condition" notify "start a$i" "stop b$i" "rotate c$i" "snapshot d$i x" \
		"clear d$i"
done <<END
$conditions
END
timeout 200 cat "$T/t5/notifications" >"$work/lines" &
reader=$!
timeout 200 cat "$T/t5/notifications.json" >"$work/json" &
json=$!
within 10 grep -q '^readers 2' "$T/t5/status" || fail "no readers"
echo start >"$S/s/control"
"$ticker" 5 0
echo rotate >"$S/s/control"
echo stop >"$S/s/control"
# check N: trigger tN had one hit, and each action was executed on its session
check() {
	i=$1
	within 20 executed "t$i" 6 1 || fail "t$i: $(cat "$T/t$i/status" "$T/t$i/condition")"
	is "hits of t$i" 1 "$(key hits "$T/t$i/status")"
	is "nothing failed" "0 0 0 0 0 0 " \
		"$(awk '$1 == "action" { printf "%s ", $6 }' "$T/t$i/status")"
	state "a$i" active || fail "a$i was not started"
	state "b$i" inactive || fail "b$i was not stopped"
	is "archive of c$i" 1 "$(ls "$work/out/c$i/archives" | wc -l)"
	is "snapshot of d$i" x "$(ls "$S/d$i/snapshots")"
	# (It had 5 events, and 5 came since, perhaps after the clear.)
	[ "$(key events_recorded "$S/d$i/status")" -le 5 ] || fail "d$i was not cleared"
}
for i in 1 2 4 5; do check $i; done
"$fields" 300
for i in 6 7 8 9; do check $i; done
is "not removed yet" 0 "$(key hits "$T/t3/status")"
rmdir "$S/s"
check 3
# The last chunk of a session with archives moves there, too
within 10 executed t5 1 2 || fail "the rotation by rmdir: $(cat "$T/t5/status")"
within 10 sh -c "[ \$(wc -l <'$work/json') = 2 ] && [ \$(wc -l <'$work/lines') = 2 ]" ||
	fail "the second line"
kill $reader $json
wait $reader $json 2>/dev/null
is "lines" 2 "$(wc -l <"$work/lines")"
has "$(cat "$work/lines")" '^\[[0-9:.]*\] t5 { archive = "[0-9T+-]*-1" }$'
has "$(cat "$work/json")" '^{"time":[0-9]*,"trigger":"t5","values":{"archive":"[0-9T+-]*-1"}}$'
is "an object a line" 2 "$(wc -l <"$work/json")"

# --- rate policies, counted from when the action was written
session r
trigger rate 'session r started' 'notify every 3' 'notify once-after 4' notify
for i in 1 2 3 4 5 6 7; do
	[ $i = 3 ] && echo 'snapshot r late every 2' >>"$T/rate/actions"
	echo start >"$S/r/control"
	echo stop >"$S/r/control"
done
is "hits" 7 "$(key hits "$T/rate/status")"
rates() { executed rate 1 2 && executed rate 2 1 && executed rate 3 7; }
within 10 rates || fail "rates: $(cat "$T/rate/status")"
within 10 executed rate 4 2 || fail "a later action: $(cat "$T/rate/status")"
is "names" "late late-2 " "$(ls "$S/r/snapshots" | tr '\n' ' ')"
echo 0 >"$T/rate/enabled"
echo start >"$S/r/control"
echo 1 >"$T/rate/enabled"
is "disabled" 7 "$(key hits "$T/rate/status")"

# --- an action that fails does not stop the others; to start an active session is no failure
trigger fails 'session r stopped' 'stop nothing' 'rotate r' 'start a1' notify
echo stop >"$S/r/control"
within 10 executed fails 4 1 || fail "the actions after those that fail"
failed fails 1 1 && failed fails 2 1 && executed fails 3 1 || fail "$(cat "$T/fails/status")"
has "$(cat "$T/fails/status")" "^error 1 no session 'nothing'$"
has "$(cat "$T/fails/status")" '^error 2 there is no output'

# --- the owner's rights
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as() {
		setpriv --reuid 12345 --regid 12345 --clear-groups "$@"
	}
	as mkdir "$S/hers" "$T/hers" || fail "as another user"
	as sh -c "echo 'tick:*' >'$S/hers/user/events'; echo 'session hers started' >'$T/hers/condition';
		echo 'start r' >'$T/hers/actions'" || fail "as another user"
	trigger roots 'session hers started' 'snapshot hers'
	as sh -c "echo start >'$S/hers/control'"
	within 10 failed hers 1 1 || fail "an action on root's session: $(cat "$T/hers/status")"
	has "$(cat "$T/hers/status")" "^error 1 session 'r' is not the trigger owner's"
	state r inactive || fail "it was started"
	within 10 executed roots 1 1 || fail "root's trigger: $(cat "$T/roots/status")"
	chmod 777 "$S/r"
	as sh -c "echo stop >'$S/hers/control'; echo start >'$S/hers/control'"
	within 10 executed hers 1 1 || fail "a shared session: $(cat "$T/hers/status")"
	echo stop >"$S/r/control"
fi

# --- readers that never read lose lines, which are counted; others get all
trigger many 'session r started' notify
exec 7<"$T/many/notifications"
n=0
while [ $n -lt 3000 ] && [ "$(key notifications_lost "$T/many/status")" -lt 5 ]; do
	for i in 1 2 3 4 5 6 7 8 9 10; do printf 'start\nstop\n'; done >"$S/r/control" ||
		fail "control"
	n=$((n + 10))
done
all_known() {
	sent=$(key notifications_sent "$T/many/status")
	lost=$(key notifications_lost "$T/many/status")
	[ "$n" = $((sent + lost)) ]
}
within 10 all_known || fail "$n notifications, but sent $sent, lost $lost"
[ "$lost" -ge 5 ] || fail "a queue without bound: $sent lines"
is "lines" "$sent" "$(timeout 200 head -n "$sent" <&7 | grep -c '^\[.*\] many { }$')"
is "the rest" "# many: $lost notifications lost" "$(timeout 200 head -n 1 <&7)"
exec 7<&-

# --- poll
if command -v python3 >/dev/null; then
	python3 - "$T/many/notifications" "$S/r/control" <<'END' || fail "poll"
import os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
try:
    os.read(fd, 100)
    sys.exit("a line before there is one")
except BlockingIOError:
    pass
p = select.poll()
p.register(fd, select.POLLIN)
assert not p.poll(0)
open(sys.argv[2], "w").write("start\nstop\n")
assert p.poll(100000)
assert os.read(fd, 1000).endswith(b"] many { }\n")
assert not p.poll(0)
END
	checks=$((checks + 1))
fi
echo "$checks checks"
