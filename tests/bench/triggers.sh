# SPDX-License-Identifier: GPL-2.0-or-later
#
# How fast triggers are, a part of run (trigger_hits.h): from an event to its notification, and to
# the effect of an action `stop`; beside them the bare wake-ups that these need, two and one
# (trigger_floor.c), and those that answer the read of a file (trigger_fuse.c); and what a hit costs
# at 1,000,000 hits a second, with an action for each hit and for each millionth. HITS (1000): of
# the latencies, in ROUNDS_TRIGGERS (5) turns. RATE_SECONDS (5).

# Percent of a CPU that processes used while a command ran; the command's output goes to FILE.
triggers_cpu() { # FILE "PID…" COMMAND…
	local out=$1 pids=$2 p a=0 b=0 began
	shift 2
	for p in $pids; do a=$((a + $(awk '{ print $14 + $15 }' /proc/"$p"/stat))); done
	stamp; began=$us
	"$@" >"$out" || die "$1 failed"
	stamp
	for p in $pids; do b=$((b + $(awk '{ print $14 + $15 }' /proc/"$p"/stat))); done
	awk -v t=$((b - a)) -v us=$((us - began)) -v hz="$(getconf CLK_TCK)" \
		'BEGIN { printf "%.1f", 100 * t / hz / (us / 1e6) }'
}

triggers_trail() { # ACTION: sets the action of trigger `bench`
	mkdir -p "$mnt/triggers/bench" &&
		echo 'event user bench:alarm' >"$mnt/triggers/bench/condition" &&
		echo "$1" >"$mnt/triggers/bench/actions" || die "no trigger: $(cat "$mnt/error")"
}

# triggers_measure NAME PROGRAM notify|stop HITS: adds to the samples of that name
triggers_measure() {
	[ "$3" = notify ] && set -- "$@" 5000
	SAMPLES=$work/$1.$3 "$bin/$2" "${@:3}" >/dev/null || die "$2 failed"
}

# Tracers and the floor in turns: what else runs on the machine slows all of them.
triggers_latency() { # HITS ROUNDS
	local i what
	for i in $(seq "$2"); do
		for what in notify stop; do
			triggers_measure floor trigger_floor $what $(($1 / $2))
			[ $what = stop ] || triggers_measure fuse trigger_fuse $what $(($1 / $2))
			[ $what = stop ] && triggers_trail 'stop bench' || triggers_trail notify
			triggers_measure trig trigger_trail $what $(($1 / $2))
			rmdir "$mnt/triggers/bench"
			[ -n "$sessiond" ] || continue
			TRIGGER_ACTION=$what triggers_measure ltrig trigger_lttng $what $(($1 / $2))
			control_lttng remove-trigger bench
		done
	done
}

triggers_rate_ours() {
	local seconds=$1
	triggers_trail notify
	ours_each=$(triggers_cpu "$work/trig.each" "$daemon" "$bin/trigger_trail" rate "$seconds" \
		1000)
	triggers_trail 'notify every 1000000'
	ours_every=$(triggers_cpu "$work/trig.every" "$daemon" "$bin/trigger_trail" rate \
		"$seconds" 1000)
	sleep 1
	ours_fired=$(awk '$1 == "action" { print $4 }' "$mnt/triggers/bench/status")
	rmdir "$mnt/triggers/bench"
	stop_trailfs
}

triggers_rate_theirs() {
	local seconds=$1
	theirs_each=$(TRIGGER_ACTION=notify triggers_cpu "$work/ltrig.each" "$sessiond" \
		"$bin/trigger_lttng" rate "$seconds" 1000)
	control_lttng remove-trigger bench
	theirs_every=$(TRIGGER_ACTION='notify 1000000' triggers_cpu "$work/ltrig.every" \
		"$sessiond" "$bin/trigger_lttng" rate "$seconds" 1000)
	stop_lttng
}

triggers_quantile() { # FILE FRACTION
	[ ! -s "$1" ] || sort -n "$1" | awk -v q="$2" \
		'{ v[NR] = $1 } END { i = int(NR * q) + 1; i = i > NR ? NR : i; print v[i] }'
}

triggers_value() { # FILE: "MEDIAN / P99 / MAX"
	[ -s "$1" ] && echo "$(triggers_quantile "$1" 0.5) / $(triggers_quantile "$1" 0.99) / $(
		triggers_quantile "$1" 1)" || echo -
}

triggers_row() { # WHAT FILE COLUMN
	row "  $1" "$(awk -v c="$3" '{ print $c }' "$work/trig.$2")" \
		"$(awk -v c="$3" '{ print $c }' "$work/ltrig.$2" 2>/dev/null || echo -)" \
		"$(ratio "$(awk -v c="$3" '{ print $c }' "$work/trig.$2")" "$(awk -v c="$3" \
			'{ print $c }' "$work/ltrig.$2" 2>/dev/null)")"
}

triggers() {
	local hits=${HITS:-1000} seconds=${RATE_SECONDS:-5} f theirs_each='' theirs_every='' \
		ours_each ours_every ours_fired
	note "triggers"
	start_trailfs
	trail_session bench bench:beat
	export TRIGGER_FILE=$mnt/triggers/bench/notifications \
		SESSION_CONTROL=$mnt/sessions/bench/control
	if [ -n "$lttng" ] && [ -x "$bin/trigger_lttng" ]; then
		start_lttng && lttng_session bench bench_trigger:beat '' no ||
			die "no LTTng session: $(tail -n 3 "$work/sessiond.log")"
	fi
	triggers_latency "$hits" "${ROUNDS_TRIGGERS:-5}"
	triggers_rate_ours "$seconds"
	heading "triggers: us from the event, median / p99 / max of $hits"
	if [ -n "$sessiond" ]; then
		triggers_rate_theirs "$seconds"
	else
		echo "  (LTTng is left out: ${why:-liblttng-ctl-dev is not installed})"
	fi
	for f in notify stop; do
		row "  $f" "$(triggers_value "$work/trig.$f")" \
			"$(triggers_value "$work/ltrig.$f")" \
			"$(ratio "$(triggers_quantile "$work/trig.$f" 0.5)" \
				"$(triggers_quantile "$work/ltrig.$f" 0.5)")"
		row "  $f: bare wake-ups" "$(triggers_value "$work/floor.$f")" - ""
		[ $f = stop ] || row "  $f: … that answer a read of a file, nothing else" \
			"$(triggers_value "$work/fuse.$f")" - ""
	done
	heading "triggers at 1,000,000 hits a second"
	triggers_row "CPU time of a hit, notify, ns" each 2
	row "  CPU of the daemon, notify, %" "$ours_each" "${theirs_each:--}" \
		"$(ratio "$ours_each" "$theirs_each")"
	triggers_row "CPU time of a hit, notify every 1000000, ns" every 2
	row "  CPU of the daemon, notify every 1000000, %" "$ours_every" "${theirs_every:--}" \
		"$(ratio "$ours_every" "$theirs_every")"
	row "  fired, of $(awk '{ print int($3 / 1000000) }' "$work/trig.every") due" \
		"$ours_fired" - ""
}
