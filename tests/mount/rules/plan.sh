#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# What applications get: which events go where, with which contexts, filters and times; when
# they are made to ask again; and that a daemon which was killed continues where it was.
. "$(dirname "$0")/../../lib/mount.sh"
asker=$BUILD/tests/mount/rules/asker
[ -x "$asker" ] || skip "there is no asker"
mkdir -p "$TRAIL_RUNTIME_DIR/apps" "$work/answers"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
add() { printf '%s\n' "$1" >>"$2" || fail "echo '$1' >> $2"; }

mount_tree
mkfifo "$work/ask" || fail mkfifo
"$asker" "$work/answers" <"$work/ask" &
pid=$!
exec 9>"$work/ask"
ask() { # words or plan: the answer is in $answer. Also in subshells, so the count is not kept in a variable.
	asked=$(($(ls "$work/answers" | wc -l) + 1))
	echo "$1" >&9
	within 10 test -e "$work/answers/$asked" || fail "no answer from asker"
	answer=$work/answers/$asked
}
word() { # of event $1
	ask words
	sed -n "s/^word $1 //p" "$answer"
}
slot() { sed -n "s/^slot event $1 //p" "$answer"; }                     # what the last plan said of event $1
value() { echo "$1" | sed -n "s/.*\<$2 \([^ ]*\).*/\1/p"; }             # value KEY in the text $1
within 5 test -d "$MNT/apps/$pid" || fail "not in apps: $(ls "$MNT/apps")"

# What apps/ tells of it
fields=$(printf '%s\n' 'my_app:empty { }' 'my_app:other { double id }' \
	'my_app:request { int32 id; string path; nowrite uint32 size }')
is "fields" "$fields" "$(cat "$MNT/apps/$pid/fields")"
is "available fields" "$(printf '%s\ntrail:log { string msg }' "$fields")" \
	"$(cat "$MNT/available/user/fields")"
is "gid" "$(id -g)" "$(key gid "$MNT/apps/$pid/status")"
is "state" idle "$(key state "$MNT/apps/$pid/status")"
is "off" 0 "$(word 0)"

# One rule without a filter
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
c=$S/s/user/channels/c
put 'my_app:*' "$c/events"
is "not started: off" 0 "$(word 0)"
put start "$S/s/control"
w=$(word 0)
[ "$w" != 0 ] || fail "a start does not switch on"
is "state" traced "$(key state "$MNT/apps/$pid/status")"
ask plan
is "slots" 3 "$(grep -c '^slot' "$answer")"
grep but "$answer" && fail "a switch byte is not what the plan says"
grep passes "$answer" && fail "a program where none is needed"
first=$(slot 0)
is "the word of the plan" "$w" "$(value "$first" word)"
dump=$(key statedump "$answer")
[ "$dump" != 0 ] || fail "a start asks for no state dump"

# Nothing changes when the same is written again, or what changes nothing
add 'my_app:request' "$c/events"
add 'my_app:* if id > 3' "$c/events"
is "no need to ask again" "$w" "$(word 0)"
ask plan
is "the slot" "$first" "$(slot 0)"

# A filter: another word, another switch value, a program; for floating point another one; never
# true: no slot
put 'my_app:* if id > 3' "$c/events"
w2=$(word 0)
[ "$w2" != "$w" ] || fail "a filter was added, but applications are not to ask"
is "event without the field" 0 "$(word 2)"
ask plan
second=$(slot 0)
[ "$(value "$second" on)" != "$(value "$first" on)" ] ||
	fail "the switch byte is the same with a filter"
is "the id stays" "$(value "$first" id)" "$(value "$second" id)"
is "what passes" ,4,5,6,7,8,9 "$(value "$second" passes)"
slot 1 | grep -q passes || fail "no program for my_app:other"
is "no slot for what is never true" "" "$(slot 2)"
grep but "$answer" && fail "a switch byte is not what the plan says"

# Filters of all rules, and fields that are not recorded
add 'my_app:req* loglevel warning if id == 0 && size == 100' "$c/events"
ask plan
third=$(slot 0)
is "either" ,0,4,5,6,7,8,9 "$(value "$third" passes)"
[ "$(value "$third" on)" != "$(value "$second" on)" ] ||
	fail "the switch byte is the same with another filter"
add '!my_app:req* loglevel warning if id == 0 && size==100' "$c/events"
ask plan
is "as before" ,4,5,6,7,8,9 "$(value "$(slot 0)" passes)"
fourth=$(slot 0)
[ "$(value "$fourth" on)" != "$(value "$third" on)" ] || fail "the switch byte did not change back"

# Types are checked where events are known
tool open "$c/events" wa write 'my_app:request if id == "5"' | grep -q EINVAL ||
	fail "a clash of types is taken"
has "$(cat "$S/s/error")" 'my_app:request'
has "$(cat "$S/s/error")" '^  my_app:request if id == "5"$'
add 'my_app:* if path == "5"' "$c/events"
add 'not_yet:* if id == "5"' "$c/events"
tool open "$c/events" wa write 'my_app:request if id >' | grep -q EINVAL ||
	fail "a filter without an end is taken"
has "$(cat "$S/s/error")" '^events:1: '
is "rules" "my_app:* if id > 3
my_app:* if path == \"5\"
not_yet:* if id == \"5\"" "$(cat "$c/events")"
put 'my_app:* if id > 3' "$c/events"

# A state dump on request
ask plan
is "no other request" "$dump" "$(key statedump "$answer")"
w=$(word 0)
put 'regenerate  statedump ' "$S/s/control"
[ "$(word 0)" != "$w" ] || fail "a request for a state dump, but applications are not to ask"
ask plan
[ "$(key statedump "$answer")" -gt "$dump" ] || fail "the number of the request did not grow"
dump=$(key statedump "$answer")
has "$(cat "$S/s/control")" '^regenerate statedump$'

# Inclusion sets
on=$(value "$(slot 0)" on)
put $((pid + 1)) "$S/s/user/track/vpid"
is "excluded" 0 "$(word 0)"
ask plan
is "nothing for who is excluded" "" "$(grep '^slot' "$answer")"
is "and no state dump" 0 "$(key statedump "$answer")"
add $pid "$S/s/user/track/vpid"
ask plan
[ "$(value "$(slot 0)" on)" != "$on" ] ||
	fail "the switch byte is the same after a process was excluded"
put "$(id -u)" "$S/s/user/track/vuid"
put "$(id -g)" "$S/s/user/track/vgid"
ask plan
[ -n "$(slot 0)" ] || fail "not recorded, though all sets have it"
echo >"$S/s/user/track/vgid" || fail "an empty set"
is "empty" "" "$(cat "$S/s/user/track/vgid")"
is "none are recorded" 0 "$(word 0)"
put '*' "$S/s/user/track/vgid"
[ "$(word 0)" != 0 ] || fail "not recorded, though all are"

# Contexts and times
mkdir "$S/t" "$S/t/user/channels/d" || fail mkdir
d=$S/t/user/channels/d
put 'vpid procname $app.my:thing' "$d/contexts"
add 'perf:thread:page-faults' "$d/contexts"
put discard "$d/loss_mode"
put 1s "$d/blocking_timeout"
put 'my_app:empty' "$d/events"
put start "$S/t/control"
tool open "$d/contexts" wa write 'vtid' | grep -q EBUSY || fail "contexts change after the start"
tool open "$d/blocking_timeout" w write '0' | grep -q EBUSY ||
	fail "blocking_timeout changes after the start"
ask plan
has "$(cat "$answer")" '^region [01] blocking 1000000 contexts 1 3 22:my:thing 21:1:2$'
has "$(cat "$answer")" '^region [01] blocking 0 contexts$'
[ "$(key statedump "$answer")" -gt "$dump" ] || fail "a start is no request"
dump=$(key statedump "$answer")

# The daemon is killed: what the next one finds is the same, and it says the same
before=$(value "$(slot 0)" on) \
	files=$(cat "$c/events" "$d/contexts" "$d/blocking_timeout" "$S/s/user/track/vpid" \
	"$S/s/user/track/vuid")
kill -9 $(daemon_pids) || fail "kill"
within 10 daemon_ended
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
mount_tree 9>&-
is "files" "$files" "$(cat "$c/events" "$d/contexts" "$d/blocking_timeout" "$S/s/user/track/vpid" \
	"$S/s/user/track/vuid")"
ask plan
is "the switch byte that applications know" "$before" "$(value "$(slot 0)" on)"
is "what passes" ,4,5,6,7,8,9 "$(value "$(slot 0)" passes)"
has "$(cat "$answer")" '^region [01] blocking 1000000 contexts 1 3 22:my:thing 21:1:2$'
is "no new request" "$dump" "$(key statedump "$answer")"

put stop "$S/s/control"
is "off" 0 "$(word 0)"
put start "$S/s/control"
ask plan
[ "$(value "$(slot 0)" on)" != "$before" ] || fail "the switch byte is the same after a stop"
exec 9>&-
wait $pid || fail "asker ended with status $?"
gone() { [ -z "$(ls "$TRAIL_RUNTIME_DIR/apps")" ]; }
within 5 gone || fail "left: $(ls "$TRAIL_RUNTIME_DIR/apps")"
