# SPDX-License-Identifier: GPL-2.0-or-later
#
# Streaming over loopback to one lttng-relayd, a part of run: the recordings of record.sh, from
# trailfs and from LTTng's consumer daemon, in turns, and what babeltrace2 gets live. The relay
# writes into memory.
#
# SECONDS_EACH, SECONDS_LONG, SECONDS_COST, ROUNDS_RECORD: see record.sh. SECONDS_LIVE: how long
# events are followed (10).

network_start_relay() {
	local port=$((RANDOM % 20000 + 10000)) i=0
	LTTNG_RELAYD_HEALTH=$work/relay.health lttng-relayd -o "$disk/relay" -C \
		"tcp://127.0.0.1:$port" \
		-D "tcp://127.0.0.1:$((port + 1))" -L "tcp://127.0.0.1:$((port + 2))" \
			>>"$work/relayd.log" 2>&1 &
	relayd=$!
	net=net://127.0.0.1:$port:$((port + 1)) live_port=$((port + 2))
	until grep -q "0100007F:$(printf %04X $live_port) 00000000:0000 0A" /proc/net/tcp; do
		i=$((i + 1))
		[ $i -lt 100 ] && kill -0 "$relayd" 2>/dev/null ||
			die "lttng-relayd does not start: $(tail -n 1 "$work/relayd.log")"
		sleep 0.05
	done
}

network_stop_relay() {
	kill -9 "$relayd"
	wait "$relayd" 2>/dev/null
	net= relayd=
	umount -l "$disk" 2>/dev/null
	rmdir "$disk"
}

# A session's files on the relay are of no interest after it.
network_trail() { record_trail "$@"; rm -rf "$disk/relay"/*; }
network_lttng() { record_lttng "$@"; rm -rf "$disk/relay"/*; }

# Costs of recordings in turns: network.ours and network.theirs, as costs writes them
network_costs() { # RATE SECONDS ROUNDS
	costs network "$@"
	rm -rf "$disk/relay"/*
}

# network_follow PROGRAM: leaves "EVENTS MEDIAN MOST" in $work/delays, when $live_reader ends: how
# long after it was emitted babeltrace2 printed an event, ms. Each of two threads emits 256 at a
# time.
network_follow() {
	local reader
	TZ=UTC babeltrace2 --clock-seconds --input-format=lttng-live \
		"net://127.0.0.1:$live_port/host/$(hostname)/record" \
		2>"$work/live.err" | "$bin/delays" >"$work/delays" &
	reader=$!
	sleep 1
	"$1" 5120 "${SECONDS_LIVE:-10}" >/dev/null || die "$1 failed"
	sleep 3
	live_reader=$reader
}

network_live_trail() {
	local s=$mnt/sessions/record
	mkdir "$s" && echo 'bench:text' >"$s/user/events" && echo "$net" >"$s/output" &&
		echo 1s >"$s/live_period" &&
		echo start >"$s/control" || die "no session: $(cat "$s/error")"
	network_follow "$bin/bench_record"
	echo stop >"$s/control"
	rmdir "$s"
	wait $live_reader || note "a live reader got nothing: $(head -n 1 "$work/live.err")"
	delay=$(cat "$work/delays")
	delay=${delay:-- - -}
}

network_live_lttng() {
	lttng -n -q create record --live=1000000 --set-url="$net" >>"$work/sessiond.log" 2>&1 &&
		lttng -n -q enable-event -u -s record bench:text >>"$work/sessiond.log" 2>&1 &&
		lttng -n -q start record >>"$work/sessiond.log" 2>&1 ||
			die "no LTTng session: $(tail -n 3 "$work/sessiond.log")"
	network_follow "$bin/bench_record_lttng"
	lttng -n -q stop record >>"$work/sessiond.log" 2>&1
	lttng -n -q destroy record >>"$work/sessiond.log" 2>&1
	wait $live_reader || note "a live reader got nothing: $(head -n 1 "$work/live.err")"
	delay=$(cat "$work/delays")
	delay=${delay:-- - -}
}

# What the program, the sender and the relay took of the CPUs, and how many events were lost
network_shares() { # LINE
	[ -n "$1" ] || return
	echo "$1" | awk '{ s = $1 / $2 * 10
		printf "%.0f + %.0f + %.0f, %.1f lost", $10 / s, $4 / s, $9 / s, 100 * $3 / $1 }'
}

# A tracer's highest rate: leaves it in $found, and the recordings at that rate and at the next one
# in $kept and $over.
network_highest() { # WHICH
	local r
	search "$1" "${SECONDS_LONG:-20}" "${geometry[@]}"
	kept=$line over=
	for r in $rates; do
		[ "$r" -gt "${found%% *}" ] || continue
		"$1" "${r}e6" "${SECONDS_EACH:-2}" ${found#* }
		over=$line
		break
	done
}

network_rates() {
	local ours theirs='0 512K 64' kept over kept_ours over_ours
	network_highest network_trail
	ours=$found kept_ours=$kept over_ours=$over kept= over=
	[ -z "$lttng" ] || { network_highest network_lttng; theirs=$found; }
	heading "to one relay over loopback, 2 writers, int + 16-byte string (the best of these buffers: $geometries)"
	verdict "  highest rate without a loss, millions/s" "$(field "$ours" 1)" \
		"$(field "$theirs" 1)" \
		"$(ratio "$(field "$theirs" 1)" "$(field "$ours" 1)" | sed "s/^0.000\$/-/")" 0.5
	row "  … with buffers of" "${ours#* }" "${theirs#* }" ""
	row "  … % of a CPU: program + sender + relay, of $(nproc)00" \
		"$(network_shares "$kept_ours")" "$(network_shares "$kept")" ""
	row "  … the same when the next rate is asked for" \
		"$(network_shares "$over_ours")" "$(network_shares "$over")" ""
}

network_cost_rows() {
	local a=$work/ours.network b=$work/theirs.network g
	network_costs 4e6 "${SECONDS_COST:-20}" "${ROUNDS_RECORD:-4}"
	verdict "  CPU time of the sender, ns per event, at 4 M/s" "$(least "$a" 1)" \
		"$(least "$b" 1)" "$(ratio "$(least "$a" 1)" "$(least "$b" 1)")" 0.5
	# (An event has 25 bytes: record.sh.)
	g=$("$bin/plain_send" 100e6 "${SECONDS_COST:-20}" | awk '{ printf "%.2f", 25 * $1 }')
	row "  … to send as many bytes to a reader, nothing else" "$g" "$g" \
		"$(ratio "$g" "$(least "$b" 1)")"
	row "  … of the relay meanwhile" "$(least "$a" 7)" "$(least "$b" 7)" \
		"$(ratio "$(least "$a" 7)" "$(least "$b" 7)")"
	row "  … events lost meanwhile" "$(least "$a" 4)" "$(least "$b" 4)" ""
	g=$(by_system_calls config)
	verdict "  set-up, ms: mkdir, config, start (lttng commands)" "$g" "$(least "$b" 2 1000)" \
		"$(ratio "$g" "$(least "$b" 2 1000)")" 0.1
	row "  … from a shell, most of it to start mkdir(1)" "$(least "$a" 2 1000)" \
		"$(least "$b" 2 1000)" "$(ratio "$(least "$a" 2)" "$(least "$b" 2)")"
	verdict "  stop, ms" "$(least "$a" 5 1000)" "$(least "$b" 5 1000)" \
		"$(ratio "$(least "$a" 5)" "$(least "$b" 5)")" 0.1
	verdict "  rmdir, ms (destroy)" "$(least "$a" 6 1000)" "$(least "$b" 6 1000)" \
		"$(ratio "$(least "$a" 6)" "$(least "$b" 6)")" 0.1
}

network_live_rows() {
	local ours theirs='- - -'
	network_live_trail
	ours=$delay
	[ -z "$lttng" ] || { network_live_lttng; theirs=$delay; }
	verdict "  live, period 1 s: median delay of an event, ms" "$(field "$ours" 2)" \
		"$(field "$theirs" 2)" "$(ratio "$(field "$ours" 2)" "$(field "$theirs" 2)")" 1
	row "  … the longest, ms" "$(field "$ours" 3)" "$(field "$theirs" 3)" \
		"$(ratio "$(field "$ours" 3)" "$(field "$theirs" 3)")"
}

network() {
	local saved=$TRAIL_RUNTIME_DIR
	command -v lttng-relayd >/dev/null ||
		{ note "network is left out: there is no lttng-relayd"; return; }
	note "streaming to a relay"
	disk=$work/net
	IFS=, read -r -a geometry <<<"$geometries"
	read -r -a rate <<<"$rates"
	mkdir "$disk" && mount -t tmpfs -o size=2g disk "$disk" 2>/dev/null ||
		note "not on a tmpfs: none can be mounted"
	TRAIL_RUNTIME_DIR=$disk/state
	mkdir "$TRAIL_RUNTIME_DIR" "$disk/relay"
	start_trailfs
	[ -z "$lttng" ] || start_lttng
	network_start_relay
	network_rates
	network_cost_rows
	network_live_rows
	stop_lttng
	stop_trailfs
	network_stop_relay
	TRAIL_RUNTIME_DIR=$saved
}
