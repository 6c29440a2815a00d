#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# Inclusion sets: which processes are recorded, while they run, and their children.
. "$(dirname "$0")/../../lib/mount.sh"
ticker=$BUILD/tests/lib/ticker
mkdir -p "$TRAIL_RUNTIME_DIR/apps"
[ "$(id -u)" != 0 ] || chmod 1777 "$TRAIL_RUNTIME_DIR/apps"
add() { printf '%s\n' "$1" >>"$2" || fail "echo '$1' >> $2"; }
events() { key events_recorded "$S/$1/status"; }
more() { [ "$(events "$1")" -gt "$2" ]; }
# grows SESSION, stays SESSION: whether more is recorded
grows() { within 10 more "$1" "$(events "$1")" || fail "$1: nothing is recorded: $2"; }
stays() {
	now=$(events "$1")
	sleep 0.3
	is "$1: $2" "$now" "$(events "$1")"
}

mount_tree
"$ticker" 1000000 1000 &
a=$!
"$ticker" 1000000 1000 &
b=$!
mkdir "$S/s" || fail mkdir
put 'tick:*' "$S/s/user/events"
put vpid "$S/s/user/contexts"
put start "$S/s/control"
grows s "all are in the set"
is "default" '*' "$(cat "$S/s/user/track/vpid")"

# When the write returns nothing more comes from who is excluded.
put $a "$S/s/user/track/vpid"
is "one" $a "$(cat "$S/s/user/track/vpid")"
put clear "$S/s/control"
grows s "one is in the set"
put "$b" "$S/s/user/track/vpid"
put clear "$S/s/control"
grows s "the other is in the set"
add '!'$b "$S/s/user/track/vpid"
put clear "$S/s/control"
stays s "no process is in the set"
is "empty" "" "$(cat "$S/s/user/track/vpid")"
add "$b $a" "$S/s/user/track/vpid"
grows s "both are in the set"
echo >"$S/s/user/track/vpid"
put clear "$S/s/control"
stays s "echo > empties it"
put '*' "$S/s/user/track/vpid"
grows s "all again"

# Users and groups, by number and by name; all sets must have it.
put root "$S/s/user/track/vuid"
is "names are numbers" 0 "$(cat "$S/s/user/track/vuid")"
put "$(id -un)" "$S/s/user/track/vuid"
put "$(id -gn)" "$S/s/user/track/vgid"
grows s "our user and group"
put 4242424 "$S/s/user/track/vgid"
put clear "$S/s/control"
stays s "another group"
put "$(id -g)" "$S/s/user/track/vgid"
put 4242424 "$S/s/user/track/vuid"
put clear "$S/s/control"
stays s "another user"
put '*' "$S/s/user/track/vuid"
grows s "every user"

# Another session of the same processes is not disturbed.
mkdir "$S/t" || fail mkdir
put 'tick:*' "$S/t/user/events"
put start "$S/t/control"
grows t "another session"
put 1 "$S/s/user/track/vpid"
put clear "$S/s/control"
stays s "none of these"
grows t "another session continues"
kill $a $b
wait $a $b 2>/dev/null
put stop "$S/t/control"
put stop "$S/s/control"

# A set written before anything runs, and children: they are processes of their own.
mkdir "$S/u" || fail mkdir
put 'tick:*' "$S/u/user/events"
sh -c 'echo $$ >"$1/user/track/vpid" && echo start >"$1/control" && exec "$2" 100 0 1 fork' sh \
	"$S/u" "$ticker" || fail "ticker"
put stop "$S/u/control"
is "the parent alone" "100 100" \
	"$(grep -c 'thread = 0,' "$S/u/text") $(grep -c 'thread = 100,' "$S/u/text")"
is "not its child" 0 "$(grep -c 'thread = 101,' "$S/u/text")"

# As fast as they can: of a process that was excluded nothing is recorded that could turn up after a
# clear.
mkdir "$S/f" "$S/f/user/channels/channel0" || fail mkdir
put 4096 "$S/f/user/channels/channel0/subbuf_size"
put 'tick:*' "$S/f/user/events"
put start "$S/f/control"
"$ticker" 1000000000 0 &
a=$!
"$ticker" 1000000000 0 3 &
b=$!
grows f "both are in the set"
round=0
while [ $round -lt 20 ]; do
	put "$a $b" "$S/f/user/track/vpid"
	sleep 0.02
	put $a "$S/f/user/track/vpid"
	put clear "$S/f/control"
	grows f "one is in the set"
	is "round $round: events of who is excluded" 0 "$(grep -c 'thread = [12],' "$S/f/text")"
	round=$((round + 1))
done
kill $a $b
wait $a $b 2>/dev/null
exit 0
