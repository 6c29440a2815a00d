#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The context cgroup_id is the inode number of the control group that the thread was in at the
# event: of a process that goes from one group to another and back.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
grep -qx cgroup_id "$MNT/available/kernel/contexts" ||
	skip "nothing records control groups here: $(grep '^kernel' "$MNT/version")"
groups=$work/groups
mkdir "$groups"
mount -t cgroup2 none "$groups" 2>/dev/null || skip "control groups of version 2 cannot be mounted"
own=$groups/trailfs-test-$$
leave() {
	exec 8>&-
	wait
	rmdir "$own/in" "$own"
	umount "$groups"
}
trap 'code=$?; leave; (exit $code); clean_up' EXIT
mkdir -p "$own/in" || skip "no control group can be made"

start_caller
s=$S/g$mark
mkdir "$s"
put 'tid cgroup_id' "$s/kernel/contexts"
put "$mine" "$s/kernel/events"
put start "$s/control"
for group in "$own" "$own/in" "$own"; do
	echo $caller >"$group/cgroup.procs" || skip "no process can be moved"
	call 3
	stat -c %i "$group" "$group" "$group" >>"$work/want"
done
put stop "$s/control"
sed -n 's/.*entry_getppid.* cgroup_id = \([0-9]*\) .*/\1/p' "$s/text" >"$work/got"
is "groups" "$(cat "$work/want")" "$(cat "$work/got")"
exec 8>&-
wait $caller
same_text "$s"
echo "$checks checks"
