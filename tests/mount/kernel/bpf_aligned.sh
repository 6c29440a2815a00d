#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A kernel that takes only BPF programs which load and store at multiples of the size, as for
# riscv64: programs record system calls with their texts and tracepoints, with all contexts, and the
# kernel refuses none of them. Where it refuses all, with the backend `bpf`, `error` and `status` say
# which event is not recorded, and why, at `start` and at a rule that is written later.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/refuse.sh"

# new_session NAME: $s, which BPF programs record
new_session() {
	s=$S/$1$mark
	command mkdir "$s" "$s/kernel/channels/channel0" || fail mkdir
	put bpf "$s/kernel/channels/channel0/backend"
}
: >"$work/marker"

mount_refusing apart
# (Counters of the processor may be missing here.)
contexts=$(grep -v '^perf' "$MNT/available/kernel/contexts" | cut -d ' ' -f 1)
# Without the kernel's types, the daemon says which context needs them. Others are recorded.
if [ ! -e /sys/kernel/btf/vmlinux ]; then
	new_session types
	put "$contexts" "$s/kernel/contexts"
	put sched:sched_switch "$s/kernel/events"
	is "contexts without types" EOPNOTSUPP "$(tool open "$s/control" w write 'start\n')"
	has "$(cat "$s/error")" \
		"BPF programs cannot record '.*' without the kernel's types: /sys/kernel/btf/vmlinux: "
	rmdir "$s"
	contexts=$(echo "$contexts" | grep -x 'pid\|tid\|procname\|cpu_id\|cgroup_id\|callstack-.*')
fi
for contexts in "" "$contexts"; do
	new_session aligned
	[ -z "$contexts" ] || put "$contexts" "$s/kernel/contexts"
	for r in syscall:entry:openat syscall:exit:openat syscall:entry:execve sched:sched_switch \
		sched:sched_process_exec sched:sched_process_fork; do
		[ ! -e "$MNT/available/kernel/events/$(echo "$r" | tr : /)" ] && [ "${r#sys}" = "$r" ] ||
			echo "$r"
	done >"$s/kernel/events"
	put start "$s/control"
	/bin/cat "$work/marker" >/dev/null
	is "refused" "" "$(cat "$s/error" "$s/kernel/channels/channel0/status" | grep -a refuse)"
	put stop "$s/control"
	is "texts are recorded" 1 "$(grep -c "entry_openat: .*filename = \"$work/marker\"" "$s/text")"
	rmdir "$s"
done
umount "$MNT" || fail umount
within 20 daemon_ended || fail "the daemon does not end"

mount_refusing records
: >"$REFUSE_WHILE"
why='the kernel refuses syscalls:sys_enter_openat: the kernel refuses the BPF program: Invalid argument'
new_session refused
put syscall:entry:openat "$s/kernel/events"
put start "$s/control"
has "$(cat "$s/error")" "^channel channel0: $why\$"
has "$(cat "$s/status")" "^problem channel0: $why\$"
is "a rule of a session that records" EINVAL \
	"$(tool open "$s/kernel/channels/channel0/events" w write 'syscall:entry:openat\nsyscall:entry:getppid\n')"
has "$(cat "$s/error")" "^events: the rules are saved, but $why\$"
rm "$REFUSE_WHILE"
put syscall:entry:openat "$s/kernel/events"
is "nothing is refused any more" "" "$(cat "$s/error" "$s/status" | grep -a 'the kernel refuses')"
/bin/cat "$work/marker" >/dev/null
put stop "$s/control"
is "and it is recorded" 1 "$(grep -c "entry_openat: .*filename = \"$work/marker\"" "$s/text")"
echo "$checks checks"
