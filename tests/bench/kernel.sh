# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel domain, for tests/bench/run: beside a plain instance of tracefs, perf and trace-cmd,
# each with the same events and buffers of the same size. kernel_costs is what it costs the traced,
# kernel_recording what it costs who records.

T=/sys/kernel/tracing
plain_dir=$T/instances/bench$$
kernel_kb=8192
recorder='' tools=''

kernel_clean_up() {
	[ -z "$recorder" ] || { kill -INT "$recorder"; wait "$recorder"; } 2>/dev/null
	rmdir "$plain_dir" 2>/dev/null
}

kernel_there() {
	[ "$(id -u)" = 0 ] && grep -q '^kernel tracefs' "$mnt/version" &&
		[ -d $T/events/syscalls/sys_enter_getppid ]
}

backend=auto    # of the sessions
kernel_session() { # NAME LOSS_MODE RULE…
	k=$mnt/sessions/$1
	mkdir "$k" "$k/kernel/channels/channel0" &&
		echo $((kernel_kb / 8))k >"$k/kernel/channels/channel0/subbuf_size" &&
		echo 8 >"$k/kernel/channels/channel0/subbuf_count" &&
			echo "$2" >"$k/kernel/channels/channel0/loss_mode" &&
			echo $backend >"$k/kernel/channels/channel0/backend" || die "no session"
	shift 2
	printf '%s\n' "$@" >"$k/kernel/events" && echo start >"$k/control" ||
		die "no session: $(cat "$k/error")"
}

case_events() { # CASE: as SYSTEM:EVENT
	case $1 in
	calls) echo syscalls:sys_enter_getppid syscalls:sys_exit_getppid ;;
	switches) echo sched:sched_switch ;;
	esac
}

case_rules() {
	case $1 in
	calls) echo syscall:getppid ;;
	switches) echo sched:sched_switch ;;
	esac
}

# record_with TOOL CASE OUTPUT: in the background, on the other CPUs; returns when it records
record_with() {
	tool=$1 out=$3
	set -- $(case_events "$2" | tr ' ' '\n' | sed 's/^/-e /')
	case $tool in
	perf) set -- perf record -q -a -m ${kernel_kb}K "$@" -o "$out" ;;
	trace-cmd) set -- trace-cmd record -q -b $kernel_kb "$@" -o "$out" ;;
	esac
	"$bin/spent" "$work/spent" taskset -c "$others" "$@" >"$work/$tool.log" 2>&1 &
	recorder=$!
	i=0
	while [ $i -lt 100 ]; do
		i=$((i + 1))
		case $tool in
		# It says nothing when it begins.
		perf) [ -s "$out" ] && sleep 0.5 && return 0 ;;
		trace-cmd) [ "$(cat $T/tracing_on)" = 1 ] && grep -q . $T/set_event && return 0 ;;
		esac
		kill -0 "$recorder" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# The CPU time that it took, us, is in $work/spent.
stop_recording() {
	kill -INT "$recorder" && wait "$recorder"
	recorder=
}

# traced_by WHO CASE: a run of the case while it is recorded so
traced_by() {
	case $1 in
	none) "$bin/kernel_calls" "$2" ;;
	trailfs | bpf | bpf-rejected)
		case $1 in bpf*) backend=bpf ;; esac
		filter=
		case $1,$2 in
		*-rejected,calls) filter=' if $ctx.pid == 1' ;;
		*-rejected,*) filter=' if next_prio > 100000' ;;
		esac
		kernel_session traced overwrite "$(case_rules "$2")$filter"
		backend=auto
		"$bin/kernel_calls" "$2"
		rmdir "$k"
		;;
	tracefs | tracefs-rejected)
		mkdir "$plain_dir" && echo $kernel_kb >"$plain_dir/buffer_size_kb" ||
			die "no instance of tracefs"
		for e in $(case_events "$2"); do
			[ $1 = tracefs ] || echo "common_pid == 1" \
				>"$plain_dir/events/$(echo "$e" | tr : /)/filter"
			echo 1 >"$plain_dir/events/$(echo "$e" | tr : /)/enable"
		done
		"$bin/kernel_calls" "$2"
		rmdir "$plain_dir"
		;;
	*)
		record_with "$1" "$2" "$work/$1.data" ||
			die "$1 does not record: $(tail -n 2 "$work/$1.log")"
		"$bin/kernel_calls" "$2"
		stop_recording
		rm -f "$work/$1.data"*
		;;
	esac
}

# trace-cmd wants to write to what it does not need, and gives up where that is refused. In our own
# mount namespace that can be helped.
humour_trace_cmd() {
	[ -n "${BENCH_INNER-}" ] || return
	for f in /proc/sys/kernel/ftrace_enabled $T/set_ftrace_filter $T/set_ftrace_notrace \
		$T/set_ftrace_pid; do
		[ -e $f ] || continue
		cat $f >"$work/${f##*/}" 2>/dev/null
		mount --bind "$work/${f##*/}" $f
	done
}

try_tool() {
	record_with "$1" calls "$work/try" || return 1
	stop_recording
	[ -s "$work/try" ]
}

kernel_tools() {
	[ -z "$tools" ] || return 0
	others=$(taskset -cp $$ | sed 's/.*: //')
	[ "$(nproc)" -lt 2 ] || others=1-$(($(nproc) - 1))
	for tool in perf trace-cmd; do
		command -v $tool >/dev/null || continue
		[ $tool != trace-cmd ] || try_tool $tool || humour_trace_cmd
		if try_tool $tool; then
			tools="$tools $tool"
		else
			echo "  $tool is left out: $(tail -n 1 "$work/$tool.log")"
		fi
	done
	command -v perf >/dev/null && command -v trace-cmd >/dev/null ||
		echo "  (perf and trace-cmd are left out where they are not installed)"
}

cost() { # CASE WHO: the least, less that without a recording
	awk -v a="$(value "$work/kernel.$2" "$1" 2)" -v b="$(value "$work/kernel.none" "$1" 2)" \
		'BEGIN { printf "%.1f", a - b }'
}

kernel_costs() {
	heading "kernel: what an event costs the traced, ns, least of $rounds rounds, without readers of trailfs and tracefs"
	row "" trailfs theirs ratio
	start_trailfs
	kernel_there ||
		{ echo "  left out: the kernel cannot be traced here"; stop_trailfs; return; }
	kernel_tools
	programs=
	! grep -q '^kernel tracefs and bpf' "$mnt/version" ||
		programs="bpf bpf-rejected tracefs-rejected"
	r=0
	while [ $r -lt "$rounds" ]; do
		r=$((r + 1))
		note "kernel, round $r of $rounds"
		for c in calls switches; do
			for who in none trailfs tracefs $programs $tools; do
				traced_by $who $c >>"$work/kernel.$who.all" ||
					die "kernel_calls failed"
			done
		done
	done
	for who in none trailfs tracefs $programs $tools; do
		combine "$work/kernel.$who.all" >"$work/kernel.$who"
	done
	for c in calls switches; do
		what="getppid, entry and exit (2 events)"
		[ $c = calls ] || what="sched_switch (1 event), pipe between 2 processes"
		row "  ($what, not traced)" "" "$(pair "$work/kernel.none" $c)" ""
		for who in tracefs $tools; do
			row "  $what, $who" "$(cost $c trailfs)" "$(cost $c $who)" \
				"$(ratio "$(cost $c trailfs)" "$(cost $c $who)")"
		done
		for who in ${programs:+tracefs $tools}; do
			row "  … by BPF programs, $who" "$(cost $c bpf)" "$(cost $c $who)" \
				"$(ratio "$(cost $c bpf)" "$(cost $c $who)")"
		done
		[ -z "$programs" ] ||
			row "  … rejected by a filter, tracefs" "$(cost $c bpf-rejected)" \
				"$(cost $c tracefs-rejected)" \
				"$(ratio "$(cost $c bpf-rejected)" "$(cost $c tracefs-rejected)")"
		[ -z "$programs" ] ||
			row "  … rejected by a filter, tracefs records" "$(cost $c bpf-rejected)" \
				"$(cost $c tracefs)" \
				"$(ratio "$(cost $c bpf-rejected)" "$(cost $c tracefs)")"
	done
	stop_trailfs
}

per_second() { # US FROM_MS TO_MS
	awk -v us="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%.0f\n", us * 1000 / (b - a) }'
}

# run_us PID: the CPU time of a process with one thread until now
run_us() {
	awk '{ printf "%.0f", $1 / 1000 }' "/proc/$1/schedstat"
}

# per_sample US: of the samples whose text is in $work/out, which begin with a time or a program
per_sample() {
	awk -v us="$1" '/^[^ \t]/ { n++ } END { printf "%.0f\n", n ? us * 1000 / n : 0 }' "$work/out"
}

# sampled_by WHO: adds the time of a piece of work to $work/sampled.WHO, the CPU time of the process
# that takes the samples, us per second, to $work/sampler.WHO, and the CPU time of taking and
# printing a sample with its stacks, ns, to $work/printed.WHO
sampled_by() {
	case $1 in
	none) "$bin/kernel_calls" work >>"$work/sampled.none" ;;
	trailfs)
		kernel_session sampled overwrite "sample:cpu ${hz}hz"
		sleep 2         # as below: it reads the tables of all programs that run
		before=$(cpu_us) a=$(now_ms)
		"$bin/kernel_calls" work >>"$work/sampled.trailfs"
		echo stop >"$k/control"
		after=$(cpu_us) b=$(now_ms)
		per_second $((after - before)) "$a" "$b" >>"$work/sampler.trailfs"
		"$bin/spent" "$work/spent" cat "$k/text" | grep trail:sample >"$work/out"
		per_sample $(($(cpu_us) - before + $(cat "$work/spent"))) >>"$work/printed.trailfs"
		rmdir "$k"
		;;
	perf*)
		graph=fp
		[ $1 = perf ] || graph=dwarf
		"$bin/spent" "$work/spent" taskset -c "$others" perf record -q -a -F $hz -e cpu-clock \
			--call-graph $graph -o "$work/data" >"$work/perf.log" 2>&1 &
		recorder=$!
		sleep 2
		sampler=$(cat "/proc/$recorder/task/$recorder/children")
		before=$(run_us $sampler) a=$(now_ms)
		"$bin/kernel_calls" work >>"$work/sampled.$1"
		after=$(run_us $sampler) b=$(now_ms)
		stop_recording
		per_second $((after - before)) "$a" "$b" >>"$work/sampler.$1"
		"$bin/spent" "$work/spent" perf script --no-inline -i "$work/data" \
			>"$work/out" 2>/dev/null
		per_sample $((after - before + $(cat "$work/spent"))) >>"$work/printed.$1"
		rm -f "$work/data"
		;;
	esac
}

kernel_sampling() {
	hz=${HZ:-999}
	heading "kernel: samples of all CPUs with stacks of kernel and user, $hz Hz, least of $rounds rounds"
	row "" trailfs theirs ratio
	start_trailfs
	kernel_there && command -v perf >/dev/null ||
		{ echo "  left out: it needs perf, and the kernel must be traced"; stop_trailfs; return; }
	kernel_tools
	r=0
	while [ $r -lt "$rounds" ]; do
		r=$((r + 1))
		note "kernel, sampling, round $r of $rounds"
		for who in none trailfs perf perf-dwarf; do
			sampled_by $who
		done
	done
	for who in none trailfs perf perf-dwarf; do
		combine "$work/sampled.$who" >"$work/kernel.$who"
	done
	row "  (work without samples, ns)" "" "$(pair "$work/kernel.none" work)" ""
	for who in perf perf-dwarf; do
		row "  added to that, $who" "$(cost work trailfs)" "$(cost work $who)" \
			"$(ratio "$(cost work trailfs)" "$(cost work $who)")"
		ours=$(sort -n "$work/sampler.trailfs" | head -n 1)
		theirs=$(sort -n "$work/sampler.$who" | head -n 1)
		row "  who takes them, us per s, $who" "$ours" "$theirs" "$(ratio "$ours" "$theirs")"
		ours=$(sort -n "$work/printed.trailfs" | head -n 1)
		theirs=$(sort -n "$work/printed.$who" | head -n 1)
		row "  … and prints them, ns per sample, $who" "$ours" "$theirs" \
			"$(ratio "$ours" "$theirs")"
	done
	stop_trailfs
}

# Of the daemon.
cpu_us() {
	awk '$1 == "cpu_us" { print $2 }' "$mnt/status"
}

# trailfs_records HOW: adds a line `US EVENTS` to $work/ours.HOW, the CPU time of the daemon and of
# who copies. HOW is ctf (streams into files) or text (pipe). Leaves the session.
trailfs_records() {
	kernel_session recorded discard syscall:getppid
	# A stream is there once it has an event.
	"$bin/kernel_calls" calls 10
	before=$(cpu_us)
	copiers=
	how=$1
	if [ "$how" = text ]; then
		set -- "$k/pipe"
	else
		set -- "$k"/kernel/channels/channel0/streams/cpu*
	fi
	for from in "$@"; do
		"$bin/spent" "$work/spent.${from##*/}" taskset -c "$others" cat "$from" \
			>"$work/out.${from##*/}" &
		copiers="$copiers $!"
	done
	"$bin/kernel_calls" calls "$calls"
	echo stop >"$k/control"
	for copier in $copiers; do
		wait "$copier" || die "a copy failed"
	done
	after=$(cpu_us)
	n=$(awk '$1 == "events_recorded" { print $2 }' "$k/status")
	echo $((after - before + $(cat "$work"/spent.* | awk '{ n += $1 } END { print n }'))) "$n" \
		>>"$work/ours.$how"
	rm -f "$work"/spent.* "$work"/out.*
}

# tool_records TOOL: the same for another one, to $work/TOOL.ctf and, recording and text together,
# $work/TOOL.text
tool_records() {
	rm -f "$work/data"*
	record_with "$1" calls "$work/data" || die "$1 does not record: $(tail -n 2 "$work/$1.log")"
	"$bin/kernel_calls" calls "$calls"
	stop_recording
	us=$(cat "$work/spent")
	a=$(now_ms)
	case $1 in
	perf) "$bin/spent" "$work/spent" perf script -i "$work/data" ;;
	trace-cmd) "$bin/spent" "$work/spent" trace-cmd report -i "$work/data" ;;
	esac >"$work/out" 2>/dev/null
	b=$(now_ms)
	n=$(grep -c getppid "$work/out")
	echo "$us" "$n" >>"$work/$1.ctf"
	echo $((us + $(cat "$work/spent"))) "$n" >>"$work/$1.text"
	rate "$n" "$a" "$b" >>"$work/$1.rate"
	echo >>"$work/$1.rate"
	rm -f "$work/data"* "$work/out"
}

# What a recording costs the daemon that no process looks at
kernel_unread() {
	kernel_session unread overwrite syscall:getppid
	sleep 1
	before=$(awk '{ print $14 + $15 }' "/proc/$daemon/stat") woken=$(switches "$daemon")
	"$bin/kernel_calls" calls 1000000
	after=$(awk '{ print $14 + $15 }' "/proc/$daemon/stat") woke=$(switches "$daemon")
	row "  2 million events that no process reads, ticks" $((after - before)) "" ""
	row "  wake-ups meanwhile" $((woke - woken)) "" ""
	rmdir "$k"
}

# The same pairs of one trace by `stats` and by lttng-analyses, which wants to know who runs where.
# It needs a minute for a million events.
kernel_analyses() {
	command -v lttng-syscallstats >/dev/null ||
		{ echo "  (lttng-analyses is left out where it is not installed)"; return; }
	kernel_session analysed discard syscall:getppid sched:sched_switch
	"$bin/kernel_calls" calls "$calls"
	echo stop >"$k/control"
	n=$(awk '$1 == "events_recorded" { print $2 }' "$k/status")
	a=$(now_ms)
	cat "$k/stats" >/dev/null
	b=$(now_ms)
	ours=$(rate "$n" "$a" "$b")
	cp -r "$k/trace" "$work/copy"
	rmdir "$k"
	a=$(now_ms)
	lttng-syscallstats --no-progress "$work/copy" >"$work/out" 2>&1
	b=$(now_ms)
	theirs=$(rate "$n" "$a" "$b")
	if grep -q getppid "$work/out"; then
		row "  stats; lttng-syscallstats, events/s" "$ours" \
			"$theirs" "$(ratio "$theirs" "$ours")"
	else
		echo "  lttng-analyses is left out: $(tail -n 1 "$work/out")"
	fi
	rm -rf "$work/copy" "$work/out"
}

per_million() { # FILE: CPU ms per million events, the least of all rounds
	[ -s "$1" ] && awk '$2 { t = $1 / 1e3 / ($2 / 1e6); if (!n++ || t < least) least = t } END { if (n) printf "%.1f", least }' "$1"
}

best() { # FILE: the largest number
	sort -n "$1" | tail -n 1
}

kernel_recording() {
	heading "kernel: CPU time of who records, ms per million events (getppid, entry and exit; daemon and readers), least of $rounds"
	row "" trailfs theirs ratio
	start_trailfs
	kernel_there ||
		{ echo "  left out: the kernel cannot be traced here"; stop_trailfs; return; }
	kernel_tools
	calls=${CALLS:-300000}
	kernel_kb=65536
	r=0
	while [ $r -lt "$rounds" ]; do
		r=$((r + 1))
		note "kernel, recording, round $r of $rounds"
		trailfs_records ctf
		rmdir "$k"
		trailfs_records text
		a=$(now_ms)
		cat "$k/text" >/dev/null
		b=$(now_ms)
		rate "$n" "$a" "$b" >>"$work/ours.rate"
		echo >>"$work/ours.rate"
		for form in json csv perfetto; do
			a=$(now_ms)
			cat "$k/export/$form" >/dev/null
			b=$(now_ms)
			rate "$n" "$a" "$b" >>"$work/$form.rate"
			echo >>"$work/$form.rate"
		done
		a=$(now_ms)
		cat "$k/stats" >/dev/null
		b=$(now_ms)
		rate "$n" "$a" "$b" >>"$work/stats.rate"
		echo >>"$work/stats.rate"
		rmdir "$k"
		for tool in $tools; do
			tool_records $tool
		done
	done
	for tool in $tools; do
		for how in ctf text; do
			what="into a file"
			[ $how = ctf ] || what="recorded and as text"
			row "  $what, $tool" "$(per_million "$work/ours.$how")" \
				"$(per_million "$work/$tool.$how")" \
				"$(ratio "$(per_million "$work/ours.$how")" "$(per_million \
					"$work/$tool.$how")")"
		done
		row "  a readable file, $tool (record and report)" \
			"$(per_million "$work/ours.ctf")" "$(per_million "$work/$tool.text")" \
			"$(ratio "$(per_million "$work/ours.ctf")" "$(per_million \
				"$work/$tool.text")")"
		row "  text, events per second, $tool" "$(best "$work/ours.rate")" \
			"$(best "$work/$tool.rate")" \
			"$(ratio "$(best "$work/$tool.rate")" "$(best "$work/ours.rate")")"
		for form in json csv perfetto; do
			row "  export/$form, events per second, $tool" "$(best "$work/$form.rate")" \
				"$(best "$work/$tool.rate")" \
				"$(ratio "$(best "$work/$tool.rate")" "$(best "$work/$form.rate")")"
		done
		row "  stats; text of $tool, events/s" \
			"$(best "$work/stats.rate")" "$(best "$work/$tool.rate")" \
			"$(ratio "$(best "$work/$tool.rate")" "$(best "$work/stats.rate")")"
	done
	kernel_analyses
	kernel_unread
	stop_trailfs
}
