#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# A session with an output goes through random verbs while 4 programs write: start, stop, clear,
# rotate, snapshot, regenerate, reads, kill -9 of the daemon, also in the middle of a verb.
# Afterwards babeltrace2 reads each archive alone, all of them together and each snapshot without a
# complaint, and each program's numbers only grow. Where nothing was cleared, every number that is
# missing was counted as discarded.
#
# SEEDS: which sequences; STEPS: how long each is. Seeds that are a multiple of 3 never clear. A
# failure names its seed, and shows the steps.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
seeds=${SEEDS:-1 2 3} steps=${STEPS:-16}
if [ -n "${SOAK-}" ]; then
	seeds=${SEEDS:-$(seq 20)} steps=${STEPS:-500}
fi

# Lines `STEP SECONDS`: what to do, and how long to wait after it. The first ones are the shortest
# sequence that rotates around a clear.
plan() { # SEED
	awk -v seed="$1" -v steps="$steps" 'BEGIN {
		srand(seed); rand()
		n = split("rotate rotate rotate clear clear stop start stop start kill snapshot regenerate text trace none" \
			" kill-rotate kill-clear kill-stop", verb, " ")
		if (seed % 3)
			print "none .05\nrotate .02\nrotate .05\nclear .05\nrotate .05\nrotate .02\nrotate 0"
		for (i = 0; i < steps; i++) {
			v = verb[1 + int(n * rand())]
			if (seed % 3 == 0 && v ~ /clear/)
				v = "rotate"
			printf "%s .%03d\n", v, int(80 * rand())
		}
	}'
}

remount() {
	kill_daemon
	sleep 0.02
	mount_tree
	have "$s/status" || fail "seed $seed: the session is gone"
}

# A verb that may be refused because the session is, or is not, active already
verb() {
	timeout 200 sh -c 'echo "$1" >"$2"' sh "$1" "$s/control" 2>/dev/null
}

run_step() { # STEP
	case $1 in
	none) ;;
	start | stop) verb "$1" || expect_state "$1" ;;
	rotate | clear) put "$1" "$s/control" ;;
	snapshot)
		shots=$((shots + 1))
		put "snapshot shot$shots" "$s/control"
		;;
	regenerate)
		put "regenerate metadata" "$s/control"
		verb "regenerate statedump"
		;;
	text) timeout 200 tail -n 3 "$s/text" >/dev/null || fail "seed $seed: cannot read text" ;;
	trace) copy_image "$s/trace" "$TMPDIR/copy" && rm -rf "$TMPDIR/copy" ;;
	kill) remount ;;
	kill-*)
		verb "${1#kill-}" &
		under_way=$!
		sleep "0.00$((shots % 10))"
		remount
		wait $under_way
		;;
	esac
}

# stop of an inactive session and start of an active one fail; no other does.
expect_state() {
	case $1 in
	start) expect "seed $seed: start is refused in state" "$(key state "$s/status")" = active ;;
	stop) expect "seed $seed: stop is refused in state" "$(key state "$s/status")" = inactive ;;
	esac
}

read_trace() { # WHAT DIRECTORY: its text comes to $TMPDIR/text
	TZ=UTC timeout 200 babeltrace2 "$2" >"$TMPDIR/text" 2>"$TMPDIR/bt.err" || {
		tail -n 5 "$TMPDIR/bt.err"
		fail "seed $seed: babeltrace2 does not accept $1"
	}
	grep -v 'Tracer discarded\|Tracer may have discarded' "$TMPDIR/bt.err" | grep . &&
		fail "seed $seed: babeltrace2 complains about $1"
	# What is not a difference of two counters that grow
	grep -E 'discarded [0-9]{12,}' "$TMPDIR/bt.err" && fail "seed $seed: counters in $1 go back"
	return 0
}

sequence() {
	out=$TMPDIR/out$seed shots=0
	slots=$TMPDIR/slots$seed
	make_session "s$seed" discard 64K 16
	[ $((seed % 2)) = 0 ] || put 64K "$s/user/channels/channel0/file_size"
	[ $((seed % 5)) != 2 ] || put 50ms "$s/user/channels/channel0/switch_period"
	put "$out" "$s/output"
	put start "$s/control"
	writers=
	for i in 0 1 2 3; do
		"$bin/writer" "$slots" $i 1 0 20000 >/dev/null &
		writers="$writers $!"
	done
	herd_writes
	plan "$seed" >"$TMPDIR/plan"
	while read -r step pause <&3; do
		run_step "$step"
		sleep "$pause"
	done 3<"$TMPDIR/plan"
	kill $writers
	wait $writers
	verb stop
	put rotate "$s/control"
	lost=$(key events_discarded "$s/status")
	rmdir "$s" || fail "seed $seed: rmdir"
}

judge() {
	chunks=0
	for chunk in "$out"/archives/*; do
		chunks=$((chunks + 1))
		read_trace "${chunk##*/}" "$chunk"
	done
	for shot in "$out"/snapshots/*; do
		[ ! -d "$shot" ] || read_trace "snapshot ${shot##*/}" "$shot"
	done
	read_trace "all archives together" "$out/archives"
	printf 'seed %s, %s chunks: ' "$seed" $chunks
	tally
	[ $((seed % 3)) = 0 ] || return 0
	# (A program that is just about to record when the session stops has taken a number for
	# nothing.)
	stops=$(grep -c stop "$TMPDIR/plan")
	lost=$((lost + 4 * (stops + 1)))
	missing=$(($(key before "$TMPDIR/tally") + $(key holes "$TMPDIR/tally") + $(key behind \
		"$TMPDIR/tally")))
	expect "seed $seed: missing and not counted as discarded" $missing -le "$lost"
}

[ -n "${SHOW-}" ] ||
	trap '[ $? = 0 ] || { echo "seed $seed, steps:"; tr "\n" " " <"$TMPDIR/plan"; echo; }' EXIT
mount_tree
for seed in $seeds; do
	sequence
	judge
	rm -rf "$out" "$slots"
done
umount_tree
