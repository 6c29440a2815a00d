#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# trailfs.service under a real systemd, process 1 of a container whose root is this machine's under
# an overlay: reload, kill -9, restart and stop lose no event of a program that records, a reload and a
# kill no open file either; the end of the machine ends the service, and what sessions.d has is
# there after the next boot, active.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ "$(id -u)" = 0 ] || skip "needs root"
[ -x /lib/systemd/systemd ] && command -v systemctl >/dev/null || skip "there is no systemd"
command -v nsenter >/dev/null || skip "there is no nsenter"
r=$work/memory/root
booted=

make -s -C "$top" install DESTDIR="$work/files" PREFIX=/usr CC="${CC:-gcc}" CXX="${CXX:-g++}" \
	SAN="${SAN-}" >"$work/log" 2>&1 || fail "make install: $(cat "$work/log")"

# In namespaces of its own: mounts the container's root, and becomes its systemd.
cat >"$work/boot.sh" <<'END'
mount --make-rprivate /
cd "$1" || exit 1
mount -t tmpfs memory memory && mkdir memory/upper memory/work memory/root &&
	mount -t overlay root -o lowerdir=/,upperdir=memory/upper,workdir=memory/work memory/root ||
	exit 1
cd memory/root || exit 1
cp -r "$1"/files/* . && rm -rf etc/systemd/system/*.wants etc/trailfs/* || exit 1
cp "$BUILD/tests/lib/ticker" usr/bin/trial-ticker || exit 1
mkdir -p etc/trailfs/sessions.d
[ ! -e "$1/lasting.ini" ] || cp "$1/lasting.ini" etc/trailfs/sessions.d/
mount -t proc proc proc && mount --rbind /dev dev && mount -t tmpfs run run &&
	mount -t tmpfs tmp tmp && mount -t sysfs sys sys && mount -t tmpfs cgroup sys/fs/cgroup ||
	exit 1
# The version of control groups that this machine's systemd, or whatever else is process 1, uses
if grep -q ':name=systemd:' /proc/self/cgroup; then
	mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd || exit 1
	mount -t cgroup2 cgroup sys/fs/cgroup/unified
else
	mount -t cgroup2 cgroup sys/fs/cgroup || exit 1
fi
printf '[Unit]\nDescription=Trial\nAllowIsolate=yes\n' >etc/systemd/system/trial.target
export container=other
exec chroot . /lib/systemd/systemd --system --unit=trial.target --log-target=console
END

# inside COMMAND…: in the container
inside() { nsenter -t "$booted" -m -p -r -w timeout 100 "$@"; }
# (A private runtime directory would be another one than the service's.)
ticker() { nsenter -t "$booted" -m -p -r -w env -u TRAIL_RUNTIME_DIR trial-ticker "$@"; }
is_up() { [ "$(inside systemctl is-active trial.target 2>/dev/null)" = active ]; }
find_pid() {
	booted=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null)
	booted=${booted%% *}
	[ -n "$booted" ]
}
boot() {
	mkdir -p "$work/memory"
	BUILD=$BUILD unshare --mount --pid --fork --kill-child --cgroup --uts --ipc \
		sh "$work/boot.sh" "$work" >"$work/console" 2>&1 &
	outer=$!
	within 10 find_pid && within 20 is_up ||
		skip "systemd cannot be process 1 of a container here: $(tail -n 1 "$work/console")"
}
ended() { ! kill -0 "$outer" 2>/dev/null; }
power_off() {
	inside systemctl poweroff
	within 60 ended || fail "the end of the machine does not end the service: $(cat "$work/console")"
	wait "$outer"
}
trap 'code=$?; [ -z "$booted" ] || kill -9 $booted 2>/dev/null; (exit $code); clean_up' EXIT

s=/trace/sessions/s
value() { inside cat "$s/status" | sed -n "s/^$1 //p"; }
main_pid() { inside systemctl show -p MainPID --value trailfs; }
answers() { inside test -e "$s/status"; }
grows() { [ "$(wc -c <"$work/tail")" -gt "$size" ]; }
# The reader that follows text goes on, and the session is active.
goes_on() {
	within 20 answers || fail "no mount after $1"
	is "after $1" active "$(value state)"
	size=$(wc -c <"$work/tail")
	within 20 grows || fail "tail -f has ended with $1: $(cat "$work/tail.err")"
}

boot
inside systemctl start trailfs || fail "start: $(cat "$work/console")"
inside sh -ec "mkdir $s; echo 'tick:*' >$s/user/events; echo start >$s/control; cp $s/config /tmp/lasting.ini" ||
	fail "no session"
ticker 0 2000 >"$work/ticks" &
ticks=$!
: >"$work/tail"         # (The first look may come before the program below has started.)
inside tail -c +1 -f ---disable-inotify -s 0.1 "$s/text" >"$work/tail" 2>"$work/tail.err" &
goes_on start
for i in 1 2 3; do
	before=$(main_pid)
	inside systemctl reload trailfs || fail "reload: $(cat "$work/console")"
	goes_on reload
	is "the unit's process" "$before" "$(main_pid)"
done
inside kill -9 "$before"
another() { p=$(main_pid) && [ "${p:-0}" != 0 ] && [ "$p" != "$before" ]; }
within 20 another || fail "systemd starts no other daemon: $(cat "$work/console")"
goes_on "kill -9"

# A restart ends open files, and a stop the mount; programs record on.
inside systemctl restart trailfs || fail "restart: $(cat "$work/console")"
within 20 answers || fail "no mount after restart"
is "after restart" active "$(value state)"
inside systemctl stop trailfs || fail "stop"
is "mounts after stop" 0 "$(inside grep -c ' /trace fuse' /proc/self/mounts)"
inside systemctl start trailfs || fail "start after stop: $(cat "$work/console")"
within 20 answers || fail "no mount after stop and start"
is "after stop and start" active "$(value state)"
inside pkill trial-ticker || fail "the program has ended"
wait $ticks
inside sh -c "echo stop >$s/control"
emitted=$(tr -dc 0-9 <"$work/ticks")
is "discarded" 0 "$(value events_discarded)"
is "all of the program's events" "$emitted" \
	"$(($(inside grep -c tick:tock "$s/text") + $(value events_overwritten)))"
inside cat /tmp/lasting.ini >"$work/lasting.ini"
has "$(cat "$work/lasting.ini")" '^active = yes'
power_off

# The next boot makes what sessions.d has, active, and empty
boot
inside systemctl start trailfs || fail "start after boot: $(cat "$work/console")"
s=/trace/sessions/lasting
within 20 answers || fail "no session of sessions.d: $(inside ls /trace/sessions)"
is "after a reboot" "active 0" "$(value state) $(value events_recorded)"
ticker 100 0 >/dev/null
is "events after a reboot" 100 "$(inside grep -c tick:tock "$s/text")"
power_off
echo "$checks checks, $emitted events over reload, kill, restart and stop"
