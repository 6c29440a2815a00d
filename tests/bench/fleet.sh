# SPDX-License-Identifier: GPL-2.0-or-later
#
# Many daemons that stream to one lttng-relayd, a part of run: each has a state directory, a mount,
# a session from the same file and a program of its own. What a daemon takes of CPU and memory while
# its program is silent, and while it emits; and whether each event is on the relay or was counted.
#
# FLEET: how many daemons (100). FLEET_SECONDS: how long each part is measured (10). FLEET_PAUSE: of
# each program between two events, us (10000).

fleet_count=${FLEET:-100} fleet_pids='' fleet_programs=''

fleet_dir() { echo "$disk/$1"; }

fleet_start() { # NUMBER
	local d=$(fleet_dir "$1")
	mkdir -p "$d/mnt" "$d/state/apps" "$d/config/trailfs/sessions.d" &&
		chmod 1777 "$d/state/apps"
	cat >"$d/config/trailfs/sessions.d/fleet$1.ini" <<EOF
[session]
output = $net
start = yes
[user channel]
name = channel0
events = tick:*
subbuf_size = 512K
subbuf_count = 8
EOF
	TRAIL_RUNTIME_DIR=$d/state XDG_CONFIG_HOME=$d/config "$BUILD/trailfs" "$d/mnt" -f \
		>"$d/log" 2>&1 &
	fleet_pids="$fleet_pids $!"
}

fleet_wait() { # PATTERN: until each session's status has it
	local i tries=1200
	for ((i = 0; i < fleet_count; i++)); do
		until grep -qs "$1" "$(fleet_dir $i)/mnt/sessions/fleet$i/status"; do
			tries=$((tries - 1))
			[ $tries -gt 0 ] ||
				die \
				"daemon $i: $(cat "$(fleet_dir $i)/log" "$(fleet_dir \
				$i)/mnt/sessions/fleet$i/status" 2>&1)"
			sleep 0.1
		done
	done
}

# Proportional kB: pages that several share count in parts
fleet_memory() { # PID…
	for p in "$@"; do cat /proc/"$p"/smaps_rollup 2>/dev/null; done |
		awk '$1 == "Pss:" { s += $2 } END { printf "%d", s }'
}

fleet_measure() { # WHAT
	local seconds=${FLEET_SECONDS:-10} keepers cpu relay
	keepers=$(ps -eo pid=,args= | awk -v d="--keeper $disk/" 'index($0, d) { print $1 }')
	cpu=$(cpu_ms $fleet_pids) relay=$(cpu_ms $relayd)
	sleep $seconds
	cpu=$(($(cpu_ms $fleet_pids) - cpu)) relay=$(($(cpu_ms $relayd) - relay))
	row "  $1: CPU, ms in a second" \
		"$(awk -v c=$cpu -v n=$fleet_count -v s=$seconds \
		'BEGIN { printf "%.2f", c / n / s }')" \
		"$(awk -v c=$relay -v s=$seconds 'BEGIN { printf "%.1f", c / s }')" ""
	row "  $1: memory, kB, less what is shared" \
		"$(($(fleet_memory $fleet_pids) / fleet_count))" "$(fleet_memory $relayd)" ""
	row "  $1: its keeper, which has the buffers" \
		"$(($(fleet_memory $keepers) / fleet_count))" "" ""
	row "  $1: threads" "$(($(for p in $fleet_pids; do cat /proc/$p/status; done |
		awk '$1 == "Threads:" { n += $2 } END { print n }') / fleet_count))" \
		"$(awk '$1 == "Threads:" { print $2 }' /proc/$relayd/status)" ""
}

fleet_programs() { # COUNT
	local i
	for ((i = 0; i < fleet_count; i++)); do
		TRAIL_ATTACH_TIMEOUT=60000 TRAIL_RUNTIME_DIR=$(fleet_dir $i)/state \
			"$BUILD/tests/lib/ticker" "$1" "${FLEET_PAUSE:-10000}" \
			>"$(fleet_dir $i)/emitted" &
		fleet_programs="$fleet_programs $!"
	done
}

# Removes the sessions, so all is on the relay; then each event is there or was counted.
fleet_check() {
	local i d emitted=0 lost=0 got=0
	for ((i = 0; i < fleet_count; i++)); do
		d=$(fleet_dir $i)
		emitted=$((emitted + $(cat "$d/emitted")))
		echo stop >"$d/mnt/sessions/fleet$i/control"
	done
	fleet_wait '^pending_bytes 0$'
	for ((i = 0; i < fleet_count; i++)); do
		d=$(fleet_dir $i)
		lost=$((lost + $(awk '$1 == "events_discarded" { print $2 }' \
			"$d/mnt/sessions/fleet$i/status")))
		rmdir "$d/mnt/sessions/fleet$i" || die "rmdir"
	done
	command -v babeltrace2 >/dev/null && got=$(babeltrace2 "$disk/relay" 2>/dev/null | wc -l)
	row "  events emitted, lost" "$emitted $lost" "" ""
	row "  events on the relay, all hosts in one babeltrace2" "" "$got" ""
	[ $((got + lost)) = $emitted ] || die "emitted $emitted, on the relay $got, lost $lost"
}

fleet_clean_up() {
	kill $fleet_programs 2>/dev/null
	for ((i = 0; i < fleet_count; i++)); do fusermount3 -u -z "$(fleet_dir $i)/mnt" \
		2>/dev/null; done
	fleet_pids='' fleet_programs=''
	echo "$fleet_inotify" >/proc/sys/fs/inotify/max_user_instances
}

fleet() {
	local i
	command -v lttng-relayd >/dev/null ||
		{ note "fleet is left out: there is no lttng-relayd"; return; }
	note "$fleet_count daemons to one relay"
	# Each daemon and each keeper has one; hosts of their own have more.
	fleet_inotify=$(cat /proc/sys/fs/inotify/max_user_instances)
	[ "$fleet_inotify" -ge $((2 * fleet_count + 64)) ] ||
		echo $((2 * fleet_count + 64)) >/proc/sys/fs/inotify/max_user_instances ||
			die "too few inotify instances"
	disk=$work/net
	mkdir "$disk" && mount -t tmpfs -o size=2g disk "$disk" 2>/dev/null ||
		note "not on a tmpfs: none can be mounted"
	mkdir "$disk/relay"
	network_start_relay
	heading "$fleet_count daemons to one relay: each daemon, the relay"
	for ((i = 0; i < fleet_count; i++)); do fleet_start $i; done
	fleet_wait '^relay connected'
	fleet_measure "silent"
	fleet_programs 0
	fleet_measure "$((1000000 / ${FLEET_PAUSE:-10000})) events/s each"
	kill -TERM $fleet_programs
	wait $fleet_programs
	fleet_programs=
	fleet_check
	for ((i = 0; i < fleet_count; i++)); do fusermount3 -u "$(fleet_dir $i)/mnt"; done
	wait $fleet_pids
	fleet_clean_up
	network_stop_relay
}
