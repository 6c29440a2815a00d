#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/bench/vm/guest.sh TRAIL LOOP, in a guest whose time is the number of its instructions
# (VM_ICOUNT): prints lines `WHO HOW CASE INSTRUCTIONS`, those of one call while WHO records it
# (nobody: without a tracer), with the modules in TRAIL (tests/vm/modules) and LOOP (modules). HOW:
# plain; filter, which rejects; contexts, pid tid procname. A line is missing where WHO cannot do
# that.
trail=$1 loop=$2
T=/sys/kernel/tracing
work=/run/bench
mnt=$work/mnt
TRAIL_RUNTIME_DIR=$work/state LTTNG_HOME=$work/lttng
export TRAIL_RUNTIME_DIR LTTNG_HOME
mkdir -p $mnt $LTTNG_HOME
. "${0%/*}/../../lib/lttng_modules.sh"
session=$mnt/sessions/bench

events='power:cpu_frequency module:module_get syscalls:sys_enter_getppid syscalls:sys_exit_getppid'

measure() { # WHO HOW
	for c in cpu_frequency module_get; do
		echo $c >/sys/module/loop/parameters/run
		echo "$1 $2 $(cat /sys/module/loop/parameters/run)"
	done
	echo "$1 $2 $("$BUILD/tests/bench/kernel_calls" ticks | awk '{ print "getppid", $3 }')"
}

one_cpu_frequency() {
	echo cpu_frequency >/sys/module/loop/parameters/run
	sed 's/.* \([0-9]*\)\..*/\1/' /sys/module/loop/parameters/run
}

say() {
	echo "$*" >&2
}

# ---- trail.ko, or BPF programs ----

begin_trailfs() { # HOW [BACKEND]
	mkdir $session $session/kernel/channels/channel0 &&
		echo ${2-auto} >$session/kernel/channels/channel0/backend || return
	echo 1M >$session/kernel/channels/channel0/subbuf_size
	echo 8 >$session/kernel/channels/channel0/subbuf_count
	echo overwrite >$session/kernel/channels/channel0/loss_mode
	case $1 in
	filter) printf '%s\n' 'power:cpu_frequency if cpu_id == 7' \
		'module:module_get if name == "no*"' 'syscall:getppid if $ctx.tid == 1' ;;
	*) printf '%s\n' power:cpu_frequency module:module_get syscall:getppid ;;
	esac >$session/kernel/events || return
	[ "$1" != contexts ] || echo 'pid tid procname' >$session/kernel/contexts || return
	echo start >$session/control
}

end_trailfs() {
	if [ -e $session ]; then
		[ "$1" = filter ] || grep -q '^events_recorded [1-9]' $session/status ||
			say "trailfs recorded nothing"
		cat $session/error >&2
		rmdir $session
	fi
}

begin_bpf() {
	begin_trailfs $1 bpf
}

end_bpf() {
	end_trailfs $1
}

# ---- LTTng-modules ----

start_lttng() {
	command -v lttng-sessiond >/dev/null || { echo "there is no lttng-sessiond" >&2; return 1; }
	install_lttng_modules "$loop" &&
		lttng-sessiond --background --quiet --kmod-probes=power,module
}

lttng_q() {
	lttng -n -q "$@" >/dev/null 2>>$work/sessiond.log
}

begin_lttng() {
	lttng_q create bench --snapshot &&
		lttng_q enable-channel -k -s bench --overwrite --subbuf-size=1M --num-subbuf=8 ch ||
		return
	if [ "$1" = filter ]; then
		lttng_q enable-event -k -s bench -c ch power_cpu_frequency --filter 'cpu_id == 7' &&
			lttng_q enable-event -k -s bench -c ch module_get --filter \
				'name == "no*"' &&
			lttng_q enable-event -k -s bench -c ch --syscall getppid --filter \
				'$ctx.tid == 1'
	else
		lttng_q enable-event -k -s bench -c ch power_cpu_frequency,module_get &&
			lttng_q enable-event -k -s bench -c ch --syscall getppid
	fi || return
	[ "$1" != contexts ] || lttng_q add-context -k -s bench -c ch -t pid -t tid -t procname ||
		return
	lttng_q start bench
}

end_lttng() {
	lttng_q destroy bench
}

# ---- an instance of tracefs ----

begin_ftrace() {
	i=$T/instances/bench
	[ "$1" != contexts ] && mkdir $i && echo mono >$i/trace_clock &&
		echo 8192 >$i/buffer_size_kb || return
	if [ "$1" = filter ]; then
		echo 'cpu_id == 7' >$i/events/power/cpu_frequency/filter &&
			echo 'name == "no"' >$i/events/module/module_get/filter &&
			echo 'common_pid == 1' >$i/events/syscalls/sys_enter_getppid/filter &&
			echo 'common_pid == 1' >$i/events/syscalls/sys_exit_getppid/filter || return
	fi
	for e in $events; do
		echo 1 >"$i/events/$(echo $e | tr : /)/enable" || return
	done
}

end_ftrace() {
	[ ! -d $T/instances/bench ] || rmdir $T/instances/bench
}

# ---- perf ----

begin_perf() {
	perf=
	[ "$1" = plain ] && command -v perf >/dev/null || return
	perf record -q -a -m 8M $(printf -- '-e %s ' $events) -o $work/perf.data >$work/perf.log \
		2>&1 &
	perf=$!
	# Time flies while the guest waits for its disk, and perf does not say when it begins: until
	# a call costs something.
	until [ "$(one_cpu_frequency)" -gt 100 ]; do
		kill -0 $perf && sleep 1 || return
	done
}

end_perf() {
	[ -z "$perf" ] || { kill -INT $perf; wait $perf; } 2>/dev/null
	rm -f $work/perf.data
}

# ---- bpftrace, which prints each event ----

# bpftrace_program HOW: cpu_frequency comes last, as the probes are attached in this order
bpftrace_program() {
	context_format='' contexts='' string='' call='' frequency=''
	case $1 in
	filter)
		string='/str(args->name) == "no"/' call='/tid == 1/' frequency='/args->cpu_id == 7/'
		;;
	contexts) context_format=' %d %d %s' contexts=', pid, tid, comm' ;;
	esac
	cat <<-END
		tracepoint:module:module_get $string
			{ printf("%d %s$context_format\n", args->refcnt, str(args->name)$contexts); }
		tracepoint:syscalls:sys_enter_getppid $call
			{ printf("getppid$context_format\n"$contexts); }
		tracepoint:syscalls:sys_exit_getppid $call
			{ printf("%d$context_format\n", args->ret$contexts); }
		tracepoint:power:cpu_frequency $frequency
			{ printf("%d %d$context_format\n", args->state, args->cpu_id$contexts); }
	END
}

begin_bpftrace() {
	bpftrace=
	command -v bpftrace >/dev/null || return
	bpftrace_program "$1" >$work/program.bt
	BPFTRACE_PERF_RB_PAGES=2048 bpftrace -o $work/bpftrace.out $work/program.bt \
		>$work/bpftrace.log 2>&1 &
	bpftrace=$!
	until [ "$(one_cpu_frequency)" -gt $((untraced + 30)) ]; do
		kill -0 $bpftrace && sleep 1 ||
			{ say "bpftrace: $(tail -n 1 $work/bpftrace.log)"; return 1; }
	done
}

end_bpftrace() {
	[ -z "$bpftrace" ] || { kill -INT $bpftrace; wait $bpftrace; } 2>/dev/null
	rm -f $work/bpftrace.out
}

# ---- all ----

run() { # WHO…
	for who in "$@"; do
		for how in plain filter contexts; do
			if begin_$who $how; then
				measure $who $how
			fi
			end_$who $how
		done
	done
}

busybox insmod "$loop/loop/loop.ko" || exit
measure none plain
untraced=$(one_cpu_frequency)
busybox insmod "$trail/trail.ko" && busybox insmod "$trail/trail_events.ko" || exit
"$BUILD/trailfs" $mnt >&2 || exit
say "$(grep '^kernel' $mnt/version), $(cat \
	/sys/devices/system/clocksource/clocksource0/current_clocksource)"
who='trailfs ftrace perf bpftrace'
if start_lttng >$work/sessiond.log 2>&1; then
	who="trailfs lttng ftrace perf bpftrace"
else
	say "no LTTng-modules: $(tail -n 2 $work/sessiond.log 2>/dev/null)"
fi
run $who
[ ! -s $work/sessiond.log ] || say "$(cat $work/sessiond.log)"
fusermount3 -u $mnt
# (trail.ko is in use until it has closed its counters.)
until { [ ! -e /sys/module/trail_events ] || busybox rmmod trail_events; } && busybox rmmod trail; do
	sleep 1
done
"$BUILD/trailfs" $mnt >&2 && run bpf
fusermount3 -u $mnt
