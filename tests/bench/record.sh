# SPDX-License-Identifier: GPL-2.0-or-later
#
# Recording to files, a part of run: two writers on two CPUs, int + 16-byte string, bounded trace
# files (file_size, file_count), trailfs and LTTng in turns. Daemons keep their state and their
# buffers in memory, as both do in /run and /dev/shm.
#
# SECONDS_EACH: how long each step of the search for the highest rate takes (2). SECONDS_LONG: how
# long what was found must last (20). SECONDS_COST: how long the CPU time is measured (20), in each
# of ROUNDS_RECORD (4) rounds in turns, with one of the geometries each; the best counts, of each.

geometries='512K 64,4M 8'
rates='2 3 4 5 6 7 8 9 10 11 12 14 16 18 20 22 24 27 30 33 36 40 44 48 53 58 64 70 77'
file_size=16M file_count=4 net= relayd= live=

cpu_ms() { # PID…: CPU time of all of them; none: 0
	for p in "$@"; do cat /proc/"$p"/stat 2>/dev/null; done |
		awk -v hz="$(getconf CLK_TCK)" \
			'{ sub(/.*\) /, ""); s += $12 + $13 } END { printf "%.0f", s * 1000 / hz }'
}

# Microseconds, without a process being started for it
stamp() { us=${EPOCHREALTIME/[.,]/}; }

field() { # LINE N
	set -- "$2" $1
	shift "$1"
	echo "$1"
}

# These leave in $line: EVENTS RATE LOST CPU_MS(daemon) SET_UP_US END_US STOP_US REMOVE_US
# CPU_MS(relay) CPU_MS(program), of a recording from a shell. $net: the address of a relay, which
# takes the place of the directory; its process is $relayd.
record_trail() { # RATE SECONDS SUBBUF_SIZE SUBBUF_COUNT
	local s=$mnt/sessions/record c=$mnt/sessions/record/user/channels/channel0 a b d e f g got \
		lost cpu relay=$(cpu_ms $relayd)
	rm -rf "$disk/ours"
	stamp; a=$us
	mkdir "$s" && echo 'bench:text' >"$s/user/events" &&
		echo "${net:-$disk/ours}" >"$s/output" &&
		echo "$3" >"$c/subbuf_size" && echo "$4" >"$c/subbuf_count" &&
			echo $file_size >"$c/file_size" &&
		echo $file_count >"$c/file_count" && echo start >"$s/control" ||
			die "no session: $(cat "$s/error")"
	stamp; b=$us
	cpu=$(cpu_ms "$daemon")
	got=$("$bin/spent" "$work/program" "$bin/bench_record" "$1" "$2") ||
		die "bench_record failed"
	cpu=$(($(cpu_ms "$daemon") - cpu))
	stamp; d=$us
	echo stop >"$s/control"
	stamp; e=$us
	lost=$(awk '$1 == "events_discarded" { print $2 }' "$s/status")
	grep -q '^events_recorded [1-9]' "$s/status" || die "trailfs recorded nothing"
	stamp; f=$us
	rmdir "$s"
	stamp; g=$us
	line="$got $lost $cpu $((b - a)) $((e - d + g - f)) $((e - d)) $((g - f)) $(($(cpu_ms \
		$relayd) - relay)) $(($(cat "$work/program") / 1000))"
}

record_lttng() { # the same
	local a b d e f g got lost cpu pids relay=$(cpu_ms $relayd) to=--output=$disk/theirs
	[ -z "$net" ] || to=--set-url=$net
	rm -rf "$disk/theirs"
	stamp; a=$us
	lttng -n -q create record "$to" $live >>"$work/sessiond.log" 2>&1 &&
		lttng -n -q enable-channel -u -s record --discard --subbuf-size="$3" \
			--num-subbuf="$4" --tracefile-size=$file_size \
			--tracefile-count=$file_count ch >>"$work/sessiond.log" 2>&1 &&
		lttng -n -q enable-event -u -s record -c ch bench:text >>"$work/sessiond.log" \
			2>&1 &&
		lttng -n -q start record >>"$work/sessiond.log" 2>&1 ||
			die "no LTTng session: $(tail -n 3 "$work/sessiond.log")"
	stamp; b=$us
	pids="$sessiond $(pgrep -P "$sessiond")"
	cpu=$(cpu_ms $pids)
	got=$("$bin/spent" "$work/program" "$bin/bench_record_lttng" "$1" "$2") ||
		die "bench_record_lttng failed"
	cpu=$(($(cpu_ms $pids) - cpu))
	stamp; d=$us
	lttng -n -q stop record >>"$work/sessiond.log" 2>&1
	stamp; e=$us
	lost=$(lttng -n list record 2>/dev/null |
		awk '/Discarded events:/ { s += $3 } END { print s + 0 }')
	stamp; f=$us
	lttng -n -q destroy record >>"$work/sessiond.log" 2>&1
	stamp; g=$us
	[ -n "$net" ] || [ "$(du -sk "$disk/theirs" | cut -f 1)" -gt 100 ] || die "LTTng recorded nothing"
	line="$got $lost $cpu $((b - a)) $((e - d + g - f)) $((e - d)) $((g - f)) $(($(cpu_ms \
		$relayd) - relay)) $(($(cat "$work/program") / 1000))"
}

# As many as were wanted, nearly, and none lost
lossless() { # MILLIONS
	awk -v r="$1" -v l="$line" \
		'BEGIN { split(l, f); exit !(f[3] == 0 && f[2] >= 0.97 * r * 1e6) }'
}

# The highest of $rates at which none is lost, by bisection; each is tried twice. Leaves it in $best
# (0: none).
highest() { # WHICH SUBBUF_SIZE SUBBUF_COUNT
	local low=-1 high=${#rate[@]} mid
	best=0
	while [ $((high - low)) -gt 1 ]; do
		mid=$(((low + high) / 2))
		$1 "${rate[mid]}e6" "${SECONDS_EACH:-2}" "$2" "$3"
		lossless "${rate[mid]}" || $1 "${rate[mid]}e6" "${SECONDS_EACH:-2}" "$2" "$3"
		if lossless "${rate[mid]}"; then
			low=$mid best=${rate[mid]}
		else
			high=$mid
		fi
	done
}

# The best geometry, and the highest rate with it that lasts: "MILLIONS SIZE COUNT" in $found.
search() { # WHICH SECONDS GEOMETRY…
	local which=$1 long=$2 g tries=8
	shift 2
	found="0 $1"
	for g in "$@"; do
		highest "$which" ${g}
		[ "$best" -le "$(field "$found" 1)" ] || found="$best $g"
	done
	[ "$long" -gt 0 ] || return 0
	set -- $found
	for r in $(echo $rates | tr ' ' '\n' | sort -rn); do
		[ "$r" -le "$1" ] && [ $tries -gt 0 ] || continue
		tries=$((tries - 1))
		$which "${r}e6" "$long" "$2" "$3"
		lossless "$r" && found="$r $2 $3" && return
	done
	found="0 $2 $3"
}

verdict() { # WHAT OURS THEIRS RATIO(ours/theirs) TARGET(at most)
	row "$1" "$2" "$3" "$4"
	[ "$4" = - ] ||
		awk -v r="$4" -v t="$5" \
		'BEGIN { printf "%88s (wanted: at most %s)\n", r <= t ? "met" : "NOT met", t }'
}

per_event() { # LINE
	[ -z "$1" ] || echo "$1" | awk '$1 { printf "%.2f", $4 * 1e6 / $1 }'
}

relay_per_event() { # LINE
	echo "$1" | awk '$1 { printf "%.2f", $9 * 1e6 / $1 }'
}

least() { # FILE COLUMN [DIVISOR]
	[ -s "$1" ] &&
		awk -v c="$2" -v d="${3:-1}" \
		'NR == 1 || $c / d < m { m = $c / d } END { printf "%.2f", m }' "$1"
}

# Costs, from recordings in turns: appended to ours.$1 and theirs.$1: NS_PER_EVENT SET_UP_US END_US
# LOST STOP_US REMOVE_US NS_PER_EVENT(relay)
costs() { # WHERE RATE SECONDS ROUNDS
	local i g
	: >"$work/ours.$1"
	: >"$work/theirs.$1"
	for ((i = 0; i < $4; i++)); do
		g=${geometry[i % ${#geometry[@]}]}
		record_trail "$2" "$3" $g
		echo "$(per_event "$line") $(field "$line" 5) $(field "$line" 6) $(field "$line" \
			3) $(field "$line" 7) $(field "$line" 8) \
			$(relay_per_event "$line")" >>"$work/ours.$1"
		[ -n "$lttng" ] || continue
		record_lttng "$2" "$3" $g
		echo "$(per_event "$line") $(field "$line" 5) $(field "$line" 6) $(field "$line" \
			3) $(field "$line" 7) $(field "$line" 8) \
			$(relay_per_event "$line")" >>"$work/theirs.$1"
	done
}

# The same set-up by one program's system calls, without a recording in between, the best of 16: in
# ms
by_system_calls() { # each (a setting at a time) | config (all in one file)
	local s=$mnt/sessions/record c=$mnt/sessions/record/user/channels/channel0 i
	# (A session begins a trace in a directory without one.)
	rm -rf "$disk"/ours*
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		set -- "$1" write "$s/config" "[session]
output = ${net:-$disk/ours$i}
[user channel]
name = channel0
events = bench:text
subbuf_size = 512K
subbuf_count = 64
file_size = $file_size
file_count = $file_count"
		[ "$1" = config ] ||
			set -- "$1" write "$s/user/events" bench:text write "$s/output" \
			"${net:-$disk/ours$i}" write "$c/subbuf_size" 512K \
			write "$c/subbuf_count" 64 write "$c/file_size" $file_size write \
				"$c/file_count" $file_count
		"$bin/steps" mkdir "$s" "${@:2}" write "$s/control" start || {
			set -- "steps: $(cat "$s/error")"
			rmdir "$s"
			die "$1"
		}
		rmdir "$s"
	done | sort -n | awk 'NR == 1 { printf "%.2f", $1 / 1e3 }'
}

# These rows of ours alone
record_set_up() {
	disk=$work/disk
	mkdir "$disk"
	start_trailfs
	heading "set-up of a recording, ms"
	row "  mkdir, config, start" "$(by_system_calls config)" "" ""
	row "  … a file for each setting" "$(by_system_calls each)" "" ""
	stop_trailfs
	rm -rf "$disk"
}

record() {
	local saved=$TRAIL_RUNTIME_DIR ours theirs g
	note "recording to files"
	disk=$work/disk
	IFS=, read -r -a geometry <<<"$geometries"
	read -r -a rate <<<"$rates"
	mkdir "$disk" && mount -t tmpfs -o size=2g disk "$disk" 2>/dev/null ||
		note "not on a tmpfs: none can be mounted"
	TRAIL_RUNTIME_DIR=$disk/state
	mkdir "$TRAIL_RUNTIME_DIR"
	start_trailfs
	[ -z "$lttng" ] || start_lttng
	heading "recording 2 writers, int + 16-byte string, onto tmpfs, $file_count files of $file_size each (the best of these buffers: $geometries)"
	search record_trail "${SECONDS_LONG:-20}" "${geometry[@]}"
	ours=$found theirs='0 512K 64'
	[ -z "$lttng" ] ||
		{ search record_lttng "${SECONDS_LONG:-20}" "${geometry[@]}"; theirs=$found; }
	verdict "  highest rate without a loss, millions/s" "$(field "$ours" 1)" \
		"$(field "$theirs" 1)" \
		"$(ratio "$(field "$theirs" 1)" "$(field "$ours" 1)" | sed "s/^0.000\$/-/")" 0.5
	row "  … with buffers of" "${ours#* }" "${theirs#* }" ""
	note "CPU time, set-up, end"
	costs tmpfs 4e6 "${SECONDS_COST:-20}" "${ROUNDS_RECORD:-4}"
	set -- "$work/ours.tmpfs" "$work/theirs.tmpfs"
	verdict "  CPU time of the daemon, ns per event, at 4 M/s" "$(least "$1" 1)" \
		"$(least "$2" 1)" "$(ratio "$(least "$1" 1)" "$(least "$2" 1)")" 0.5
	# (An event has 25 bytes: 4 of header, an int, 17 of text. The files are as many and as
	# large as those of the two streams.)
	g=$("$bin/plain_write" "$disk" $((16 << 20)) $((2 * file_count)) 4000 |
		awk '{ printf "%.2f", 25 * $1 }')
	row "  … to write as many bytes by pwrite(2), nothing else" "$g" "$g" ""
	row "  … events lost meanwhile" "$(least "$1" 4)" "$(least "$2" 4)" ""
	g=$(by_system_calls config)
	verdict "  set-up, ms: mkdir, config, start (lttng commands)" "$g" "$(least "$2" 2 1000)" \
		"$(ratio "$g" "$(least "$2" 2 1000)")" 0.1
	g=$(by_system_calls each)
	row "  … a file for each setting" "$g" "$(least "$2" 2 1000)" \
		"$(ratio "$g" "$(least "$2" 2 1000)")"
	row "  … from a shell, most of it to start mkdir(1)" "$(least "$1" 2 1000)" \
		"$(least "$2" 2 1000)" "$(ratio "$(least "$1" 2)" "$(least "$2" 2)")"
	verdict "  stop and rmdir, ms, from a shell (stop, destroy)" "$(least "$1" 3 1000)" \
		"$(least "$2" 3 1000)" \
		"$(ratio "$(least "$1" 3)" "$(least "$2" 3)")" 0.05
	note "onto disk"
	disk=$work/real
	mkdir "$disk"
	search record_trail 0 "${ours#* }"
	ours=$found
	[ -z "$lttng" ] || { search record_lttng 0 "${theirs#* }"; theirs=$found; }
	heading "the same onto $(stat -f -c %T "$disk"), ${SECONDS_EACH:-2} s"
	verdict "  highest rate without a loss, millions/s" "$(field "$ours" 1)" \
		"$(field "$theirs" 1)" \
		"$(ratio "$(field "$theirs" 1)" "$(field "$ours" 1)" | sed "s/^0.000\$/-/")" 1
	costs disk 4e6 4 2
	set -- "$work/ours.disk" "$work/theirs.disk"
	verdict "  CPU time of the daemon, ns per event, at 4 M/s" "$(least "$1" 1)" \
		"$(least "$2" 1)" "$(ratio "$(least "$1" 1)" "$(least "$2" 1)")" 1
	stop_lttng
	stop_trailfs
	umount -l "$work/disk" 2>/dev/null
	TRAIL_RUNTIME_DIR=$saved
}
