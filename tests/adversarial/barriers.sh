#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 150
#
# stop, disabling a rule, changing its filter, clear and rmdir are barriers: once the write has
# returned, nothing is recorded any more that began before it, with many more threads than CPUs,
# half of them stopped wherever they were.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
rounds=${BARRIER_ROUNDS:-2} clears=3
[ -z "${SOAK-}" ] || rounds=1000 clears=100

each() { # signal
	for pid in $writers; do
		kill "-$1" "$pid" || fail "a writer is gone"
	done
}

# standing PID: all its threads are stopped. The signal takes effect when a thread of it runs again,
# which may take its time.
standing() {
	for stat in "/proc/$1"/task/*/stat; do
		IFS= read -r line <"$stat" || return 1
		case ${line##*)} in ' T '*) ;; *) return 1 ;; esac
	done
}

all_standing() {
	for pid in $writers; do
		within 90 standing "$pid" || fail "a writer does not stop"
	done
}

# Stops every other writer, wherever it is.
half() {
	odd=0
	for pid in $writers; do
		odd=$((1 - odd))
		[ $odd = 0 ] || kill -STOP "$pid"
	done
}

recorded() {
	key events_recorded "$s/status"
}

more() { [ "$(recorded)" -gt "$was" ]; }
events_again() {
	was=$(recorded)
	within 90 more || fail "$1: nothing is recorded"
}

# still WHAT: nothing is recorded while all run, and the text does not change
still() {
	one=$(recorded)
	timeout 200 tail -n 1 "$s/text" >"$TMPDIR/last1"
	each CONT
	sleep 0.03
	two=$(recorded)
	timeout 200 tail -n 1 "$s/text" >"$TMPDIR/last2"
	expect "$1: recorded afterwards" "$two" = "$one"
	cmp -s "$TMPDIR/last1" "$TMPDIR/last2" || fail "$1: the text went on"
}

mount_tree
make_session barrier overwrite 64k 4
put start "$s/control"
writers= i=0
while [ $i -lt 6 ]; do
	nice -n 10 "$bin/writer" "$slots" $i 2 0 >/dev/null &
	writers="$writers $!"
	i=$((i + 1))
done
events_again "at the beginning"

i=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	half
	put stop "$s/control"
	still "stop"
	put start "$s/control"
	events_again "start"

	half
	put '~storm:*' "$s/user/events"
	still "disabling the rule"
	put 'storm:*' "$s/user/events"
	events_again "enabling the rule"

	half
	put 'storm:* if thread == 77' "$s/user/events"
	still "another filter"
	put 'storm:*' "$s/user/events"
	events_again "no filter"

	half
	put 0 "$s/user/channels/channel0/enabled"
	still "disabling the channel"
	put 1 "$s/user/channels/channel0/enabled"
	events_again "enabling the channel"
done

# clear: all events that a reader finds after it began after it, also those of threads that were
# stopped in the middle of an event.
i=0
while [ $i -lt $clears ]; do
	i=$((i + 1))
	each STOP
	all_standing
	put clear "$s/control"
	[ -z "$(timeout 200 head -c 100 "$s/text")" ] || fail "clear: there is text"
	expect "clear: events_recorded" "$(recorded)" = 0
	expect "clear: events_discarded" "$(key events_discarded "$s/status")" = 0
	since=$(TZ=UTC date +%s.%N)
	each CONT
	events_again "clear"
	put stop "$s/control"
	same_text "$s"
	first=$(sed -n '1s/^\[\([0-9:.]*\)\].*/\1/p' "$TMPDIR/text")
	# The trace's clock may be some milliseconds off the time of day.
	awk -v f="$first" -v s="$since" 'BEGIN {
		split(f, t, ":")
		d = (t[1] * 3600 + t[2] * 60 + t[3]) - (s - int(s / 86400) * 86400)
		if (d < -43200) d += 86400
		exit !(d > -0.15)
	}' || fail "clear: an event of $first is there, but it was cleared at $since"
	tally
	put start "$s/control"
	events_again "start after clear"
done

# rmdir: the writers' tracepoints go off, and a new session of that name begins with nothing.
half
rmdir "$s" || fail "rmdir"
each CONT
# (A writer that was stopped at a tracepoint counts once more when it runs again.)
nothing_counts() { one=$(cksum <"$slots") && sleep 0.2 && [ "$(cksum <"$slots")" = "$one" ]; }
within 90 nothing_counts || fail "rmdir: the tracepoints are still on"
make_session barrier overwrite 64k 4
expect "a new session" "$(recorded)" = 0
put start "$s/control"
events_again "a new session"
rmdir "$s" || fail "rmdir of an active session"

for pid in $writers; do
	kill "$pid"
	wait "$pid" || fail "a writer ended with status $?"
done
umount_tree
