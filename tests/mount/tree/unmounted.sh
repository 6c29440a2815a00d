#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 90
#
# The end of the daemon: what it logs of it, and what is left of it when the mount was taken away
# but another mount namespace has a copy.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
: >"$work/daemon.log"

start() {
	"$TRAILFS" "$MNT" -f >"$work/daemon.log" 2>&1 &
	daemon=$!
	within 10 test -s "$MNT/README" || {
		[ "$(id -u)" = 0 ] ||
			skip "an ordinary user cannot mount here: $(cat "$work/daemon.log")"
		fail "no mount"
	}
}

# The log names the reason and what goes with the daemon
start
mkdir "$S/one" "$S/two"
echo 'a:*' >"$S/one/user/events"
echo start >"$S/one/control"
kill -TERM $daemon
wait $daemon
is "exit status" 0 $?
has "$(cat "$work/daemon.log")" "SIGTERM of process $$: destroys 2 sessions (one active, two)"
start
mkdir "$MNT/triggers/t" "$MNT/triggers/u"
fusermount3 -u "$MNT" || fail "unmount"
wait $daemon
has "$(cat "$work/daemon.log")" 'unmounted: destroys no sessions and 2 triggers$'

# The triggers of a killed daemon stay when the next one cannot mount, although there is no session
start
mkdir "$MNT/triggers/t"
kill -9 $daemon
wait $daemon 2>/dev/null
within 10 daemon_ended
fusermount3 -u -z "$MNT" || fail "unmount without a daemon"
timeout 20 "$TRAILFS" "$MNT" -o context=no:such:thing 2>/dev/null && fail "a mount with nonsense"
start
is "the trigger" t "$(ls "$MNT/triggers")"
rmdir "$MNT/triggers/t"
kill -TERM $daemon
wait $daemon
has "$(cat "$work/daemon.log")" 'destroys no sessions$'

# A second daemon says which daemon is there
start
mkdir "$work/mnt2"
timeout 200 "$TRAILFS" "$work/mnt2" 2>"$work/err" && fail "a second daemon on one state directory"
has "$(cat "$work/err")" "process $daemon.*mounted on $MNT.*fusermount3 -u $MNT"

# Unmounted here, but a process in another mount namespace has a copy
can_unshare() {
	[ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null
}
if ! can_unshare; then
	fusermount3 -u "$MNT"
	wait $daemon
	echo "$checks checks; no mount namespaces here"
	exit 0
fi
mkdir "$S/kept"
mkfifo "$work/end"
# (exec: one process in that namespace, and none when it has ended)
unshare -m --propagation private sh -c 'echo $$ >"$1/elsewhere"; exec cat "$1/end" >/dev/null' sh \
	"$work" &
exec 3>"$work/end"
within 10 test -s "$work/elsewhere" || fail "no second namespace"
elsewhere=$(cat "$work/elsewhere")
umount "$MNT" || fail umount
mounted && fail "still mounted"
timeout 200 "$TRAILFS" "$MNT" 2>"$work/err" && fail "two daemons on one state directory"
has "$(cat "$work/err")" "process $daemon,"
has "$(cat "$work/err")" "$MNT"
# (Another test may have made a mount namespace meanwhile: its process has a copy, too.)
has "$(cat "$work/err")" "process [0-9]* has it"
has "$(cat "$work/err")" "kill $daemon"
is "the tree elsewhere" kept "$(nsenter -t "$elsewhere" -m -r ls "$S")"

# Another tree on the same place is not unmounted by the end of the first daemon
"$TRAILFS" "$MNT" -o state="$work/state2" >"$work/second.log" 2>&1 ||
	fail "another state directory: $(cat "$work/second.log")"
mkdir "$S/second" || fail "mkdir in the second tree"
kill -TERM $daemon
wait $daemon
is "exit status when it was unmounted" 0 $?
mounted || fail "the first daemon's end unmounted the second's tree"
is "sessions of the second" second "$(ls "$S")"
fusermount3 -u "$MNT"
within 10 daemon_ended || fail "the second daemon stays"
exec 3>&-

# Without a signal: the daemon ends with the last namespace that has the tree
start
unshare -m --propagation private sh -c 'echo $$ >"$1/elsewhere"; exec cat "$1/end" >/dev/null' sh \
	"$work" &
exec 3>"$work/end"
umount "$MNT"
kill -0 $daemon || fail "ended though another namespace has the tree"
exec 3>&-
wait $daemon
has "$(cat "$work/daemon.log")" 'unmounted: destroys'
echo "$checks checks"
