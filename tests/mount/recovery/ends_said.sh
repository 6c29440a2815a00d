#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# What ends a daemon, and what goes with it, is in the log before it goes: SIGTERM with and without
# `keep`, and an unmount. The keeper's log says why a mount answers EIO after the third death within
# a minute, and the session records on. It names each daemon that died, also before it had the mount.
if [ -z "${IN_NAMESPACE-}" ] && [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	IN_NAMESPACE=1
	export IN_NAMESPACE
	exec unshare -m "$0"
fi
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ -n "${IN_NAMESPACE-}" ] || skip "unshare cannot make a mount namespace: no log of this test's own"
command -v python3 >/dev/null || skip "there is no python3"
ticker=$BUILD/tests/lib/ticker

# A /dev of this test, so that its /dev/log is the system log
mkdir "$work/dev" "$work/new"
mount -t tmpfs dev "$work/new" && mount --rbind /dev "$work/dev" || skip "cannot mount a tmpfs"
for f in null zero full random urandom tty fuse fd stdin stdout stderr shm; do
	[ ! -e "/dev/$f" ] || ln -s "$work/dev/$f" "$work/new/$f"
done
mount --bind "$work/new" /dev || skip "cannot mount on /dev"
cat >"$work/log.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
out = open(sys.argv[1], "a")
while True:
    print(s.recv(65536).decode(), file=out, flush=True)
END
TRAILFS_JOURNAL=$work/none
export TRAILFS_JOURNAL
python3 "$work/log.py" "$work/log" &
log=$!
writer=
trap 'code=$?; kill $log $writer 2>/dev/null; umount -l /dev "$work/new" "$work/dev"; (exit $code); clean_up' EXIT
within 20 test -S /dev/log || fail "no socket"
said() { grep -q -- "$1" "$work/log"; }
says() { within 20 said "$1" || fail "the log does not say '$1': $(cat "$work/log")"; }
gone() { ! mounted && daemon_ended && keeper_ended; }
session() {
	mkdir "$S/s" || fail mkdir
	put 'tick:*' "$S/s/user/events"
	put start "$S/s/control"
}

mount_tree
session
kill -TERM "$(daemon_pids)"
says "ends by SIGTERM of process $$: destroys .*1 .*session"
within 40 gone || fail "SIGTERM does not end the daemon"
mount_tree -o keep
session
: >"$work/log"
kill -TERM "$(daemon_pids)"
says "ends by SIGTERM of process $$: leaves to the next daemon .*1 .*session"
within 40 daemon_ended || fail "SIGTERM does not end the daemon (keep)"
mount_tree
is "the session" active "$(key state "$S/s/status")"
: >"$work/log"
fusermount3 -u "$MNT" || fail unmount
says "ends, it was unmounted: destroys .*1 .*session"
within 40 gone || fail "an unmount does not end the daemon"

# ---- three deaths within a minute ----
(cd "$work" && timeout 200 "$TRAILFS" "$MNT" -o wait=100000) >"$work/daemon.log" 2>&1 ||
	fail "cannot mount"
session
"$ticker" 0 1000 >"$work/ticks" &
writer=$!
# (A program that starts while no daemon runs counts events as discarded.)
records() { grep -q tick:tock "$S/s/text"; }
within 20 records || fail "nothing is recorded"
# (Without the process that has started it)
other() { new=$(daemon_pids) && [ -n "$new" ] && [ "$new" != "$old" ] && one; }
one() { [ "$(daemon_pids | wc -l)" = 1 ]; }
for i in 1 2 3; do
	within 20 one || fail "not one daemon: $(daemon_pids)"
	old=$(daemon_pids)
	kill -9 "$old" || fail "no daemon"
	[ $i = 3 ] || within 20 other || fail "no other daemon ($i)"
	# (One that is killed before it has the mount has another line.)
	[ $i = 3 ] || timeout 60 cat "$MNT/version" >/dev/null || fail "no other daemon serves ($i)"
	[ $i = 3 ] || says "the daemon was killed (process $old): starts another one (process [1-9]"
done
says "the daemon died 3 times within a minute: it is not started again"
refuses() { timeout 20 cat "$S/s/status" 2>&1 | grep -q 'Input/output error'; }
within 20 refuses || fail "the mount does not answer EIO"
sleep 1
kill "$writer"
wait "$writer"
writer=
(cd "$work" && timeout 200 "$TRAILFS" "$MNT" -o wait=100000) >"$work/daemon.log" 2>&1 ||
	fail "cannot mount again"
put stop "$S/s/control"
is "events, also of the time without a daemon" "$(tr -dc 0-9 <"$work/ticks")" \
	$(($(grep -c tick:tock "$S/s/text") + $(key events_discarded "$S/s/status")))
is "discarded" 0 "$(key events_discarded "$S/s/status")"
fusermount3 -u "$MNT" || fail unmount
within 40 gone || fail "an unmount does not end the daemon (2)"

# ---- a successor that ends before it has the mount: the log names it, and what it was ----
real=$TRAILFS
TRAILFS=$work/bin/trailfs
mkdir "$work/bin"
cp "$real" "$TRAILFS"
(cd "$work" && timeout 200 "$TRAILFS" "$MNT" -o wait=100000) >"$work/daemon.log" 2>&1 ||
	fail "cannot mount (3)"
session
cat >"$work/bin/next" <<END
#!/bin/sh
echo \$\$ >>"$work/starts"
[ "\$(wc -l <"$work/starts")" -gt 1 ] || exit 1
exec "$real" "\$@"
END
chmod 755 "$work/bin/next"
mv "$work/bin/next" "$TRAILFS"
within 20 one || fail "not one daemon (3)"
old=$(daemon_pids)
kill -9 "$old"
second() { [ "$(wc -l <"$work/starts")" = 2 ]; }
within 20 second || fail "no second start"
first=$(sed -n 1p "$work/starts")
says "the daemon was killed (process $old): starts another one (process $first)"
says "ended before it had the mount (process $first): starts another one (process [1-9]"
timeout 20 cat "$S/s/status" >/dev/null || fail "the mount does not answer"
fusermount3 -u "$MNT" || fail unmount
within 40 gone || fail "an unmount does not end the daemon (3)"
echo "$checks checks"
