#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In a guest, a kernel that does not compile BPF programs: none is loaded, `version` and the refusal
# of the backend `bpf` say why, and what else records system calls does.
. "$(dirname "$0")/../../lib/mount.sh"
[ -n "${VM-}" ] || skip "it changes the whole machine: in guests only"
jit=/proc/sys/net/core/bpf_jit_enable
before=$(cat $jit 2>/dev/null) || skip "this kernel has no compiler of BPF programs"
mount_kernel
programs_record || skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
umount "$MNT" || fail umount
within 20 daemon_ended || fail "the daemon does not end"
echo 0 2>/dev/null >$jit || skip "this kernel always compiles BPF programs"
trap 'code=$?; echo $before >$jit; (exit $code); clean_up' EXIT

why="the kernel interprets BPF programs, which can fail: $jit is 0"
mount_kernel
has "$(cat "$MNT/version")" "^kernel tracefs (.*$why"
s=$S/interpreted$mark
mkdir "$s" "$s/kernel/channels/channel0"
put bpf "$s/kernel/channels/channel0/backend"
put syscall:entry:openat "$s/kernel/events"
is "start" EOPNOTSUPP "$(tool open "$s/control" w write 'start\n')"
has "$(cat "$s/error")" "the channel's .backend. is bpf, but $why"
put auto "$s/kernel/channels/channel0/backend"
: >"$work/marker"
put start "$s/control"
cat "$work/marker"
put stop "$s/control"
[ "$(grep -c ' syscall_entry_openat: ' "$s/text")" -gt 0 ] || fail "nothing is recorded: $(cat "$s/status")"
rmdir "$s"
echo "$checks checks"
