#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A process that records is moved to another control group, and forks: its children are in that one
# for track/cgroup and for the context cgroup, from their first event on, however short they live.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"
program=$BUILD/tests/mount/programs/forked_groups
make_group
groups="$group/old $group/new"
mkdir "$group/old" "$group/new" || fail mkdir
path=$(group_path)
[ -n "$path" ] || fail "the group has no path"
mount_tree
# session NAME PATH…: records the processes of these groups
session() {
	mkdir "$S/$1" && put 'groups:*' "$S/$1/user/events" && put cgroup "$S/$1/user/contexts"
	[ -z "${2-}" ] || put "$2" "$S/$1/user/track/cgroup"
	put start "$S/$1/control"
}
count() { grep -c " groups:$2: " "$S/$1/text"; }
all() { echo "$(count $1 parent) $(count $1 child) $(key events_discarded "$S/$1/status")"; }

# The parent has places in no session, in one of its own group, and in one of all processes.
for sessions in new "new old" "new all" "new old all"; do
	for s in $sessions; do
		case $s in
		all) session all ;;
		*) session $s "$path/$s" ;;
		esac
	done
	"$in_group" "$group/old" "$program" "$group/new/cgroup.procs" 40 || fail "ends with $?"
	for s in $sessions; do
		case $s in
		new) is "$sessions: the new group" "0 120 0" "$(all new)" ;;
		old) is "$sessions: the old group" "1 0 0" "$(all old)" ;;
		all) is "$sessions: all" "1 120 0" "$(all all)" ;;
		esac
	done
	for s in $sessions; do
		is "$sessions: contexts of $s" 0 "$(grep ' groups:child: ' "$S/$s/text" |
			grep -vc "cgroup = { \"[^\"]*/trailfs-$$/new\" }")"
		rmdir "$S/$s" || fail rmdir
	done
done
echo "$checks checks"
