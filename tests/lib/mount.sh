# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the tests of the mounted tree share: `. "$(dirname "$0")/../../lib/mount.sh"`, then
# mount_tree.
#
#   TRAILFS    the daemon; $BUILD/trailfs if not set
#   MNT        where this test mounts: in a directory of its own, with a state directory of its own
#   S          $MNT/sessions
#   tool       system calls with the names of their errors, see tests/lib/tool.c
#
# At exit everything is unmounted and removed.

here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=${here%/tests/*}
. "$top/tests/lib/within.sh"
BUILD=${BUILD:-$top/build}
TRAILFS=${TRAILFS:-$BUILD/trailfs}
umask 022
work=$(mktemp -d "${TMPDIR:-/tmp}/trailfs.XXXXXX") || exit 2
chmod 755 "$work"
MNT=$work/mnt
S=$MNT/sessions
TRAIL_RUNTIME_DIR=$work/state
XDG_CONFIG_HOME=$work/config
# These tests are about contents: let no application miss its first events because this machine is
# busy.
TRAIL_ATTACH_TIMEOUT=60000
export TRAIL_ATTACH_TIMEOUT
# The port for agents: a daemon of root would write it where agents of all tests read it, who would
# then record for two daemons.
LTTNG_HOME=$work
export TRAIL_RUNTIME_DIR XDG_CONFIG_HOME LTTNG_HOME TRAILFS MNT S
unset XDG_RUNTIME_DIR
# (A cancelled thread leaves its marks on its stack, which the next thread gets: no signal stacks,
# which are looked for there at the end.)
ASAN_OPTIONS=log_path=$work/sanitizer:use_sigaltstack=0:handle_abort=1
UBSAN_OPTIONS=log_path=$work/sanitizer
TSAN_OPTIONS=log_path=$work/sanitizer:handle_abort=1
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS
mkdir "$MNT" "$XDG_CONFIG_HOME"
chmod 755 "$MNT"
checks=0

# kernel_since VERSION: whether the kernel has this version, or a later one. (The smaller of two is
# the first in this order.)
kernel_since() {
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "FAILED: $*"
	for f in "$MNT/error" "$S"/*/error "$MNT"/triggers/*/error; do
		timeout 20 cat "$f" 2>/dev/null | sed "s,^,${f#"$MNT"/}: ,"
	done
	[ -s "$work/daemon.log" ] && sed 's/^/daemon: /' "$work/daemon.log"
	exit 1
}

# (What it mounts on files of the machine would change them for all.)
has_own_mounts() {
	[ "$(readlink /proc/self/ns/mnt)" != "$(readlink "/proc/${RUNNER:-$$}/ns/mnt")" ] ||
		skip "this test has no mount namespace of its own"
}

mounted() {
	grep -qs " $MNT fuse" /proc/self/mounts
}

# The daemons of this test; a pid file is no part of the interface, so they are found by what they
# serve. (One grep for all processes: ps reads several files of each.)
daemon_pids() {
	grep -lsxzF -e "$MNT" /proc/[0-9]*/cmdline | while IFS=/ read -r _ _ pid _; do
		tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | {
			read -r program
			case $program in *trailfs) echo "$pid" ;; esac
		}
	done
}

daemon_ended() {
	[ -z "$(daemon_pids)" ]
}

# After a clean unmount; a sanitizer may keep it for a while.
keeper_ended() {
	! ps -eo args= | grep -q "^trail-keeper --keeper $TRAIL_RUNTIME_DIR\$"
}

# Ends a mount whose daemon was killed. Requests that wait for the next daemon fail at once.
end_dead_mount() {
	umount -f -l "$1" 2>/dev/null || fusermount3 -u -z "$1"
}

clean_up() {
	status=$?
	trap - EXIT
	cd /
	# Whatever a failed test still has open would hold the mount.
	[ $status = 0 ] || kill $(daemon_pids) 2>/dev/null
	while mounted; do
		fusermount3 -u "$MNT" 2>/dev/null || umount "$MNT" 2>/dev/null ||
			umount -l "$MNT" 2>/dev/null ||
			fusermount3 -u -z "$MNT" 2>/dev/null || break
	done
	# The daemon ends by itself when its mount goes; the keeper when the daemon says so.
	within 40 daemon_ended || { echo "FAILED: the daemon does not end"; status=1; }
	for report in "$work"/sanitizer.*; do
		[ -e "$report" ] || continue
		# What the keeper has not freed when it ends is of no interest.
		grep -q LeakSanitizer "$report" && grep -q keeper_main "$report" && continue
		cat "$report"
		status=1
	done
	# (Copies of trace/ have its modes.)
	[ "$(id -u)" = 0 ] || chmod -R u+w "$work"
	rm -rf "$work"
	exit $status
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

if [ -n "${TOOL-}" ]; then
	:
elif [ -x "$BUILD/tests/lib/tool" ]; then
	TOOL=$BUILD/tests/lib/tool
else
	TOOL=$work/tool
	${CC:-cc} -D_GNU_SOURCE -o "$TOOL" "$top/tests/lib/tool.c" || skip "cannot build tool.c"
fi
export TOOL

# (A guest has a time limit of its own, and one program more takes a tenth of a second there.)
tool() {
	if [ -n "${VM-}" ]; then "$TOOL" "$@"; else timeout 200 "$TOOL" "$@"; fi
}

can_mount() {
	[ -c /dev/fuse ] || skip "there is no /dev/fuse"
	command -v fusermount3 >/dev/null || skip "there is no fusermount3"
	[ -x "$TRAILFS" ] || skip "there is no $TRAILFS"
}

# mount_tree [ARGUMENT…]: in the background, as a user would; except that verbs wait until they are
# done, unless the test says -o wait=MS: then what follows them does not depend on the machine. A
# test that kills the daemon starts the next one itself.
mount_tree() {
	can_mount
	timeout 200 "$TRAILFS" "$MNT" -o wait=100000,keeper=0 "$@" >"$work/daemon.log" 2>&1 || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(tail -n 1 "$work/daemon.log")"
		fail "cannot mount: exit status $?"
	}
	mounted || fail "the daemon said all is well, but nothing is mounted"
}

# The version of babeltrace2 is here whose words the tests know, and ours are. Later ones have other
# words for losses, other texts of some types, and abort at some traces.
has_babeltrace_2_0() {
	case $(babeltrace2 --version 2>/dev/null) in *' 2.0.'*) ;; *) return 1 ;; esac
}

# mount_kernel [ARGUMENT…]: mount_tree, for tests of the kernel domain. T is the kernel's tracefs;
# mark is for names: instances of this mount alone have it, other tests may run beside it.
mount_kernel() {
	T=/sys/kernel/tracing
	mark=$(date +%s)$$
	mount_tree "$@"
	grep -q '^kernel none' "$MNT/version" &&
		skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"
	[ "${KERNEL_BACKEND-}" != bpf ] || programs_record ||
		skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
	command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
	know_pids
}

# BPF programs record here: where the kernel permits them.
programs_record() {
	grep -q '^kernel tracefs and bpf' "$MNT/version"
}

# KERNEL_BACKEND=WORD: the first kernel channel of each session that a test makes has this `backend`.
# by_instance: for tests that look at an instance's own files, or at a session without channels.
by_instance() {
	[ "${KERNEL_BACKEND:-auto}" = auto ] || [ "$KERNEL_BACKEND" = tracefs ] ||
		skip "it is about the files of tracefs, not about $KERNEL_BACKEND"
	[ -z "${KERNEL_BACKEND-}" ] || unset -f mkdir
}
# by_programs: for tests of text that BPF programs record, unless the instance of tracefs has it
by_programs() {
	[ "${KERNEL_BACKEND-}" != tracefs ] || ! programs_record ||
		skip "it is about BPF programs, not about tracefs"
}
if [ -n "${KERNEL_BACKEND-}" ]; then
	mkdir() {
		command mkdir "$@" || return
		for made; do
			case $made in
			"${S-/}"/*/* | -*) ;;
			"${S-/}"/*)
				[ -d "$made/kernel/channels/channel0" ] ||
					command mkdir "$made/kernel/channels/channel0" 2>/dev/null
				[ ! -d "$made/kernel/channels/channel0" ] ||
					echo "$KERNEL_BACKEND" >"$made/kernel/channels/channel0/backend"
				;;
			esac
		done
		return 0
	}
fi

# kernel_pid PID: the number that the kernel's records have of a process: another one in a PID
# namespace. (Programs of tests have kernel_pid.h.)
kernel_pid() { "$BUILD/tests/lib/kernel_pid" "$1"; }
know_pids() {
	[ -x "$BUILD/tests/lib/kernel_pid" ] || skip "there is no kernel_pid"
	kernel_pid $$ >"$work/number" 2>&1 || skip "$(cat "$work/number")"
}
# start_caller [getpgrp]: a process that makes N calls of getppid, or of getpgrp, at each `call N`.
# caller is its id, number the kernel's, and `mine` a rule for its calls alone. It ends when
# descriptor 8 is closed.
start_caller() {
	[ -e "$MNT/available/kernel/events/syscalls/sys_enter_${1:-getppid}" ] ||
		skip "no system calls are traced here"
	mkfifo "$work/orders" "$work/answers"
	"$BUILD/tests/lib/calls" "$@" <"$work/orders" >"$work/answers" &
	caller=$!
	exec 8>"$work/orders" 9<"$work/answers"
	number=$(kernel_pid $caller)
	mine="syscall:entry:${1:-getppid} if \$ctx.tid == $number"
}
call() {
	echo "$1" >&8
	read -r answer <&9
	is "the caller's id" "$number" "$answer"
}
with_kernel_pid="-D_GNU_SOURCE= -include $top/tests/lib/kernel_pid.h"

# same_text SESSION: babeltrace2 and text agree on it (lib/same_text); $work/text is the text without
# lines about losses, as babeltrace2 prints those on standard error. In a guest, babeltrace2 takes
# seconds: there vm/lib.sh compares when the guest has ended.
same_text() {
	grep -v '^WARNING: Tracer ' "$1/text" >"$work/text"
	checks=$((checks + 1))
	if [ -n "${VM-}" ]; then
		later=$(mktemp -d "$OUT/same.$VM.XXXXXX") && cp -r "$1/trace" "$later/trace" &&
			cp "$work/text" "$later/text" || fail "$1 cannot be copied"
		return
	fi
	differ=$("$top/tests/lib/same_text" "$1/trace" "$work/text" "$work") ||
		fail "text of $1 is not what babeltrace2 says: $differ"
}

# Whether trail.ko records, or tracefs: only this one has instances.
by_module() {
	grep -q '^kernel module' "$MNT/version"
}

# kernel_channels PATTERN: how many channels in the kernel have such a name after trailfs-, whether
# there is a daemon or not
kernel_channels() {
	{ [ ! -e /dev/trail ] || "$BUILD/tests/vm/heads"; ls $T/instances; } | grep -c "^trailfs-$1"
}

# kernel_probes SESSION: starts of lines of tracefs that define probes of this mount's daemon; a started
# session with events of the kernel says how the daemon marks them
kernel_probes() {
	# (trail.ko has channels in the place of instances, and nothing runs beside a test of it.)
	by_module && echo :trailfs_ && return
	ls $T/instances | sed -n "s/^trailfs-$1-.*-\(........\)\$/^[a-z0-9]*:trailfs_\1\//p" | head -n 1
}

# counts_all CHANNEL: before its rules are set; each event of this channel is recorded, or discarded
# where its buffer is full. (Linux 7.0 may preempt a BPF program, and misses then the events of that
# thread: they count as discarded, and no buffer counts them.)
counts_all() {
	! programs_record || ! kernel_since 7.0 || put tracefs "$1/backend"
}

# record_whole COMMAND…: calls it, which makes the session $s and records in it; again, in a new
# session, where Linux 7.0 has preempted a BPF program, and so missed events that are counted
record_whole() {
	"$@"
	for again in 1 2 3 4 5; do
		kernel_since 7.0 && [ "$(key events_discarded "$s/status")" != 0 ] || return 0
		rmdir "$s"
		"$@"
	done
}

# kernel_counted NAME: events of the channels trailfs-NAME-*, fetched and lost, as the kernel counts
# them
kernel_counted() {
	if by_module; then
		"$BUILD/tests/vm/heads" "trailfs-$1-" |
			awk '{ n += $2 + $4 } END { printf "%d\n", n }'
		return
	fi
	{
		cat $T/instances/trailfs-"$1"-*/per_cpu/cpu*/stats
		"$BUILD/tests/lib/bpf_rings" "trailfs-$1-"
	} |
		awk '/^read events:|^overrun:|^commit overrun:|^dropped events:|^entries:/ { n += $NF } END { printf "%d\n", n }'
}

# stop_process PID: SIGSTOP, and waits until none of its threads runs any more. (The signal is taken
# by one thread, which stops the others: until it runs they go on.)
stands() { ! sed 's/.*) //' /proc/"$1"/task/*/stat | grep -qv '^T'; }
stop_process() {
	kill -STOP "$1" || fail "process $1 is not there"
	within 20 stands "$1" || fail "process $1 does not stop"
}

# all_written SESSION_DIRECTORY: waits until its output has all that was recorded. (A look at text
# asks the output to write; what it could not write within its time is pending.)
is_written() { head -c 1 "$1/text" >"$work/first" && grep -q '^pending_bytes 0$' "$1/status"; }
all_written() { within 60 is_written "$1" || fail "not all is written: $(cat "$1/status")"; }

# one_cpu COMMAND…: runs it on one CPU, always the same
first_cpu=$(awk '/^Cpus_allowed_list/ { split($2, c, "[-,]"); print c[1] }' /proc/self/status)
one_cpu() { taskset -c "$first_cpu" "$@"; }

# copy_image FROM TO: cp -r of a trace image. An image lasts for two seconds after the last look of
# the process: a cp that had to wait longer for its CPU finds another one, says so, and begins
# again.
copy_image() {
	until cp -r "$1" "$2" 2>"$work/cp.err"; do
		grep -q 'replaced while being copied' "$work/cp.err" ||
			fail "cp -r $1: $(cat "$work/cp.err")"
		rm -rf "$2"
	done
}

# put WORDS FILE: echo, that says why it failed
put() {
	printf '%s\n' "$1" >"$2" || fail "echo '$1' > ${2#"$MNT"/}"
}

# small_disk SIZE: $disk is a file system in memory, unmounted at exit
small_disk() {
	disk=$work/disk
	mkdir "$disk"
	mount -t tmpfs -o "size=$1" small "$disk" 2>/dev/null || skip "cannot mount a tmpfs"
	trap 'code=$?; umount -l "$disk"; (exit $code); clean_up' EXIT
}

# faulty_disk: $disk is a file system, in $work/back, that fails as $control has it (faultfs.c)
faulty_disk() {
	disk=$work/disk
	control=$work/control
	[ -x "$BUILD/tests/lib/faultfs" ] || skip "there is no faultfs"
	can_mount
	mkdir "$disk" "$work/back"
	: >"$control"
	"$BUILD/tests/lib/faultfs" "$work/back" "$control" "$disk" 2>"$work/faultfs.log" ||
		skip "cannot mount a file system: $(cat "$work/faultfs.log")"
	trap 'code=$?; : >"$control"; umount -l "$disk" 2>/dev/null || fusermount3 -u -z "$disk"; (exit $code); clean_up' EXIT
}

# is WHAT EXPECTED GOT
is() {
	checks=$((checks + 1))
	[ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

# has TEXT PATTERN: some line of the text matches
has() {
	checks=$((checks + 1))
	printf '%s\n' "$1" | grep -q -- "$2" || fail "no '$2' in: $1"
}

# key NAME FILE: the value of a `key value` line
key() {
	awk -v k="$1" '$1 == k { print $2 }' "$2"
}
