#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# trail.ko: each context is what the program itself knows, from task, interrupt and NMI context; who
# is tracked, by each attribute.
# For SOAK=1 only, as it takes a guest for minutes.
[ -n "${VM_KERNEL-}${SOAK-}${VM-}" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
prepare() {
	# (s390x has frames by another option.)
	frames=-fno-omit-frame-pointer
	case ${CC-} in *s390x*) frames=-mbackchain ;; esac
	${CC:-cc} -D_GNU_SOURCE -O1 $frames -fno-optimize-sibling-calls \
		-o "$1/self" "${0%/*}/self.c"
}
. "$(dirname "$0")/modlib.sh"
self=$work/self
cp "$prepared/self" "$self" || fail "no program"
chmod 755 "$work" "$self"

busybox insmod "$modules/trail.ko" && busybox insmod "$modules/trail_events.ko" ||
	fail "the modules cannot be loaded: $(dmesg | tail -n 5)"
mount_tree
has "$(cat "$MNT/version")" '^kernel module '

# session NAME CONTEXTS EVENT…: made, not started
session() {
	s=$S/$1
	mkdir "$s"
	echo "$2" >"$s/kernel/contexts" || fail "$(cat "$s/error")"
	shift 2
	printf '%s\n' "$@" >"$s/kernel/events" || fail "$(cat "$s/error")"
}

# (trail.ko knows no stacks of processes on armhf.)
user=callstack-user
case $(uname -m) in arm*) user= ;; esac

# --- each context is what the program itself says
all='pid tid procname vpid vtid ppid vppid prio nice hostname uid euid suid gid egid sgid vuid veuid vsuid vgid vegid vsgid
cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns preemptible interruptible migratable'
for name in $all cpu_id need_reschedule callstack-kernel $user perf:cpu:page-faults; do
	grep -qx -e "$name" "$MNT/available/kernel/contexts" ||
		fail "available/kernel/contexts has no $name"
done
session all "$all" 'syscall:entry:getppid'
echo start >"$s/control"
for mode in plain ids spaces; do
	"$self" $mode >"$work/$mode" || fail "self $mode"
done
echo stop >"$s/control"
cat "$s/text" >"$work/events"
for mode in plain ids spaces; do
	[ -s "$work/$mode" ] || fail "self $mode says nothing"
	grep -qF "$(cat "$work/$mode")" "$work/events" || fail "$mode: not as
$(cat "$work/$mode")
in
$(cat "$work/events")"
	checks=$((checks + 1))
done
same_text "$s"
# Types as LTTng has them.
for line in 'size = 32; align = 8; signed = 1; encoding = none; base = 10; } _ppid;' \
	'size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _hostname\[65\];' \
	'size = 32; align = 8; signed = 0; encoding = none; base = 10; } _vegid;' \
		'size = 32; align = 8; signed = 0; encoding = none; base = 10; } _mnt_ns;' \
	'size = 8; align = 8; signed = 0; encoding = none; base = 10; } _migratable;' \
		'size = 8; align = 8; signed = 1; encoding = none; base = 10; } _interruptible;'; do
	grep -q "integer { $line" "$s/trace/kernel/metadata" || fail "no $line"
done
rmdir "$s"
clean

# --- callstacks, counters, and the state of the CPU
session stack "tid callstack-kernel $user perf:cpu:page-faults perf:cpu:context-switches perf:cpu:cpu-clock" \
	'syscall:entry:getppid'
echo start >"$s/control"
"$self" stack >"$work/stack"
faults=$("$self" faults 300 0)
echo stop >"$s/control"
cat "$s/text" >"$work/events"
read -r in_outer in_main <"$work/stack"
case $(uname -m) in
x86_64) entry=do_syscall_64 ;;
aarch64) entry=el0_svc ;;
riscv64) entry=do_trap_ecall_u ;;
s390x) entry=__do_syscall ;;
*) entry=__sys_trace ;;
esac
upper() {
	echo "$1" | sed 's/^0x//' | tr a-f A-F
}
[ -z "$user" ] || has "$(cat "$work/events")" "callstack_user = \[ \[0\] = 0x[0-9A-F]*, \[1\] = 0x$(upper "$in_outer"), \[2\] = 0x$(upper "$in_main"), "
# In the kernel, by way of $entry: it begins with what the tracepoint is in, and none of ours is in it.
awk '$2 ~ /[tT]/ { print $1, $3, $4 }' /proc/kallsyms | sort >"$work/symbols"
grep "{ tid = $faults, " "$work/events" | head -n 1 |
	sed 's/, _callstack_user.*//; s/, perf_cpu.*//; s/.*callstack_kernel = \[ \(.*\) \]$/\1/' | tr , '\n' |
	sed 's/.*0x//' | tr A-F a-f >"$work/addresses"
# (armhf has two functions there.)
[ "$(wc -l <"$work/addresses")" -ge 2 ] || fail "kernel callstack: $(head -n 1 "$work/events")"
# (Both are compared as strings of equal length: s390x has its kernel at low addresses.)
awk 'NR == FNR { at[NR] = $1; name[NR] = $2 $3; n = NR; next }
	{ a = $1; while (length(a) < length(at[1])) a = "0" a
	  for (i = 1; i <= n && at[i] "" <= a ""; i++) ; print name[i - 1] }' "$work/symbols" "$work/addresses" >"$work/functions"
grep -qx $entry "$work/functions" || fail "no $entry in: $(cat "$work/functions")"
grep -F '[trail' "$work/functions" && fail "our own functions are in a callstack"
head -n 1 "$work/functions" | grep -Eq 'syscall|traceiter' ||
	fail "begins with $(head -n 1 "$work/functions")"
# Counters of CPU 0 between two events of one program.
count() {
	grep "{ tid = $faults, " "$work/events" | sed "s/.* perf_cpu_$1 = \([0-9]*\).*/\1/"
}
set -- $(count page_faults)
[ $# = 2 ] && [ $(($2 - $1)) -ge 300 ] && [ $(($2 - $1)) -le 1000 ] || fail "page faults: $*"
set -- $(count context_switches)
[ $# = 2 ] && [ "$2" -gt "$1" ] || fail "context switches: $*"
set -- $(count cpu_clock)
[ $# = 2 ] && [ $(($2 - $1)) -ge 1000000 ] || fail "CPU clock: $*"
same_text "$s"
grep -q '_callstack_kernel\[ __callstack_kernel_length \];' "$s/trace/kernel/metadata" ||
	fail "no sequence: $(grep callstack "$s/trace/kernel/metadata")"
rmdir "$s"
clean

# --- names of callstacks: while the program runs, and by the state dump after it has ended
session names "pid callstack-kernel $user" 'syscall:entry:getppid' \
	'lttng_statedump_process_mapping'
mkfifo "$work/hold"
: >"$work/stack"
"$self" stack - <"$work/hold" >"$work/stack" &
held=$!
exec 5>"$work/hold"
within 20 test -s "$work/stack"
echo start >"$s/control"
dumped() { grep -q "pid = $held, .*path = \"$self\"" "$s/text"; }
within 20 dumped || fail "no mappings of $self: $(cat "$s/text" | tail -n 3)"
exec 5>&-
wait $held
# The program that is started now is in no state dump.
: >"$work/stack"
"$self" stack - <"$work/hold" >"$work/stack" &
live=$!
exec 5>"$work/hold"
within 20 test -s "$work/stack"
cat "$s/text.symbols" >"$work/named"
for of in $held $live; do
	line=$(grep "syscall_entry_getppid: .*pid = $of," "$work/named")
	[ -z "$user" ] || has "$line" 'callstack_user = \[ \[0\] = "inner+0x[0-9a-f]* (self)", \[1\] = "outer+0x[0-9a-f]* (self)", \[2\] = "main+0x[0-9a-f]* (self)"'
	has "$line" "\"$entry+0x[0-9a-f]* (\[kernel\])\""
done
[ -z "$user" ] || {
	cat "$s/export/flame.svg" >"$work/flame" || fail "flame.svg: $(cat "$s/error")"
	has "$(cat "$work/flame")" '<title>inner&#10;total 2 events,'
	has "$(cat "$s/stats")" '^frame  *[0-9]* *2 outer self$'
}
exec 5>&-
wait $live
[ -z "$user" ] || has "$(grep "getppid: .*pid = $live," "$s/text.symbols")" '\[unknown\]'
echo stop >"$s/control"
rmdir "$s"
clean

# --- counters of a CPU that was away
session away 'tid perf:cpu:page-faults' 'syscall:entry:getppid'
echo start >"$s/control"
echo 0 >/sys/devices/system/cpu/cpu1/online
echo 1 >/sys/devices/system/cpu/cpu1/online
counted() {
	faults=$("$self" faults 300 1) || return 1
	cat "$s/text" >"$work/events"
	set -- $(count page_faults)
	[ $# = 2 ] && [ $(($2 - $1)) -ge 300 ]
}
# The counter is made anew after the CPU has come.
within 20 counted || fail "no count on CPU 1: $(grep "tid = $faults" "$work/events")"
echo stop >"$s/control"
rmdir "$s"
clean

# --- in interrupts and NMIs, with faults inside of it
session nested "tid callstack-kernel $user interruptible preemptible need_reschedule perf:cpu:cpu-clock procname" \
	'timer:hrtimer_expire_entry' 'irq:softirq_entry' \
		$(! on_x86 || echo 'nmi:nmi_handler' 'exceptions:*') \
		'sched:sched_switch' 'syscall:entry:getppid'
echo 4M >"$s/kernel/channels/channel0/subbuf_size"
echo start >"$s/control"
for i in 1 2 3 4 5; do
	"$self" faults 50 0 >/dev/null &
	echo l >/proc/sysrq-trigger
	"$self" ids >/dev/null
done
wait
echo stop >"$s/control"
cat "$s/text" >"$work/events"
# (A kernel that is never preempted does not count how often preemption was switched off.)
case $(uname -v) in *PREEMPT*) switch=0 ;; *) switch=1 ;; esac
on_x86 && nmi='nmi_handler 0 0' || nmi='irq_softirq_entry 1 0'
for of in 'timer_hrtimer_expire_entry 0 0' 'irq_softirq_entry 1 0' "$nmi" \
	'syscall_entry_getppid 1 1' "sched_switch 0 $switch"; do
	set -- $of
	n=$(grep -c " $1: .*interruptible = $2, preemptible = $3, need" "$work/events")
	all_of=$(grep -c " $1: " "$work/events")
	[ "$n" -ge 1 ] && [ "$n" = "$all_of" ] ||
		fail "$1: $n of $all_of are as they should: $(grep -m 1 " $1: " "$work/events")"
done
! on_x86 || grep -q ' x86_exceptions_page_fault_user: .*callstack_user = \[ \[0\] = 0x' "$work/events" ||
	fail "no callstack of a fault"
same_text "$s"
rmdir "$s"
clean

# --- who is tracked: by each attribute, in sessions of their own, all at once
# SET VALUE WHO…: who of plain, ids, spaces is recorded
sets='uid-201:ids
uid-root:plain spaces
gid-101:ids
vuid-4711:spaces
vgid-4712:spaces
vpid-1:spaces
pid-'$$':plain ids spaces
uid-201-gid-9999:
uid-201-gid-101-vpid-*:ids
vuid-201 4711:ids spaces
uid-:'
recorded() {
	if grep -qF "$(cat "$1")" "$s/text"; then echo yes; else echo no; fi
}
n=0
echo "$sets" >"$work/sets"
while IFS=: read -r set who; do
	n=$((n + 1))
	session "track$n" "$all" 'syscall:entry:getppid'
	echo "$set" | tr - '\n' | while read -r attr && read -r value; do
		echo "$value" >"$s/kernel/track/$attr" || fail "track/$attr: $(cat "$s/error")"
	done || exit 1
	echo start >"$s/control"
done <"$work/sets"
for mode in plain ids spaces; do
	"$self" $mode >"$work/$mode" || fail "self $mode"
done
n=0
while IFS=: read -r set who; do
	n=$((n + 1))
	s=$S/track$n
	echo stop >"$s/control"
	for mode in plain ids spaces; do
		case " $who " in *" $mode "*) want=yes ;; *) want=no ;; esac
		is "track $set: $mode" $want "$(recorded "$work/$mode")"
	done
	rmdir "$s"
done <"$work/sets"
# Lines of `log`, by their writer.
session log 'tid uid' 'lttng_logger'
echo start >"$s/control"
for uid in 201 0; do
	echo $uid >"$s/kernel/track/uid"
	echo "for $uid" >"$MNT/log"
done
echo stop >"$s/control"
is "lines of root" "msg = \"for 0\"" "$(grep -o 'msg = .*"' "$s/text")"
rmdir "$s"

# Sets change while it runs.
session change "$all" 'syscall:entry:getppid'
echo 0 >"$s/kernel/track/uid"
echo start >"$s/control"
"$self" ids >"$work/first"
echo 201 >>"$s/kernel/track/uid"
is "the set" '0
201' "$(cat "$s/kernel/track/uid")"
"$self" ids >"$work/second"

# --- the daemon is killed: sets and contexts are the module's
kill -9 $(daemon_pids)
within 10 daemon_ended || fail "the daemon lives"
"$self" ids >"$work/third"
umount -l "$MNT"
mount_tree
"$self" spaces >"$work/fourth"
echo '!201' >>"$s/kernel/track/uid" || fail "$(cat "$s/error")"
"$self" ids >"$work/fifth"
echo stop >"$s/control"
for of in 'first no' 'second yes' 'third yes' 'fourth yes' 'fifth no'; do
	set -- $of
	is "$1" "$2" "$(recorded "$work/$1")"
done
same_text "$s"
rmdir "$s"

kill -9 $(daemon_pids)
within 10 daemon_ended || fail "the daemon lives"
umount -l "$MNT"
within 10 busybox rmmod trail_events || fail "trail_events cannot be unloaded"
busybox rmmod trail || fail "trail cannot be unloaded: $(busybox lsmod)"
clean
echo "$checks checks"
