#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# A daemon is killed, or upgraded, while its mount is not at its path any more and has not ended: it
# was unmounted lazily and has open files, or another mount is on it. The next daemon continues with
# it, and its sessions end when it does. Sessions end as well if the mount point was removed, if the
# mount was unmounted during an upgrade, and if daemons had died before the unmount.
. "$(dirname "$0")/../../lib/successor.sh"
. "$top/tests/lib/next_daemon.sh"
# all_end WHAT: daemon and keeper end, and no session is left.
all_end() {
	within 20 ended || fail "$1: sessions or keeper stay: $(keeper_pid)"
	start
	is "sessions after $1" "" "$(sessions)"
}
# kill_daemon: and waits until another one serves, which the current directory is in
kill_daemon() {
	pid=$(daemon_pids)
	kill -9 $pid
	within 20 replaced || fail "no daemon comes after $pid"
}
replaced() { grep -qs '^pid ' status && ! grep -qs "^pid $pid\$" status; }
become <"$real"
start

# --- unmounted lazily; this shell works in it and has a file open
mkdir "$S/s" || fail mkdir
here=$PWD
cd "$MNT" || fail cd
exec 4<sessions/s/config
dd bs=10 count=1 <&4 >"$work/open" 2>/dev/null
cat sessions/s/config >"$work/whole" || fail "cat config"
fusermount3 -u -z "$MNT" || fail unmount
kill_daemon
is "sessions of the mount that was unmounted lazily" "s " "$(ls sessions | tr '\n' ' ')"
mkdir sessions/t || fail "mkdir in the mount that was unmounted lazily"
kill_daemon
is "sessions after a second death" "s t " "$(ls sessions | tr '\n' ' ')"
pid=$(daemon_pids)
upgraded status && fail "it was upgraded before"
kill -USR2 $pid
within 20 upgraded status || fail "no upgrade: $(cat error)"
is "the upgraded daemon" "$pid" "$(daemon_pids)"
is "sessions after an upgrade" "s t " "$(ls sessions | tr '\n' ' ')"
cat <&4 >>"$work/open" || fail "the file that is open"
cmp "$work/whole" "$work/open" || fail "the file that is open has other bytes"
cd "$here" || fail cd
exec 4<&-
all_end "a lazy unmount and three daemons"

# --- another mount is on it
if [ "$(id -u)" = 0 ] && mount -t tmpfs none "$MNT" 2>/dev/null; then
	umount "$MNT"
	mkdir "$S/s" || fail mkdir
	cd "$MNT" || fail cd
	mount -t tmpfs none "$MNT" || fail "mount -t tmpfs"
	kill_daemon
	cd "$here" || fail cd
	umount "$MNT" || fail "unmount of the upper mount"
	is "sessions of the lower mount" "s " "$(sessions)"
	fusermount3 -u "$MNT" || fail unmount
	all_end "an unmount of both"
fi

# --- the mount point was removed
mkdir "$S/s" || fail mkdir
pid=$(daemon_pids)
kill -STOP $pid
fusermount3 -u -z "$MNT" || fail unmount
rmdir "$MNT" || fail rmdir
kill -9 $pid
within 20 ended || fail "without a mount point sessions or keeper stay: $(keeper_pid)"
mkdir "$MNT"
all_end "the removal of the mount point"

# --- two daemons died before the unmount, and one while it ends
mkdir "$S/s" || fail mkdir
cd "$MNT" || fail cd
kill_daemon
kill_daemon
cd "$here" || fail cd
pid=$(daemon_pids)
kill -STOP $pid
fusermount3 -u -z "$MNT" || fail unmount
kill -9 $pid
all_end "two deaths before the unmount"
fusermount3 -u "$MNT" || fail unmount
within 20 ended || fail "the keeper stays"

# --- unmounted while the new program is asked whether it can continue, or when it is executed
for way in 'asked 1' 'asked 0' 'executed 1' 'executed 0'; do
	at=${way% *}
	become <"$real"
	start -o keeper=${way#* }
	mkdir "$S/s" || fail mkdir
	become <<-END
		#!/bin/sh
		[ $at = executed ] && [ -z "\$TRAILFS_EXECUTED_BY" ] || fusermount3 -u -q -z "$MNT"
		exec "$real" "\$@"
	END
	kill -USR2 "$(daemon_pids)"
	within 20 ended || fail "$way: sessions or keeper stay: $(keeper_pid)"
	become <"$real"
	start
	is "sessions after an unmount during an upgrade, $way" "" "$(sessions)"
	fusermount3 -u "$MNT" || fail unmount
	within 20 ended || fail "the keeper stays"
done
echo "$checks checks"
