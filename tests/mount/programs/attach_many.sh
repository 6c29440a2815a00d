#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# The first attach of a program with many tracepoints describes them on disk by one write, not by
# one each: what a reply costs decides whether a large program loses its beginning. Each event keeps
# its name, also over a death of the daemon.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
pid=$(daemon_pids)
[ -r "/proc/$pid/io" ] || skip "the kernel does not count system calls (CONFIG_TASK_IO_ACCOUNTING)"
writes() { awk '$1 == "syscw:" { print $2 }' "/proc/$pid/io"; }

numbers() { # of the events in `text`, whose names must fit: eABC is 64 A + 8 B + C
	sed -n 's/.*many:e\([0-7]\)\([0-7]\)\([0-7]\):.*number = \([0-9]*\).*/\1 \2 \3 \4/p' \
		"$S/many/text" |
		awk '64 * $1 + 8 * $2 + $3 == $4' | sort -u | wc -l
}

mkdir "$S/many" && echo 'many:*' >"$S/many/user/events" && echo start >"$S/many/control" ||
	fail "session"
before=$(writes)
"$BUILD/tests/mount/programs/many" || fail "many: $?"
first=$(($(writes) - before))
is "recorded" 512 "$(key events_recorded "$S/many/status")"
is "names that fit" 512 "$(numbers)"

# A second program has nothing new to describe: it shows what the words and the reply cost by
# themselves.
before=$(writes)
"$BUILD/tests/mount/programs/many" || fail "many: $?"
second=$(($(writes) - before))
is "recorded by both" 1024 "$(key events_recorded "$S/many/status")"
[ $((first - second)) -lt 256 ] ||
	fail "the first attach took $first writes, the second $second: one for each event"

# A channel has ids for 16,384 events: 33 programs of 512 have more. One sentence says so, and each
# event that has an id is recorded by the programs that come later, too.
mkdir "$S/full" && echo 'p_*:*' >"$S/full/user/events" && echo start >"$S/full/control" ||
	fail "session"
rmdir "$S/many"
for n in $(seq 10 42); do
	# The name of the provider, in a copy of the program
	sed "s/many/p_$n/g" "$BUILD/tests/mount/programs/many" >"$work/p_$n"
	chmod 755 "$work/p_$n"
	LD_LIBRARY_PATH=$BUILD "$work/p_$n" || fail "p_$n: $?"
done
is "recorded of 33 programs" 16384 "$(key events_recorded "$S/full/status")"
is "sentences" 1 "$(grep -c 'channel0 has 16384 different events' "$S/full/error")"
LD_LIBRARY_PATH=$BUILD "$work/p_10" || fail "p_10: $?"
LTTNG_UST_DEBUG=1 LD_LIBRARY_PATH=$BUILD "$work/p_42" 2>"$work/questions" || fail "p_42: $?"
# One when it starts, one of the first event without an id, one for all others
questions=$(grep -c 'answered$' "$work/questions")
[ "$questions" -le 3 ] || fail "a program of 512 events without an id asks $questions times"
is "recorded with a full channel" 16896 "$(key events_recorded "$S/full/status")"
is "sentences" 1 "$(grep -c 'channel0 has 16384 different events' "$S/full/error")"
