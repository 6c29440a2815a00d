#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# After chroot(2) a child shares its parent's registration, and track/cgroup knows both by the group
# of the parent: also when the child is in another group and asks the daemon last, and when the
# parent has ended. A process that the daemon's PID namespace does not have is in no group.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"
program=$BUILD/tests/mount/programs/chroot
ticker=$BUILD/tests/lib/ticker
make_group
groups="$group/one $group/other"
mkdir "$group/one" "$group/other" "$work/jail" || fail mkdir
path=$(group_path)
[ -n "$path" ] || fail "the group has no path"
mount_tree
# session NAME RULE GROUP
session() {
	mkdir "$S/$1" && put "$2" "$S/$1/user/events" && put "$path/$3" "$S/$1/user/track/cgroup" &&
		put start "$S/$1/control"
}
count() { grep -c " jail:$2: " "$S/$1/text"; }
session one 'jail:*' one
session other 'jail:*' other

mkfifo "$work/in" "$work/out"
"$in_group" "$group/one" "$program" "$work/jail" <"$work/in" >"$work/out" &
members=$!
exec 8>"$work/in" 9<"$work/out"
read -r first <&9
read -r second <&9
is "both run" readyready "$first$second"
child=$(pgrep -P $members)
echo "$child" >"$group/other/cgroup.procs" || fail "the child cannot be moved"
# Another session: each asks again at its next event.
mkdir "$S/late" && put 'jail:*' "$S/late/user/events" && put start "$S/late/control"
kill -STOP $members
exec 8>&-
ended() { [ "$(cut -d ' ' -f 3 /proc/$child/stat 2>/dev/null)" = Z ]; }
within 20 ended || {
	kill -CONT $members
	fail "the child does not end"
}
of_child=$(count one late_child)
kill -CONT $members
is "the child's events" 100 "$of_child"
wait $members || fail "the parent ends with $?"
members=
exec 9<&-
is "the parent's events" "100 100" "$(count one parent) $(count one late_parent)"
is "losses" 0 "$(key events_discarded "$S/one/status")"
is "the child's group" "0" "$(key events_recorded "$S/other/status")"

# ---- a daemon in a PID namespace: the program is outside ----

if unshare -m -p -f --mount-proc true 2>/dev/null; then
	mkdir "$work/inside" "$work/state2"
	mkfifo "$work/go" "$work/up"
	cat >"$work/inside.sh" <<'SH'
	"$1" "$2" -o keeper=0 && mkdir "$2/sessions/s" "$2/sessions/all" &&
		echo 'tick:*' >"$2/sessions/s/user/events" &&
		echo 'tick:*' >"$2/sessions/all/user/events" &&
		echo /none >"$2/sessions/s/user/track/cgroup" &&
		echo start >"$2/sessions/s/control" && echo start >"$2/sessions/all/control"
	echo up >"$3/up"
	read -r line <"$3/go"
	grep -c tick:tock "$2/sessions/all/text"
	grep -c tick:tock "$2/sessions/s/text"
	sed -n 's/^events_discarded //p' "$2/sessions/s/status"
	umount "$2"
SH
	TRAIL_RUNTIME_DIR=$work/state2 unshare -m -p -f --mount-proc sh "$work/inside.sh" "$TRAILFS" \
		"$work/inside" "$work" >"$work/counts" 2>&1 &
	read -r line <"$work/up"
	TRAIL_RUNTIME_DIR=$work/state2 "$ticker" 30 0 || fail ticker
	echo go >"$work/go"
	wait $!
	is "of a process outside" "30 0 0" "$(echo $(cat "$work/counts"))"
else
	echo "# no PID namespaces here"
fi
echo "$checks checks"
