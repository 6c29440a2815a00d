#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 150
#
# A rotation every 100 ms and a snapshot every 50 ms, while two programs write more than the small
# buffers take, for some seconds (SOAK: 30): the chunks together are exactly what was emitted less
# what was counted as discarded, each event once; no snapshot, and no copy of one in the output, has
# a hole that was not counted.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
command -v taskset >/dev/null || skip "there is no taskset"
seconds=4
[ -z "${SOAK-}" ] || seconds=30
out=$TMPDIR/out
ulimit -n "$(ulimit -H -n)" 2>/dev/null

# print DIR: its text to standard output; how many were discarded to $TMPDIR/gone
print() {
	TZ=UTC timeout 600 babeltrace2 "$1" 2>"$TMPDIR/bt.err" ||
		{ cat "$TMPDIR/bt.err" >&2; return 1; }
	sed -n 's/.*Tracer discarded \([0-9]*\) event.*/\1/p' "$TMPDIR/bt.err" |
		awk '{ n += $1 } END { print n + 0 }' >"$TMPDIR/gone"
}
# Numbers of each writer only grow, and what is missing between them was counted. (Each stays on its
# CPU: one that moves leaves older events in one ring than the other has.)
holes() {
	awk -v gone="$1" '
		match($0, / writer = [0-9]+/) { writer = substr($0, RSTART + 10, RLENGTH - 10) }
		match($0, / n = [0-9]+/) {
			n = substr($0, RSTART + 5, RLENGTH - 5) + 0
			if (writer in last && n <= last[writer]) bad++
			if (writer in last && n > last[writer] + 1) holes += n - last[writer] - 1
			last[writer] = n
		}
		END { printf "%d events, %d missing, %d counted, %d out of order\n", NR, holes, gone, bad; exit bad || holes > gone }'
}

# In memory, if that may be: it is not about how long a disk takes to sync hundreds of files.
mkdir "$out"
[ "$(id -u)" != 0 ] || mount -t tmpfs -o size=2g load "$out" 2>/dev/null
mount_tree
make_session load discard 16K 4
put "$out" "$s/output"
put 100ms "$s/rotate_period"
put start "$s/control"
writers=
for cpu in $(awk \
	'/^Cpus_allowed_list/ { gsub("[-,]", " ", $2); n = split($2, c, " "); print c[1], c[n] }' \
	/proc/self/status); do
	taskset -c "$cpu" "$bin/writer" "$slots" $((cpu + 1)) 1 0 300 >"$TMPDIR/writer" &
	writers="$writers $!"
done
# A snapshot of nothing is not copied.
some_recorded() { [ "$(key events_recorded "$s/status")" != 0 ]; }
within 90 some_recorded || fail "nothing is recorded"
i=0
end=$(($(date +%s) + seconds))
# (At least so many that two copies are looked at.)
while [ $i -lt 25 ] || [ "$(date +%s)" -le $end ]; do
	mkdir "$s/snapshots/s$i" || fail "snapshot $i: $(cat "$s/error")"
	if [ $((i % 16)) = 3 ]; then
		print "$s/snapshots/s$i" >"$TMPDIR/snap" ||
			fail "babeltrace2 does not accept snapshot $i"
		holes "$(cat "$TMPDIR/gone")" <"$TMPDIR/snap" >"$TMPDIR/verdict" ||
			fail "snapshot $i: $(cat "$TMPDIR/verdict")"
	fi
	[ $i -lt 4 ] || rmdir "$s/snapshots/s$((i - 4))" || fail "rmdir of a snapshot"
	i=$((i + 1))
	sleep 0.05
done
many_archives() { [ "$(key archives "$s/status")" -ge $((seconds * 2)) ]; }
within 90 many_archives || fail "only $(key archives "$s/status") archives"
kill $writers
wait $writers || fail "a writer"
put stop "$s/control"
[ -z "$(cat "$s/error")" ] || fail "$(cat "$s/error")"
all_copied() { [ "$(key snapshots_copied "$s/status")" = $i ]; }
within 90 all_copied || fail "$(key snapshots_copied "$s/status") of $i snapshots were copied"
lost=$(key events_discarded "$s/status")
recorded=$(key events_recorded "$s/status")
rmdir "$s" || fail rmdir

some=0 n=0
for d in "$out"/snapshots/*; do
	n=$((n + 1))
	[ $((n % 16)) = 8 ] || continue
	print "$d" >"$TMPDIR/snap" || fail "babeltrace2 does not accept $d"
	holes "$(cat "$TMPDIR/gone")" <"$TMPDIR/snap" >"$TMPDIR/verdict" ||
		fail "$d: $(cat "$TMPDIR/verdict")"
	some=$((some + $(wc -l <"$TMPDIR/snap")))
done
expect "copies" $n -eq $i
expect "events in copies" $some -gt 500

# (Not kept: for 30 seconds it is much.)
print "$out/archives" | "$bin/tally" "$slots" >"$TMPDIR/tally" ||
	{ cat "$TMPDIR/tally"; fail "the trace is wrong"; }
tr '\n' ' ' <"$TMPDIR/tally"
expect "events in all chunks" "$(key events "$TMPDIR/tally")" -eq "$recorded"
expect "losses that the chunks tell of" "$(cat "$TMPDIR/gone")" -eq "$lost"
missing=$(($(key before "$TMPDIR/tally") + $(key holes "$TMPDIR/tally") + $(key behind \
	"$TMPDIR/tally")))
expect "missing and not counted as discarded" $missing -le "$lost"
expect "what is counted as discarded and not missing" "$lost" -le $((missing + 10000))
echo "$recorded recorded, $lost discarded, $i snapshots"
umount_tree
