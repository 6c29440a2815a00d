#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 950
#
# Events from tasks, softirqs, interrupts and NMIs on both CPUs, in the midst of each other's
# probes, and from tasks that are preempted and moved to another CPU anywhere: each is there once,
# in its order, or was counted as lost; time never goes back, and babeltrace2 reads the same, by the
# TSC (the ring's quick way) and by CLOCK_MONOTONIC. nest.ko makes them, with numbers. (QEMU's TSC
# is good, as one thread is both CPUs, but the kernel does not know.)

# check DIRECTORY: of what a guest has left there. Its text has lines
# `[time] (+…) power_cpu_frequency: { cpu_id = 0 }, { state = 17, cpu_id = 1000 }`: are times in
# order, and numbers of each context too? Any may be missing, as many as were lost in all.
check() {
	read -r mode lost recorded <"$1/facts"
	awk -v made_file="$1/made" -v mode="$mode" -v lost="$lost" -v recorded="$recorded" '
		function bad(what) { print what ": " $0; failed = 1; exit 1 }
		BEGIN { while ((getline line <made_file) > 0) { split(line, w, " "); made[w[1]] = w[2]; all += w[2]; makes[int(w[1] / 1000)] = 1 } }
		/^WARNING: Tracer / { next }    # what is lost
		{ if ($1 < last) bad("time goes back"); last = $1 }
		!/ power_cpu_frequency: / { next }
		{
			n = $0; sub(/.*state = /, "", n); sub(/,.*/, "", n)
			c = $0; sub(/.*cpu_id = /, "", c); sub(/ .*/, "", c)
			if (!(c in made)) bad("unknown context")
			if (n + 0 >= made[c]) bad("never made")
			if ((c in next_of) && n + 0 < next_of[c]) bad("twice, or out of order")
			next_of[c] = n + 1; seen++; kinds[int(c / 1000)]++
		}
		END {
			if (failed) exit 1
			for (i in makes) if (!kinds[i]) { print "nothing from context " i; exit 1 }
			if (recorded != "any" && seen != recorded) { print seen " seen, " recorded " recorded"; exit 1 }
			if (seen + lost != all) { print seen " seen, " lost " lost, " all " made"; exit 1 }
			print mode ": " seen " of " all " seen; task " kinds[1] ", softirq " kinds[2] ", interrupt " kinds[3] ", NMI " kinds[4] ", preemptible task " kinds[5]
		}' "$1/text"
}
conclude() { # OUT KERNEL
	for d in "$1/nest.$2".*; do
		check "$d" || { echo "FAILED: ${d##*/}"; return 1; }
		rm -rf "$d"
	done
}

VM_APPEND="${VM_APPEND-} tsc=reliable preempt=full"
export VM_APPEND
kernel_in_check=backports
beside=nest
. "$(dirname "$0")/modlib.sh"
run=/sys/module/nest/parameters/run
seconds=1 size=32k read=32k
[ -z "${SOAK-}" ] || seconds=60 size=256k read=64k

load
busybox insmod "${modules%/kmod}/nest/nest.ko" || fail "nest.ko cannot be loaded"

# session NAME MODE SIZE: begins
session() {
	s=$S/$1
	mkdir "$s" "$s/kernel/channels/channel0" "$s/kernel/channels/real"
	echo "$3" >"$s/kernel/channels/channel0/subbuf_size"
	echo 16k >"$s/kernel/channels/real/subbuf_size"
	for c in channel0 real; do
		echo 4 >"$s/kernel/channels/$c/subbuf_count"
		echo "$2" >"$s/kernel/channels/$c/loss_mode"
	done
	echo power:cpu_frequency >"$s/kernel/channels/channel0/events"
	printf '%s\n' 'irq:*' 'timer:*' 'sched:*' 'nmi:*' 'workqueue:*' \
		>"$s/kernel/channels/real/events"
	echo start >"$s/control" || fail "$(cat "$s/error")"
}

nmis() {
	awk '$1 == "NMI:" { print $2 + $3 }' /proc/interrupts
}

# The load, with timers of a program's beside it
nest() {
	before=$(nmis)
	echo 1 >$run || fail "nest.ko does not begin"
	"$BUILD/tests/vm/timers" "$seconds" &
	timers=$!
	echo l >/proc/sysrq-trigger
	wait $timers || fail "timers"
	echo 0 >$run
	echo stop >"$s/control"
	! on_x86 || [ "$(nmis)" -gt "$before" ] || fail "there were no NMIs"
}

# of_channel CHANNEL KEY
of_channel() {
	key "$2" "$s/kernel/channels/$1/status"
}

# by CLOCK: mounts the tree, with times by it
by() {
	if [ "$1" = monotonic ]; then
		TRAILFS_CLOCK=$1 mount_tree
	else
		mount_tree
	fi
	has "$(cat "$MNT/version")" '^kernel module '
	has "$(cat "$MNT/version")" "^clock $1"
}

# keep MODE LOST RECORDED: keeps what check() needs outside, as awk is slow here
keep() {
	kept=$(mktemp -d "$OUT/nest.$VM.XXXXXX") && cp "$work/text" "$kept/text" &&
		cat $run >"$kept/made" && echo "$*" >"$kept/facts" || fail "$1 cannot be copied"
	checks=$((checks + 1))
}

# in_mode NAME: no process reads meanwhile
in_mode() {
	mode=$1
	session $mode $mode $size
	nest
	same_text "$s"
	over=$(of_channel channel0 events_overwritten)
	keep $mode $(($(of_channel channel0 events_discarded) + over)) \
		$(($(of_channel channel0 events_recorded) - over))
	rmdir "$s"
	clean
}

# read_meanwhile: all that was not lost
read_meanwhile() {
	session read discard $read
	cat "$s/pipe" >"$work/text" &
	reader=$!
	nest
	wait $reader
	keep read "$(of_channel channel0 events_discarded)" any
	rmdir "$s"
	clean
}

# (The quick way in one mode is enough but for SOAK=1; the other way has the other mode.)
# (Without a TSC, all is the other way.)
on_x86 && by tsc || by monotonic
in_mode discard
[ -z "${SOAK-}" ] || in_mode overwrite
read_meanwhile
umount "$MNT" || fail umount
by monotonic
in_mode overwrite
[ -z "${SOAK-}" ] || read_meanwhile
echo "$checks checks"
