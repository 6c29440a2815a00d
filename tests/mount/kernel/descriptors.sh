#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A rule on many system calls, by a daemon that may open few files: `error` says which event has no
# BPF program, and why, before it says what else failed for this reason.
. "$(dirname "$0")/../../lib/mount.sh"

ulimit -n 40
mount_kernel
programs_record || skip "no BPF programs: $(grep '^kernel' "$MNT/version")"
by_programs
s=$S/d$mark
mkdir "$s" "$s/kernel/channels/channel0"
put sched:sched_switch "$s/kernel/events"
put start "$s/control"
is "at first" "" "$(cat "$s/error")"
echo 'syscall:*at' 2>"$work/said" >>"$s/kernel/events"
has "$(cat "$s/error")" '^.*syscalls:sys_[a-z]*_[a-z0-9_]*.*: Too many open files'
is "the cause comes first" 1 "$(grep -n syscalls: "$s/error" | head -n 1 | cut -d : -f 1)"
echo "$checks checks"
