#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# The daemon: background and foreground, exit statuses, options and configuration, one per state
# directory, signals, unmounts, a mount that was left by a killed daemon, what it costs when idle.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount

gone() {
	! mounted && daemon_ended
}

# Background: returns when it works. It keeps no file of the caller, which may hold a lock by it.
: >"$work/lock"
exec 9<"$work/lock"
mount_tree
[ -z "$(find /proc/"$(daemon_pids | head -n 1)"/fd -lname "$work/lock")" ] || fail "a file of the caller is open"
exec 9<&-
cat "$MNT/version" >/dev/null || fail "mounted, but does not answer"
is "nothing was printed" "" "$(cat "$work/daemon.log")"
# It has the shortest slice, where the kernel lets a thread choose, and shows it.
if grep -q '^se.slice' /proc/self/sched 2>/dev/null &&
	uname -r | awk -F. '{ exit !($1 > 6 || ($1 == 6 && $2 >= 12)) }'; then
	is "slice" 100000 \
		"$(awk '$1 == "se.slice" { print $3 }' /proc/"$(daemon_pids | head -n 1)"/sched)"
fi
fusermount3 -u "$MNT" || fail "fusermount3 -u"
within 10 gone || fail "the daemon stays after fusermount3 -u"

# A caller may have closed its standard streams: no other file gets their numbers.
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	eval 'timeout 200 "$TRAILFS" "$MNT"' "$closed" || fail "$closed: exit status $?"
	mounted || fail "$closed: nothing is mounted"
	cat "$MNT/version" >"$work/out" || fail "$closed: does not answer"
	fusermount3 -u "$MNT" || fail "$closed: fusermount3 -u"
	within 10 gone || fail "$closed: the daemon stays"
done

# Errors: on stderr, exit status 1, nothing mounted
# refuse PATTERN ARGUMENT…
refuse() {
	pattern=$1
	shift
	timeout 200 "$TRAILFS" "$@" >"$work/out" 2>"$work/err" && fail "trailfs $*: exit status 0"
	is "exit status of trailfs $*" 1 "$(timeout 200 "$TRAILFS" "$@" >/dev/null 2>&1; echo $?)"
	has "$(cat "$work/err")" "$pattern"
	mounted && fail "trailfs $*: mounted"
}
refuse usage
refuse 'unknown option' "$MNT" -o nonsense
refuse 'unknown argument' "$MNT" --nonsense
refuse 'No such file' "$work/none"
refuse 'time zone' "$MNT" -o tz=Mars/Olympus
refuse 'max_frozen' "$MNT" -o max_frozen=lots
refuse "'5000000000' is not possible: it is too large" "$MNT" -o relay_timeout=5000000000
refuse "'5x' is not a time like" "$MNT" -o relay_timeout=5x
refuse "'1.9' is not 1.8 or 2" "$MNT" -o ctf_version=1.9
refuse 'too many' a b c
: >"$work/file"
refuse . "$MNT" -o state="$work/file"

# --help, --version
has "$("$TRAILFS" --help)" '^usage: trailfs MOUNTPOINT'
has "$("$TRAILFS" --help)" 'max_frozen'
has "$("$TRAILFS" --version)" '^trailfs [0-9]'

# Foreground
"$TRAILFS" "$MNT" -f >"$work/daemon.log" 2>&1 &
pid=$!
within 10 test -s "$MNT/README" || fail "-f does not mount"
kill -0 $pid || fail "-f went to the background"
kill -INT $pid
wait $pid
is "exit status after SIGINT" 0 $?
mounted && fail "SIGINT does not unmount"

# Signals unmount and end the sessions
for sig in TERM INT HUP; do
	mount_tree
	mkdir "$S/s" || fail "the sessions of the last mount are still there"
	echo 'a:*' >"$S/s/user/events"
	echo start >"$S/s/control"
	kill -$sig "$(daemon_pids)"
	within 10 gone || fail "SIG$sig does not unmount"
done
mount_tree
is "no session is left" "" "$(ls "$S")"
# A second daemon on one state directory
mkdir "$work/mnt2"
timeout 200 "$TRAILFS" "$work/mnt2" 2>"$work/err" && fail "a second daemon on one state directory"
has "$(cat "$work/err")" "$TRAIL_RUNTIME_DIR"
grep -q " $work/mnt2 " /proc/self/mounts && fail "the second daemon mounted"
cat "$MNT/version" >/dev/null || fail "the first one does not answer any more"
# … but one on another
"$TRAILFS" "$work/mnt2" -o state="$work/state2" || fail "a second daemon on another state directory"
mkdir "$work/mnt2/sessions/only_there" || fail mkdir
[ -e "$S/only_there" ] && fail "two daemons share sessions"
fusermount3 -u "$work/mnt2" || fail "unmount of the second"

# Unmount while it is used, then lazily
mkdir "$S/s"
exec 3<"$S/s/pipe"
fusermount3 -u "$MNT" 2>/dev/null && fail "unmounted though a file is open"
cat "$MNT/version" >/dev/null || fail "does not answer after a refused unmount"
umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT" || fail "lazy unmount"
exec 3<&-
within 10 gone || fail "the daemon stays after a lazy unmount"

# After kill -9 requests wait for a minute; the next daemon takes the mount over, and finds the
# sessions. Without one the mount ends.
mount_tree
mkdir "$S/kept" || fail mkdir
echo 'k:*' >"$S/kept/user/events"
kill -9 "$(daemon_pids)"
within 5 daemon_ended
[ -z "${SOAK-}" ] || ! stat "$MNT" >/dev/null 2>&1 || fail "kill -9, but the mount is not dead"
mount_tree
is "one mount only" 1 "$(grep -c " $MNT fuse" /proc/self/mounts)"
is "the session is there again" "k:*" "$(cat "$S/kept/user/events")"
# In a relative path, with a slash at the end
kill -9 "$(daemon_pids)"
within 5 daemon_ended
(cd "$work" && timeout 200 "$TRAILFS" mnt/) || fail "taking over by a relative path"
is "the session is there again (2)" "k:*" "$(cat "$S/kept/user/events")"
within 5 fusermount3 -u "$MNT" || fail "unmount"
within 10 gone || fail "the daemon stays"

# A dead mount that is not ours is left alone: here a live one of ours, over which a second daemon
# must not mount
mount_tree
refuse_second=$(timeout 200 "$TRAILFS" "$MNT" 2>&1) && fail "mounted twice"
is "one mount only (2)" 1 "$(grep -c " $MNT fuse" /proc/self/mounts)"
[ -n "$refuse_second" ] || fail "a second daemon is refused without a word"
fusermount3 -u "$MNT"
within 10 gone

# As mount(8) does it
"$TRAILFS" none "$MNT" -o rw,dev,suid || fail "with a source, as mount.fuse3 calls it"
grep -q "^none $MNT fuse.trailfs" /proc/self/mounts ||
	fail "source and type: $(grep "$MNT" /proc/self/mounts)"
fusermount3 -u "$MNT"
within 10 gone
if [ "$(id -u)" = 0 ] && [ -x /sbin/mount.fuse3 ]; then
	# What mount -t fuse.trailfs none … does, once trailfs is installed where mount(8) finds it
	/sbin/mount.fuse3 "$TRAILFS#none" "$MNT" -o tz=UTC,noauto,user || fail "mount.fuse3"
	mounted || fail "mount.fuse3: nothing is mounted"
	is "its options" UTC "$(key time_zone "$MNT/version")"
	umount "$MNT" || fail umount
	within 10 gone
fi

# Configuration: the file, then -o
printf '; comment\n[trailfs]\ntz = America/New_York\nmax_sessions = 2\n' \
	>"$XDG_CONFIG_HOME/trailfs.conf"
if [ -e /usr/share/zoneinfo/America/New_York ]; then
	mount_tree
	is "zone of the file" America/New_York "$(key time_zone "$MNT/version")"
	fusermount3 -u "$MNT"
	within 10 gone
fi
mount_tree -o tz=CET-1CEST
is "-o wins" CET-1CEST "$(key time_zone "$MNT/version")"
mkdir "$S/one" "$S/two" || fail mkdir
mkdir "$S/three" 2>/dev/null && fail "max_sessions does not hold"
fusermount3 -u "$MNT"
within 10 gone
printf '[trailfs]\nnonsense = 1\n' >"$XDG_CONFIG_HOME/trailfs.conf"
refuse "unknown option 'nonsense'" "$MNT"
has "$(cat "$work/err")" 'line 2'
printf '[other]\ntz = UTC\n' >"$XDG_CONFIG_HOME/trailfs.conf"
refuse 'unknown section' "$MNT"
rm "$XDG_CONFIG_HOME/trailfs.conf"

# Idle: no CPU, no wake-ups, little memory; the same after some use
mount_tree
mkdir "$S/i"
echo 'trail:log' >"$S/i/user/events"
echo start >"$S/i/control"
head -c 100000 /dev/zero | tr '\0' '#' | fold -w 80 >"$S/i/user/events"
# (All that can be traced is thousands of files: once.)
ls -lR "$MNT" >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do
	ls -lR "$S" "$MNT/apps" >/dev/null
	echo "message $i" >"$MNT/log"
	cat "$S/i/text" "$MNT/status" >/dev/null
	find "$S/i/trace" -type f -exec cat {} + >/dev/null
	timeout 0.1 cat "$S/i/pipe" >/dev/null
done
pid=$(daemon_pids)
switches() {
	cat /proc/"$pid"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}
# What it does after it was used comes to an end; on a slow machine later.
idle() {
	before=$(switches)
	sleep 2
	after=$(switches)
	[ $((after - before)) -le 1 ]
}
within 20 idle || fail "the idle daemon woke up $((after - before)) times in two seconds"
# Its own memory: how many pages of libraries are mapped besides depends on the kernel.
rss=$(awk '/^RssAnon/ { print $2 }' /proc/"$pid"/status)
# (The slower the machine, the more requests come at once, and the more threads serve them.)
threads=$(ls /proc/"$pid"/task | wc -l)
echo "idle: $rss kB, $threads threads"
# (The sanitizers' builds are larger. `ls -lR` above made each picture, to know its size.)
[ -n "${SAN-}" ] || case $TRAILFS in *san/*) ;; *) [ "$rss" -lt $((6144 + threads * 32)) ] ||
	fail "the idle daemon has $rss kB" ;; esac
rmdir "$S/i"
echo "$checks checks"
