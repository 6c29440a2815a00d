# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests with control groups, after mount.sh. make_group makes $group, a directory below $root;
# $in_group GROUP COMMAND… begins a command that is in a group from its first instruction on. At the
# end the processes in $members end, and the directories in $groups go, then $group.
[ "$(id -u)" = 0 ] || skip "needs root"
members= groups=
leave_groups() {
	status=$?
	exec 8>&- 9<&-
	kill $members 2>/dev/null
	wait
	for g in $groups "$group"; do
		[ ! -d "$g" ] || within 10 rmdir "$g" 2>/dev/null
	done
	(exit $status)
	clean_up
}
# make_group [ROOT…]: below the first of these that can be written
make_group() {
	group=
	for root in "$@" /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd \
		/sys/fs/cgroup/pids; do
		[ -e "$root/cgroup.procs" ] && command mkdir "$root/trailfs-$$" 2>/dev/null &&
			group=$root/trailfs-$$ && break
	done
	[ -n "$group" ] || skip "no control group can be made here"
	trap leave_groups EXIT
	in_group=$work/in_group
	printf '%s\n' '#!/bin/sh' 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' >"$in_group"
	chmod +x "$in_group"
}
# group_path: the path of $group, as the kernel has it
group_path() {
	"$in_group" "$group" cat /proc/self/cgroup |
		sed -n "s,^[0-9]*:[^:]*:\(.*/trailfs-$$\)$,\1,p" | head -n 1
}
