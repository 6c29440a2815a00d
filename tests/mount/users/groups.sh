#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# Groups that a process has by its credentials (setpriv, systemd's SupplementaryGroups=) count as
# those of the database do: for the kernel domain, for output directories, and after a crash of the
# daemon. They do not pass to another owner.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "only root can be two users"
command -v setpriv >/dev/null || skip "there is no setpriv"
alice=12345 gid=54321 shared=54322
# A group that the user is no member of, in a database that is only seen here
{ grep -v '^tracing:' /etc/group; echo "tracing:x:$gid:"; } >"$work/group"
has_own_mounts
mount --bind "$work/group" /etc/group || skip "mount --bind is not possible here"
in_group() { # GROUPS COMMAND…
	g=$1
	shift
	timeout 200 setpriv --reuid $alice --regid $alice --groups "$g" "$@"
}

mount_tree
[ -d "$MNT/available/kernel" ] || skip "the kernel cannot be traced here"
in_group $alice mkdir "$S/out" || fail mkdir
[ ! -d "$S/out/kernel" ] || fail "a process outside the group may trace the kernel"
in_group $alice cat "$MNT/available/kernel/tracepoints" >"$work/x" 2>&1 &&
	fail "a process outside the group may read the kernel's tracepoints"

in_group $gid,$shared mkdir "$S/in" || fail mkdir
[ -d "$S/in/kernel" ] || fail "a process in the group may not trace the kernel"
in_group $gid cat "$MNT/available/kernel/tracepoints" >"$work/x" || fail tracepoints
in_group $gid sh -c 'echo sched_switch >"$1"' sh "$S/in/kernel/events" || fail events
# The opener needs the right, too.
in_group $alice sh -c 'echo sched_wakeup >"$1"' sh "$S/in/kernel/events" 2>/dev/null &&
	fail "a process outside the group may write kernel/events"

in_group $gid mkdir "$MNT/triggers/t" || fail mkdir
in_group $gid sh -c 'echo event kernel sched_switch >"$1"' sh "$MNT/triggers/t/condition" ||
	fail "the trigger: $(cat "$MNT/error")"

# An output below a directory of another group of that process
mkdir "$work/team" && chgrp $shared "$work/team" && chmod 770 "$work/team" && chmod 711 "$work"
in_group $alice,$shared sh -c 'echo "$1" >"$2"' sh "$work/team/no" "$S/out/output" 2>/dev/null &&
	fail "the session's owner is not in the directory's group"
in_group $gid,$shared sh -c 'echo "$1" >"$2"' sh "$work/team/yes" "$S/in/output" ||
	fail "output: $(cat "$S/in/error")"
[ "$(stat -c %u "$work/team/yes")" = $alice ] || fail "the directory is not the owner's"

# A killed daemon: the next one knows the groups.
kill -9 "$(daemon_pids)"
within 60 daemon_ended
umount -l "$MNT"
mount_tree
[ -d "$S/in/kernel" ] || fail "the session lost its groups in a crash"
is "the rule" "$(cat "$S/in/kernel/events")" sched_switch
has "$(cat "$MNT/triggers/t/status")" 'hits'
grep condition_error "$MNT/triggers/t/status" && fail "the trigger lost its groups in a crash"
[ ! -d "$S/out/kernel" ] || fail "another session has the groups"

# They do not pass to another owner.
chown 12346 "$S/in" || fail chown
[ ! -d "$S/in/kernel" ] || fail "the new owner has the former owner's groups"
echo "$checks checks"
