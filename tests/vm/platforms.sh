#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 900
#
# What each kernel has, by trying it: docs/platforms.md is what this test has found. It fails if a
# kernel's column there is another one now; kernels without a column pass. VM_WRITE=1 writes the
# columns of the kernels that it runs on (VM_KERNEL), and keeps the others.
# platforms.sh DIRECTORY NAME…: the same with columns that guests have left there (./foreign);
# platforms.sh --append: what the command line of a kernel must have for it.
append="reserve_mem=2M:4096:trace trace_instance=kept^traceoff@trace"
[ "${1-}" != --append ] || { echo "$append"; exit; }
page() {
	echo "# What each kernel has"
	echo
	cat <<'END'
tests/vm/platforms.sh wrote this table: it tried each thing on Debian's kernels,
by rules and the text of what they recorded. `yes`: it worked; `-`: it did not.
`?`: it was not tried. `backports` and `sid` are Debian's newest kernels at
that time. Columns are for x86-64, unless they are named after a processor. A
kernel with other build options may lack some of it: `version` on a mount says
what.

What Debian's kernels for other processors lack:

- arm64, armhf and s390x have 6.1, which has no memory for the last boot, and
  here with event probes (the backend tracefs) that read all text as empty.
- armhf and s390x: `CONFIG_DEBUG_INFO_BTF`, for `$args` and members.
- armhf: its compiler of BPF programs has no atomic additions. So there are no
  BPF programs, which read text, stacks of processes (it has no
  `CONFIG_USER_STACKTRACE_SUPPORT` either) and count for maps. Its kernel sets
  no probes in Thumb instructions, which Debian's programs have.
- s390x: the stacks of processes (`CONFIG_USER_STACKTRACE_SUPPORT`), which its
  perf events and BPF programs do not get either.
- riscv64: 6.12 refuses a probe at the first instruction of each function that
  `function:` can trace, so nearly all; it permits `vfs_read+8`.
END
	echo
	python3 "$here/platforms.py" "$@"
}

# compare DIRECTORY KERNEL…: with the columns there
compare() {
	from=$1
	shift
	for kernel; do
		[ -z "${VM_WRITE-}" ] && ! grep -q "^| |.* $kernel |" "$doc" ||
			known="${known-} $kernel"
	done
	page "$doc" "$from" ${known-} >"$from/page" || exit
	[ -z "${VM_WRITE-}" ] || cp "$from/page" "$doc"
	diff "$doc" "$from/page" || { echo "docs/platforms.md says otherwise"; exit 1; }
	exit 0
}

# Outside of guests
if [ -z "${VM-}${VM_PLATFORMS-}" ]; then
	here=$(cd "$(dirname "$0")" && pwd) || exit 2
	doc=$here/../../docs/platforms.md
	[ $# = 0 ] || compare "$@"
	BUILD=${BUILD:-$here/../../build}
	OUT=$(mktemp -d "${TMPDIR:-/tmp}/trailfs-platforms.XXXXXX") || exit 2
	trap 'rm -rf "$OUT"' EXIT
	VM_KERNEL=${VM_KERNEL:-${SOAK:+5.10 6.1 6.12 6.12-rt sid backports}}
	[ -n "$VM_KERNEL" ] || { echo "only when asked: VM_KERNEL=... or SOAK=1"; exit 77; }
	VM_PLATFORMS=1
	export BUILD OUT VM_KERNEL VM_PLATFORMS
	for kernel in $VM_KERNEL; do
		"$here/modules" $kernel >/dev/null 2>&1 || :
	done
	"$0" || exit
	compare "$OUT" $VM_KERNEL
fi
VM_APPEND="${VM_APPEND-} $append"
export VM_APPEND
. "$(dirname "$0")/lib.sh"

out=$OUT/$VM
# row NAME VALUE
row() {
	echo "$1|$2" >>"$out"
}
# try NAME COMMAND…: whether it succeeds
try() {
	name=$1
	shift
	if "$@" >/dev/null 2>&1; then row "$name" yes; else row "$name" -; fi
}

# records RULE TEXT COMMAND…: an event that a rule records has this text. $by: the channel's
# backend; $contexts: its contexts
records() {
	rule=$1 text=$2 c=$S/t/kernel/channels/channel0
	shift 2
	mkdir "$S/t" "$c" && echo "${by:-auto}" >"$c/backend" && echo "$rule" >"$c/events" &&
		echo "${contexts-}" >"$c/contexts" && echo start >"$S/t/control" &&
		"$@" >/dev/null 2>&1
	echo stop >"$S/t/control" 2>/dev/null
	cat "$S/t/text" >"$work/text"
	rmdir "$S/t"
	grep -q -e "$text" "$work/text"
}
# by BACKEND COMMAND…; with CONTEXT COMMAND…
by() { (by=$1; shift; "$@"); }
with() { (contexts=$1; shift; "$@"); }
# counts: the kernel counts the calls of a map
counts() {
	mkdir "$S/t" "$S/t/kernel/maps/m" &&
		echo 'syscall:entry:getppid by $event' >"$S/t/kernel/maps/m/rules" &&
		echo start >"$S/t/control"
	cat "$S/t/kernel/maps/m/values" >"$work/text"
	rmdir "$S/t"
	grep -q '^counted_by kernel' "$work/text"
}
spin() {
	timeout 2 sh -c 'while :; do :; done' || :
}
# accepts RULE
accepts() {
	mkdir "$S/t" && { echo "$1" >"$S/t/kernel/events"; } 2>/dev/null
	accepted=$?
	rmdir "$S/t"
	return $accepted
}
leaves_out() {
	records 'syscall:entry:write' 'fd = 1, buf = 0x' /bin/echo password &&
		! grep -q password "$work/text"
}
waits() {
	accepts '?no_such_system:event'
}
libc=$(grep -o '/[^ ]*libc\.so[^ ]*' /proc/self/maps | head -n 1)
cat=/bin/cat

by_module() {
	modules=$BUILD/vm/modules-$VM/kmod
	[ -e "$modules/trail.ko" ] && busybox insmod "$modules/trail.ko" || return
	[ ! -e "$modules/trail_events.ko" ] || busybox insmod "$modules/trail_events.ko"
}

mount_tree
row "Linux" "$(uname -r | cut -d . -f 1-2 | cut -d - -f 1)"
try "tracepoints" records sched:sched_process_exec 'sched_process_exec: ' $cat /etc/hosts
try "system calls" records syscall:openat 'syscall_entry_openat: ' $cat /etc/hosts
try "text of system calls, in filters too" \
	records 'syscall:entry:openat if filename == "/etc/hosts"' '"/etc/hosts"' $cat /etc/hosts
try "… by the backend tracefs" by tracefs \
	records syscall:entry:openat '"/etc/hosts"' $cat /etc/hosts
try "… by the backend bpf" by bpf records syscall:entry:openat '"/etc/hosts"' $cat /etc/hosts
try "… of execve" records syscall:entry:execve 'filename = "/bin/cat"' env -i $cat /etc/hosts
try "contents of write(2) are left out" leaves_out
try "… recorded by a rule with data" records 'syscall:entry:write with data' 'data = "password' \
	/bin/echo password
try "extra data of tracepoints: with" accepts 'sched:sched_switch with prev_pid as pid'
try "… with arguments that the record lacks" accepts 'sched:sched_switch with next->pid'
try "kprobe:" records kprobe:vfs_read 'vfs_read: ' $cat /etc/hosts
try "… with members of structures" \
	records 'kprobe:vfs_read with file->f_path.dentry->d_name.name:string as name' \
	'name = "hosts"' $cat /etc/hosts
try "kretprobe: with \$retval" records 'kretprobe:vfs_read with $retval:s64 as got' 'got = ' \
	$cat /etc/hosts
try "… with arguments of the entry" \
	records 'kretprobe:vfs_read with count, $retval:s64 as got' 'count = [1-9][0-9]*, got = ' \
	$cat /etc/hosts
try "uprobe:" records "uprobe:$libc:read" ':read: ' $cat /etc/hosts
try "function:" records function:vfs_read 'func = "vfs_read"' $cat /etc/hosts
try "rules that wait for their event: ?" waits
stacks() { # SUFFIX of the rows
	try "callstack-kernel$1" with callstack-kernel \
		records sched:sched_process_exec 'callstack_kernel = \[ \[0\] = 0x[1-9A-F]' $cat /etc/hosts
	try "… of system calls$1" with callstack-kernel \
		records syscall:entry:openat 'callstack_kernel = \[ \[0\] = 0x[1-9A-F]' $cat /etc/hosts
	[ -n "$1" ] || try "… of system calls by the backend tracefs" by tracefs with callstack-kernel \
		records syscall:entry:openat 'callstack_kernel = \[ \[0\] = 0x[1-9A-F]' $cat /etc/hosts
	try "callstack-user$1" with callstack-user \
		records syscall:entry:openat 'callstack_user = \[ \[0\] = 0x' $cat /etc/hosts
}
stacks ""
try "samples: sample:cpu" records 'sample:cpu 99hz' 'trail:sample: ' spin
try "maps that the kernel counts" counts
try "memory for the last boot" test -e $T/instances/kept/last_boot_info
try "user_events" test -e /sys/kernel/tracing/user_events_data
# A kernel that does not say how many it has is of the first version, if it has the call: the C
# library has made it for this thread already.
size=$(LD_SHOW_AUXV=1 /bin/true |
	sed -n 's/^AT_RSEQ_FEATURE_SIZE: *//p; s/^AT_??? (0x1b): *//p' | head -n 1)
[ -n "$size" ] || size=$(python3 -c "import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall({'x86_64': 334, 's390x': 383, 'armv7l': 398}.get(os.uname().machine, 293), 0, 0, 0, 0)
print('no' if ctypes.get_errno() == 38 else 'first')")
case $size in
[0-9]*) row "rseq(2): bytes of the kernel's fields" $((size)) ;;
first) row "rseq(2): bytes of the kernel's fields" 20 ;;
*) row "rseq(2): bytes of the kernel's fields" - ;;
esac
fusermount3 -u "$MNT"
within 20 daemon_ended
recorded_by_module() {
	try "trail.ko" by module \
		records sched:sched_process_exec 'sched_process_exec: ' $cat /etc/hosts
	try "… compiled probes" grep -q : /dev/trail
	try "… text of system calls" \
		records 'syscall:entry:openat if filename == "/etc/hosts"' '"/etc/hosts"' \
		$cat /etc/hosts
	stacks " by trail.ko"
}
if by_module; then
	mount_tree
	recorded_by_module
elif [ "$(uname -m)" = x86_64 ]; then
	row "trail.ko" -
else
	# Without a compiler for that processor: it was not tried.
	try() { row "$1" '?'; }
	recorded_by_module
fi
echo "$(wc -l <"$out") rows"
