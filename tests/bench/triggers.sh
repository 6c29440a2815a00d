# SPDX-License-Identifier: GPL-2.0-or-later
#
# How fast triggers are, a part of run (trigger_hits.h): from an event to its notification, and to
# the effect of an action `stop`; and what a hit costs at 1,000,000 hits a second, with an action
# for each hit and for each millionth. HITS (1000): of the latencies. RATE_SECONDS (5).

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

triggers_ours() {
	local hits=$1 seconds=$2
	start_trailfs
	trail_session bench bench:beat
	export TRIGGER_FILE=$mnt/triggers/bench/notifications \
		SESSION_CONTROL=$mnt/sessions/bench/control
	triggers_trail notify
	"$bin/trigger_trail" notify "$hits" 5000 >"$work/trig.notify" || die "trigger_trail failed"
	triggers_trail 'stop bench'
	"$bin/trigger_trail" stop "$hits" >"$work/trig.stop" || die "trigger_trail failed"
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

triggers_theirs() {
	local hits=$1 seconds=$2
	start_lttng && lttng_session bench bench_trigger:beat '' no ||
		die "no LTTng session: $(tail -n 3 "$work/sessiond.log")"
	TRIGGER_ACTION=notify "$bin/trigger_lttng" notify "$hits" 5000 >"$work/ltrig.notify" ||
		die "trigger_lttng failed"
	control_lttng remove-trigger bench
	TRIGGER_ACTION=stop "$bin/trigger_lttng" stop "$hits" >"$work/ltrig.stop" ||
		die "trigger_lttng failed"
	control_lttng remove-trigger bench
	theirs_each=$(TRIGGER_ACTION=notify triggers_cpu "$work/ltrig.each" "$sessiond" \
		"$bin/trigger_lttng" rate "$seconds" 1000)
	control_lttng remove-trigger bench
	theirs_every=$(TRIGGER_ACTION='notify 1000000' triggers_cpu "$work/ltrig.every" \
		"$sessiond" "$bin/trigger_lttng" rate "$seconds" 1000)
	stop_lttng
}

triggers_value() { # FILE: "MEDIAN / P99 / MAX"
	[ -s "$1" ] && awk '{ printf "%s / %s / %s", $2, $3, $4 }' "$1" || echo -
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
	triggers_ours "$hits" "$seconds"
	heading "triggers: us from the event, median / p99 / max of $hits"
	if [ -n "$lttng" ] && [ -x "$bin/trigger_lttng" ]; then
		triggers_theirs "$hits" "$seconds"
	else
		echo "  (LTTng is left out: ${why:-liblttng-ctl-dev is not installed})"
	fi
	for f in notify stop; do
		row "  $f" "$(triggers_value "$work/trig.$f")" \
			"$(triggers_value "$work/ltrig.$f")" \
			"$(ratio "$(awk '{ print $2 }' "$work/trig.$f")" "$(awk '{ print $2 }' \
				"$work/ltrig.$f" 2>/dev/null)")"
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
