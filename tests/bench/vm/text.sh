#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# VM_ICOUNT=1 BUILD=$PWD/build tests/vm/boot 6.12 $PWD/tests/bench/vm/text.sh: what openat(2) costs
# while it is recorded with its text. Prints lines `WHO INSTRUCTIONS`, those that the recording adds
# to a call, after `none`, the call itself. floor-WHERE: the least that programs can do
# (../text_floor.c); end: with another program at the end of the call. rules: by BPF programs.
# With the directory of loop.c's module (modules) as an argument: what module:module_get costs.
T=/sys/kernel/tracing
work=/run/bench
TRAIL_RUNTIME_DIR=$work/state
export TRAIL_RUNTIME_DIR
session=$work/mnt/sessions/bench
floor=$BUILD/tests/bench/text_floor
mkdir -p $work/mnt

ticks() { "$floor" "$@" | awk '{ print $2 }'; }
none=$(ticks none)
echo "none $none"
say() { echo "$1 $2" | awk -v none="$none" '{ printf "%s %.0f\n", $1, $2 - none }'; }

for where in function entry; do
	say floor-$where "$(ticks $where)"
	say floor-$where-end "$(ticks $where end)"
done

# rules NAME BACKEND RULE…
rules() {
	name=$1 backend=$2
	shift 2
	mkdir $session $session/kernel/channels/channel0 || exit
	(
		cd $session/kernel/channels/channel0 || exit
		echo "$backend" >backend && echo 1M >subbuf_size && echo 8 >subbuf_count &&
			echo overwrite >loss_mode && printf '%s\n' "$@" >events
	) && echo start >$session/control && say "$name" "$(ticks none)"
	rmdir $session
}

instance=$T/instances/bench
[ -d $T/events ] || mount -t tracefs tracefs $T
mkdir $instance && echo mono >$instance/trace_clock && echo 8192 >$instance/buffer_size_kb &&
	echo 1 >$instance/events/syscalls/sys_enter_openat/enable && say tracefs-address "$(ticks none)"
rmdir $instance
"$BUILD/trailfs" $work/mnt || exit
rules rule-entry bpf syscall:entry:openat
rules rule-both bpf syscall:openat
rules rule-filter bpf 'syscall:entry:openat if filename == "/none*"'
others=$(for call in setpgid getpgid getsid setsid getuid getgid setuid setgid geteuid getegid getppid \
	getpgrp setreuid setregid getgroups setgroups; do echo syscall:entry:$call; done)
# shellcheck disable=SC2086
rules rule-at-sys_enter bpf syscall:entry:openat $others
rules tracefs-text tracefs syscall:entry:openat
if [ $# -gt 0 ] && insmod "$1/loop/loop.ko"; then
	run=/sys/module/loop/parameters/run
	loop() { echo module_get >$run && cut -d' ' -f2 $run; }
	none=$(loop)
	echo "module-none $none"
	case $(uname -r) in [1-6].*) may= ;; *) may=preempt ;; esac
	# shellcheck disable=SC2086
	say module-floor "$(ticks module $may)"
	mkdir $session $session/kernel/channels/channel0
	(cd $session/kernel/channels/channel0 && echo bpf >backend && echo 1M >subbuf_size &&
		echo 8 >subbuf_count && echo overwrite >loss_mode && echo module:module_get >events)
	echo start >$session/control && say module-rule "$(loop)"
	rmdir $session
fi
fusermount3 -u $work/mnt
