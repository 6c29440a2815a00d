#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that is not root and has CAP_BPF and CAP_PERFMON records by BPF programs, with stacks, and
# takes samples, if it may read tracefs. Without CAP_BPF it says what is missing, and tracefs records.
. "$(dirname "$0")/../../lib/mount.sh"

[ "$(id -u)" = 0 ] || skip "only root can give capabilities"
command -v setpriv >/dev/null || skip "there is no setpriv"
mount_kernel
programs_record ||
	skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
other=$(mktemp -d)      # not in $work, which others may not enter
chmod 755 "$other"
mkdir "$other/state" "$other/mnt"
chown nobody "$other/state" "$other/mnt"
chmod 700 "$other/state"
cat >"$other/run" <<'E'
# run CAPABILITIES DIRECTORY [LOCKED]: in a mount namespace of its own. dac_override stands for a tracefs that nobody may read.
caps=$1 other=$2
[ -z "$3" ] || ulimit -l "$3"
mount -t tmpfs none /mnt && mknod /mnt/fuse c 10 229 && chmod 666 /mnt/fuse &&
	mount --bind /mnt/fuse /dev/fuse || exit 77
HOME=$other TRAIL_RUNTIME_DIR=$other/state setpriv --reuid nobody --clear-groups \
	--inh-caps="$caps" --ambient-caps="$caps" sh -c '
	cd /
	grep CapEff /proc/self/status
	"$TRAILFS" "$1/mnt" || exit 77
	grep "^kernel" "$1/mnt/version"
	s=$1/mnt/sessions/s
	mkdir "$s"
	echo callstack-kernel >"$s/kernel/contexts"
	echo sched:sched_process_exec >>"$s/kernel/events"
	echo syscall:entry:openat >>"$s/kernel/events"
	echo sample:cpu 99hz >>"$s/kernel/events" || cat "$s/error"
	echo start >"$s/control"
	/bin/true
	echo stop >"$s/control"
	cat "$s/error"
	grep "sched_process_exec: .*/bin/true" "$s/text" | tail -n 1
	sed -n "s/.*\(filename = .*true\".*\)/\1/p" "$s/text" | tail -n 1
	grep "^backend\|refused" "$s/kernel/channels/channel0/status"
	rmdir "$s"
	fusermount3 -u "$1/mnt"' sh "$other"
E
export TRAILFS
# with CAPABILITIES: what the daemon said, in $work/said
with() {
	unshare -m --propagation private sh "$other/run" "$1,+dac_override" "$other" "$locked" \
		>"$work/said" 2>&1
	case $? in 0) ;; *) skip "no daemon with capabilities: $(tail -n 1 "$work/said")" ;; esac
}

locked=
with +bpf,+perfmon
if ! kernel_since 5.11; then
	has "$(cat "$work/said")" '^programs_refused .*: .*locked memory, .*`ulimit -l`'
	locked=unlimited
	with +bpf,+perfmon
fi
has "$(cat "$work/said")" '^CapEff:.*c000000002$'
has "$(cat "$work/said")" '^kernel tracefs and bpf'
# Debian's kernels leave perf_event_open(2) to root. In a guest that can be changed.
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoid" -gt 2 ] && grep -q '^programs_refused' "$work/said"; then
	has "$(cat "$work/said")" '^programs_refused .*: .*kernel.perf_event_paranoid above 2'
	has "$(cat "$work/said")" 'the kernel does not permit samples: .*kernel.perf_event_paranoid above 2'
	[ -n "${VM-}" ] || skip "kernel.perf_event_paranoid is $paranoid"
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	with +bpf,+perfmon
fi
has "$(cat "$work/said")" 'sched_process_exec: .*callstack_kernel = \[ \[0\] = 0xF.*filename = "/bin/true"'
has "$(cat "$work/said")" '^backend bpf$'
with +perfmon
has "$(cat "$work/said")" 'the daemon may not use BPF: .*CAP_BPF and CAP_PERFMON'
has "$(cat "$work/said")" 'sched_process_exec: .*filename = "/bin/true"'
rm -rf "$other"
echo "$checks checks"
