#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# A machine that panics while the kernel records into memory that outlives a boot: the next boot's
# daemon shows what was recorded, up to the last 100 ms, and then has the kernel record again. For
# SOAK=1 only.
VM_REBOOTS=1
VM_APPEND="nokaslr reserve_mem=8M:4096:trace \
trace_instance=kept^traceoff@trace"
export VM_REBOOTS VM_APPEND
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
kernels_in_soak="6.12 backports"
. "$(dirname "$0")/lib.sh"
[ -e $T/instances/kept/last_boot_info ] || skip "$VM: this kernel keeps no instance over a boot"
[ -e "$OUT/before" ] || mount_tree -o tz=UTC

if [ ! -e "$OUT/before" ]; then
	[ ! -e "$S/last-boot" ] || fail "the first boot has a last one"
	is "it records" 1 "$(cat $T/instances/kept/tracing_on)"
	printf '%s\n' sched:sched_process_exec signal:signal_generate syscalls:sys_enter_kill \
		>$T/instances/kept/set_event
	cat >"$work/signals.c" <<'C'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* signals NUMBER: that many to itself, which do nothing */
int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--)
		kill(getpid(), SIGURG);
	return 0;
}
C
	${CC:-cc} -o "$work/signals" "$work/signals.c" || skip "no compiler"
	# (Linux 7.2 and 7.3 empty the memory of the first CPU when they boot: "Ring buffer meta [0] is
	# from previous boot!", and then it has no entries, before any program has run.)
	taskset -p 2 $$ >/dev/null || fail "no second CPU"
	"$work/signals" 1234
	uname -r >"$OUT/before"
	# The last words: a program, then the panic
	/bin/sh -c 'exec busybox true'
	cut -d ' ' -f 1 /proc/uptime >"$OUT/time"
	echo c >/proc/sysrq-trigger
	sleep 60
	fail "the machine lives on"
fi

cp $T/instances/kept/per_cpu/cpu0/stats "$OUT/first"
mount_tree -o tz=UTC
s=$S/last-boot
[ -d "$s" ] || fail "there is no last boot: $(cat $T/instances/kept/per_cpu/cpu0/stats), $(dmesg | grep -i 'trac\|ring' | tail -n 5)"
kept=$(sed -n 's/^entries: //p' "$OUT/first")
is "it says what is missing ($kept events of CPU 0)" "$((kept == 0))" \
	"$(grep -c 'there are none of CPU 0' "$MNT/error" "$work/daemon.log" | grep -c ':[1-9]')"
cat "$s/text" >"$work/text"
is "signals of the program" 1234 "$(grep -c 'signal_generate: .* sig = 23,' "$work/text")"
is "its system calls" 1234 "$(grep -c 'syscall_entry_kill: .* sig = 23 }' "$work/text")"
grep -q 'sched_process_exec: .*filename = "[^"]*busybox"' "$work/text" ||
	fail "the last program is missing: $(tail -n 3 "$work/text")"
# Times count from the beginning of that boot, as those of /proc/uptime.
awk -v uptime="$(cat "$OUT/time")" '
	{ split(substr($1, 2), t, ":"); last = t[1] * 3600 + t[2] * 60 + t[3] }
	END {
		print "the last event: " last " s; before the panic: " uptime " s"
		exit !(last >= uptime - 0.1 && last < uptime + 60)
	}' "$work/text" || fail "the last 100 ms are missing: $(tail -n 3 "$work/text")"
checks=$((checks + 1))
is "it is read only" 1 "$(echo start >"$s/control" 2>/dev/null && echo 0 || echo 1)"
babeltrace2 "$s/trace" >"$work/theirs" || fail "babeltrace2"
is "as babeltrace2 reads it" "$(wc -l <"$work/theirs")" "$(grep -vc '^WARNING' "$work/text")"
is "it records again" 1 "$(cat $T/instances/kept/tracing_on)"
fusermount3 -u "$MNT"
within 20 daemon_ended
mount_tree
is "the next daemon has it, too" 1234 \
	"$(grep -c 'signal_generate: .* sig = 23,' "$S/last-boot/text")"
echo "$checks checks"
