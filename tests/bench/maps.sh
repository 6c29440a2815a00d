# SPDX-License-Identifier: GPL-2.0-or-later
#
# Maps, a part of run (map_events.c): what a hit costs the program while a map counts it and adds a
# number by a key, beside bpftrace, which does the same in the kernel, on the same USDT probe and
# the same tracepoint; and the CPU time of the daemon. MAP_HITS (300000): of each run.

map_case() { # CASE: of map_events
	case $1 in
	event | trail | count) echo trail ;;
	usdt*) echo usdt ;;
	call*) echo call ;;
	esac
}

# map_session CASE: a session that aggregates, or records (event), what the case hits
map_session() {
	local s=$mnt/sessions/maps map
	mkdir "$s" || die "no session"
	case $1 in
	event) echo 'bench:hit' >"$s/user/events" ;;
	count) map=user rule='bench:hit by $event' ;;
	trail) map=user rule='bench:hit by key count, sum(number)' ;;
	usdt) map=kernel rule="usdt:$bin/map_events:bench:hit by arg0 count, sum(arg1)" ;;
	call) map=kernel rule='syscall:entry:getppid by $ctx.pid count' ;;
	esac
	[ -z "${map-}" ] || { mkdir "$s/$map/maps/m" && echo "$rule" >"$s/$map/maps/m/rules"; } ||
		die "no map: $(cat "$s/error")"
	echo start >"$s/control" || die "not started: $(cat "$s/error")"
}

# Adds a line to $work/map.CASE.all, and `NS-OF-THE-DAEMON LOST` of each event to $work/map.CASE.cpu.
map_ours() { # CASE
	local before after s=$mnt/sessions/maps
	map_session "$1"
	before=$(cpu_us)
	"$bin/map_events" "$(map_case "$1")" "$map_hits" >>"$work/map.$1.all" ||
		die "map_events failed"
	cat "$s"/*/maps/m/values >"$work/values" 2>/dev/null
	after=$(cpu_us)
	awk -v us=$((after - before)) -v n="$map_hits" '$1 == "lost" { lost += $2 }
		END { printf "%.1f %d\n", us * 1e3 / n, lost }' "$work/values" >>"$work/map.$1.cpu"
	if [ "$1" = event ]; then
		grep -q '^events_recorded [1-9]' "$s/status" || die "nothing is recorded"
	elif [ "$1" = count ]; then
		# Each is counted: those of the runs, and of the one before them.
		[ "$(awk '$1 == "events" { print $2; exit }' "$work/values")" = $((map_hits + 1000)) ] ||
			die "not all are counted: $(cat "$work/values")"
	else
		grep -Eq '^ +[1-9]' "$work/values" || die "no values of $1"
	fi
	rmdir "$s"
}

map_theirs() { # CASE
	local probe
	case $1 in
	usdt) probe="usdt:$bin/map_events:bench:hit { @n[arg0] = count(); @s[arg0] = sum(arg1); }" ;;
	call) probe='tracepoint:syscalls:sys_enter_getppid { @n[pid] = count(); }' ;;
	esac
	timeout -k 5 120 bpftrace -o "$work/bpftrace.out" -c "$bin/map_events $1 $map_hits" \
		-e "$probe" 2>"$work/bpftrace.log" | grep "^$1 " >>"$work/map.bpftrace_$1.all" || return
	# What it printed shows that it aggregated.
	grep -q '^@n\[' "$work/bpftrace.out"
}

# map_row WHAT CASE THEIRS: of medians, less that of the same place without a tracer
map_row() {
	local ours theirs
	ours=$(map_cost "$2") theirs=$([ -z "$3" ] || map_cost "$3")
	row "  $1" "$ours" "${theirs:--}" "$(ratio "$ours" "$theirs")"
}

map_cost() { # CASE
	[ -s "$work/map.$1" ] || return
	awk -v a="$(value "$work/map.$1" "$(map_case "${1#bpftrace_}")" 3)" \
		-v b="$(value "$work/map.none_$(map_case "${1#bpftrace_}")" \
			"$(map_case "${1#bpftrace_}")" 3)" 'BEGIN { printf "%.1f", a - b }'
}

maps() {
	local map_hits=${MAP_HITS:-300000} r=0 c cases='event count trail' theirs=''
	note "maps"
	heading "maps: what a hit costs the program, ns, median (theirs is bpftrace)"
	start_trailfs
	[ "$(id -u)" = 0 ] && grep -q '^kernel tracefs' "$mnt/version" && cases="$cases usdt call"
	[ "$(id -u)" = 0 ] && command -v bpftrace >/dev/null && theirs='usdt call'
	while [ $r -lt "$rounds" ]; do
		r=$((r + 1))
		note "maps, round $r of $rounds"
		for c in trail usdt call; do
			"$bin/map_events" $c "$map_hits" >>"$work/map.none_$c.all" ||
				die "map_events failed"
		done
		for c in $cases; do map_ours $c; done
		for c in $theirs; do
			map_theirs $c || theirs=$(echo "$theirs" | sed "s/$c//")
		done
	done
	for c in "$work"/map.*.all; do combine "$c" >"${c%.all}"; done
	map_row "an event that is recorded" event ''
	map_row "a map that only counts, user domain" count bpftrace_usdt
	map_row "a map, user domain" trail bpftrace_usdt
	map_row "a map of a USDT probe, kernel domain" usdt bpftrace_usdt
	map_row "a map of a system call, kernel domain" call bpftrace_call
	row "  a counted hit / an event" "$(ratio "$(map_cost count)" "$(map_cost event)")" "" ""
	row "  a map / an event" "$(ratio "$(map_cost trail)" "$(map_cost event)")" "" ""
	for c in $cases; do
		row "  CPU of the daemon, ns of each event, $c" \
			"$(sort -n "$work/map.$c.cpu" | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }')" \
			"" ""
		row "  lost, of $((map_hits * rounds)), $c" \
			"$(awk '{ n += $2 } END { print n }' "$work/map.$c.cpu")" "" ""
	done
	stop_trailfs
}
