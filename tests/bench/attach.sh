# SPDX-License-Identifier: GPL-2.0-or-later
#
# What attaching costs and loses, a part of run: programs of 1, 4 and 64 threads with 1, 1000 and
# 5000 tracepoints, all of them wanted, each thread hits 100 of them as the first it does. The
# session was active before, was started while the program ran, the threads run in a forked child,
# or the tracepoints come with dlopen(3):
#
#	dlopen	the plug-in brings the tracer's library with it: a tracer attaches in dlopen(3)
#	plugin	the host has recorded an event before: either tracer has attached it
#	load	the host is linked with the tracer's library; the time counts from the start of the
#		program, with what a tracer does there already
#	linked	(only by ATTACH_MODES) as load, but from the dlopen(3): LTTng has attached before,
#		and trailfs has not, as nothing was to be traced
#
# LOST is exact: the hits that are not in the trace.
# The time is that of ROUNDS_ATTACH (7) runs in turns, min / median, less that of the same program
# without tracepoints: until the last thread has done its hits, from execve(2), fork(2) or
# dlopen(3). For a program that ran before, it begins with the command that starts the session, and
# the time of the command without any program is taken off. ATTACH_EVENTS, ATTACH_THREADS,
# ATTACH_MODES: only these. ATTACH_WANTED: which tracepoints the rule takes ('e*'; 'e7': one of
# them).

attach_dir=$BUILD/tests/bench/attach

attach_sources() { # EVENTS
	mkdir -p "$attach_dir/$1" &&
		awk -v n="$1" 'BEGIN { printf "#define EACH(F)"; for (i = 0; i < n; i++) printf " F(e%d)", i; print "" }' >"$attach_dir/$1/each.h" &&
		awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
			printf "LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(attach, many, attach, e%d, LTTNG_UST_TP_ARGS(int, i))\n", i }' \
			>"$attach_dir/$1/instances.h"
}

# One tracer's programs: with the tracepoints, for the dlopen, and the library that it loads
attach_link() { # EVENTS trail|lttng|plain COMPILER_FLAGS LIBRARIES…
	local d=$attach_dir/$1 who=$2 flags=$3 cc=${CC:-cc}
	shift 3
	$cc -O1 -fPIC -I"$d" -Itests/bench/attach -Iustlib $flags -c -o "$d/$who.o" tests/bench/attach/hits.c &&
		$cc -O1 -I. -Iustlib $flags -c -o "$d/own.o" tests/bench/attach/own.c &&
		$cc -O2 -o "$d/$who.own" tests/bench/attach/program.c "$d/own.o" "$@" -ldl -lpthread &&
		$cc -O2 -o "$d/$who.new" tests/bench/attach/program.c "$d/$who.o" "$@" -ldl -lpthread &&
		$cc -O2 -o "$d/$who.host" tests/bench/attach/program.c -Wl,--no-as-needed "$@" -ldl -lpthread &&
		$cc -shared -o "$d/$who.so" "$d/$who.o" "$@" && mv "$d/$who.new" "$d/$who"
}

attach_build() { # EVENTS
	local d=$attach_dir/$1 who
	[ -x "$d/plain" ] && [ "$d/plain" -nt tests/bench/attach/program.c ] && [ "$d/plain" -nt tests/bench/attach/hits.c ] && [ "$d/plain" -nt tests/bench/attach/own.c ] &&
		[ "$d/plain" -nt ustlib/trail/trail.h ] && { [ -z "$lttng" ] || [ -x "$d/lttng" ]; } && return
	note "programs with $1 tracepoints are compiled; this takes a while"
	attach_sources "$1" && attach_link "$1" trail -DTRAIL_HITS -L"$BUILD" -Wl,-rpath,"$BUILD" -ltrail || die "cannot compile"
	[ -z "$lttng" ] || attach_link "$1" lttng -DLTTNG_HITS -llttng-ust || die "cannot compile for LTTng"
	attach_link "$1" plain '' || die "cannot compile"
}

attach_trail_start() {
	local s=$mnt/sessions/attach
	mkdir "$s" && mkdir "$s/user/channels/channel0" && echo 128K >"$s/user/channels/channel0/subbuf_size" &&
		echo 8 >"$s/user/channels/channel0/subbuf_count" && printf 'attach:%s\n%s\n' "$wanted" "$host_event" >"$s/user/events" || die "no session: $(cat "$mnt/error")"
}

attach_lttng_start() {
	rm -rf "$work/lttng.trace"
	control_lttng create attach --output="$work/lttng.trace" &&
		control_lttng enable-channel -u -s attach --discard --subbuf-size=128K --num-subbuf=8 ch &&
		control_lttng enable-event -u -s attach -c ch "attach:$wanted,$host_event" || die "no LTTng session: $(tail -n 3 "$work/sessiond.log")"
}

attach_start() { # trail|lttng
	if [ "$1" = trail ]; then
		echo start >"$mnt/sessions/attach/control" || die "start"
	else
		control_lttng start attach || die "lttng start"
	fi
}

# Ends the session, leaves in $got how many events it has.
attach_end() { # trail|lttng
	if [ "$1" = trail ]; then
		echo stop >"$mnt/sessions/attach/control"
		got=$(grep -c attach: "$mnt/sessions/attach/text")
		rmdir "$mnt/sessions/attach"
	else
		control_lttng stop attach
		control_lttng destroy attach
		got=$(babeltrace2 "$work/lttng.trace" 2>/dev/null | grep -c attach:)
	fi
}

# A program that runs already. Leaves the time in $took.
attach_running() { # EVENTS WHO THREADS
	local ready a b
	coproc waiting { "$attach_dir/$1/$2" running "$3" 0; }
	local pid=$waiting_PID in=${waiting[1]} out=${waiting[0]}
	read -r ready <&"$out"
	sleep 0.3
	stamp; a=$us
	[ "$2" = plain ] || attach_start "$2"
	stamp; b=$us
	echo >&"$in"
	read -r took <&"$out"
	took=$(awk -v t="$took" -v d=$((b - a)) 'BEGIN { print t + d }')
	wait "$pid" 2>/dev/null
}

attach_plugin() { # HOST MODE THREADS LIBRARY
	took=$("$d/plain" exec "$d/$1" "${@:2}") || die "$2 failed"
}

attach_once() { # EVENTS WHO MODE THREADS
	local d=$attach_dir/$1 preload=
	case $3 in
	running) attach_running "$1" "$2" "$4" ;;
	dlopen) attach_plugin plain.host dlopen "$4" "$d/$2.so" ;;
	plugin) attach_plugin "$2.own" dlopen "$4" "$d/$2.so" ;;
	linked) attach_plugin "$2.host" dlopen "$4" "$d/$2.so" ;;
	load) attach_plugin "$2.host" load "$4" "$d/$2.so" ;;
	*)	[ "$3$2" != forklttng ] || preload=liblttng-ust-fork.so
		took=$(LD_PRELOAD=$preload "$attach_dir/$1/plain" exec "$d/$2" "$3" "$4") || die "$2 $3 failed" ;;
	esac
}

# A tracer's turn: appends the time to FILE, and to FILE.got how many events were recorded.
attach_turn() { # FILE EVENTS WHO MODE THREADS
	local got=0 a b
	if [ "$3" = plain ]; then
		attach_once "${@:2}"
	else
		"attach_$3_start"
		[ "$4" = running ] || attach_start "$3"
		attach_once "${@:2}"
		attach_end "$3"
	fi
	echo "$took" >>"$1"
	echo "$got" >>"$1.got"
}

# What starting the session costs without a program, in us
attach_command() { # WHO
	local i a b
	for ((i = 0; i < ${ROUNDS_ATTACH:-7}; i++)); do
		"attach_$1_start"
		stamp; a=$us
		attach_start "$1"
		stamp; b=$us
		echo $((b - a))
		attach_end "$1"
	done | attach_median
}

attach_median() {
	sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

# The least and the median of a tracer's times, less those of the program without tracepoints and of
# the command
attach_added() { # FILE PLAIN_FILE COMMAND_US
	{ sort -n "$2"; echo; sort -n "$1"; } | awk -v c="$3" '
		function added(a, b) { a = (a - b - c) / 1e3; return a > 0.005 ? a : 0.01 }
		!NF { plain = NR - 1; next }
		plain { t[++m] = $1; next }
		{ p[++n] = $1 }
		END { printf "%.2f %.2f", added(t[1], p[1]), added(t[int((m + 1) / 2)], p[int((n + 1) / 2)]) }'
}

# Of the hits that the rule wants
attach_lost() { # FILE EVENTS THREADS
	awk -v n="$2" -v t="$3" -v w="$wanted" 'BEGIN { h = 100 * t; if (w != "e*") { i = substr(w, 2); h = int((h + n - 1 - i) / n) } }
		{ lost += h - $1; all += h } END { printf "%d of %d", lost, all }' "$1"
}

attach_row() { # EVENTS MODE THREADS COMMAND_US(trail) COMMAND_US(lttng)
	local f=$work/attach i who ours theirs
	rm -f "$f".*
	for ((i = 0; i < ${ROUNDS_ATTACH:-7}; i++)); do
		for who in plain trail ${lttng:+lttng}; do
			attach_turn "$f.$who" "$1" "$who" "$2" "$3"
		done
	done
	ours=$(attach_added "$f.trail" "$f.plain" "$4")
	theirs=
	[ -z "$lttng" ] || theirs=$(attach_added "$f.lttng" "$f.plain" "$5")
	row "  $2, $3 thread(s), $1 tracepoint(s)" "${ours/ / / }" "${theirs/ / / }" "$(ratio "${ours#* }" "${theirs#* }")"
	row "    … events lost" "$(attach_lost "$f.trail.got" "$1" "$3")" "${lttng:+$(attach_lost "$f.lttng.got" "$1" "$3")}" ""
}

attach() {
	local mode events threads ours theirs wanted=${ATTACH_WANTED:-e*} host_event=bench:one
	note "attaching"
	for events in ${ATTACH_EVENTS:-1 1000 5000}; do
		attach_build "$events"
	done
	start_trailfs
	[ -z "$lttng" ] || start_lttng
	heading "attaching: time added at start, ms, min / median of ${ROUNDS_ATTACH:-7}; events lost of all (each thread hits 100 tracepoints at once; wanted: $wanted)"
	for mode in ${ATTACH_MODES:-before running fork dlopen plugin load}; do
		ours=0 theirs=0
		[ "$mode" != running ] || { ours=$(attach_command trail); [ -z "$lttng" ] || theirs=$(attach_command lttng); }
		for events in ${ATTACH_EVENTS:-1 1000 5000}; do
			for threads in ${ATTACH_THREADS:-1 4 64}; do
				attach_row "$events" "$mode" "$threads" "$ours" "$theirs"
			done
		done
	done
	stop_lttng
	stop_trailfs
}
