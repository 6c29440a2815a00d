#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# chroot, then fork: parent and child record all their events, in a session that was active before
# and in one that starts later; without a daemon, they are counted.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
program=$BUILD/tests/mount/programs/chroot
mkdir "$work/jail"
mount_tree
session() {
	mkdir "$S/$1" "$S/$1/user/channels/c" && echo "$2" >"$S/$1/user/channels/c/buffering" &&
		echo 'jail:*' >"$S/$1/user/channels/c/events" && echo start >"$S/$1/control" ||
		fail "session $1"
}
# begin ARGUMENT…: until both processes have recorded the first events
begin() {
	mkfifo "$work/in" "$work/out"
	"$program" "$work/jail" "$@" <"$work/in" >"$work/out" &
	pid=$!
	exec 8>"$work/in" 9<"$work/out"
	read -r one <&9
	read -r two <&9
	[ "$one$two" = readyready ] || fail "the program does not run: '$one' '$two'"
}
end() {
	exec 8>&-
	wait $pid || fail "the program ended with status $?"
	exec 9<&-
	rm "$work/in" "$work/out"
}
count() { grep -c " jail:$2: " "$S/$1/text"; }

for buffering in user process; do
	for close in '' close; do
		session early $buffering
		begin $close
		session late $buffering
		end
		what="buffering $buffering $close"
		is "$what: early" "1 100 100 100 100" "$(for e in before parent child late_parent \
			late_child; do count early $e; done | tr '\n' ' ' | sed 's/ $//')"
		is "$what: late" "100 100" "$(count late late_parent) $(count late late_child)"
		is "$what: all" 401 "$(key events_recorded "$S/early/status")"
		rmdir "$S/early" "$S/late" || fail rmdir
	done
done

# The daemon is killed meanwhile, and a session starts after that: hits are recorded in the buffers
# that there are, all others are counted
session early user
begin
kill -9 "$(daemon_pids)"
within 20 daemon_ended
end
mount_tree
is "without a daemon" 401 "$(($(key events_recorded "$S/early/status") +
	$(key events_discarded "$S/early/status")))"
echo "$checks checks"
