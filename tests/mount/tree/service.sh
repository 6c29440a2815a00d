#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What starts the daemon: an fstab line, systemd's units (and that it says when it is ready), an
# init script; and what is installed for that.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
gone() { ! mounted && daemon_ended; }
examples=$top/docs/examples

# Installed
make -s -C "$top" install DESTDIR="$work/root" PREFIX=/usr CC="${CC:-gcc}" CXX="${CXX:-g++}" \
	SAN="${SAN-}" >"$work/log" 2>&1 ||
	fail "make install: $(cat "$work/log")"
for f in bin/trailfs bin/trail-recover lib/systemd/system/trailfs.service \
	lib/sysusers.d/trailfs.conf lib/tmpfiles.d/trailfs.conf \
	share/man/man1/trail-recover.1 share/man/man8/trailfs.8 \
		share/doc/trailfs/examples/trace.mount; do
	[ -s "$work/root/usr/$f" ] || fail "not installed: $f"
	checks=$((checks + 1))
done
# Every manual and document
for f in "$top"/docs/*; do
	case $f in
	*.[1348]) to=man/man${f##*.} ;;
	*) to=doc/trailfs ;;
	esac
	[ -e "$work/root/usr/share/$to/${f##*/}" ] || fail "not installed: $f"
	checks=$((checks + 1))
done
for f in lib/pkgconfig/trail.pc lib/trail/pkgconfig/lttng-ust.pc; do
	has "$(cat "$work/root/usr/$f")" '^prefix=/usr$'
done
has "$(cat "$work/root/usr/lib/systemd/system/trailfs.service")" \
	'^ExecStart=/usr/bin/trailfs /trace -f -o keep$'
has "$(cat "$work/root/usr/lib/systemd/system/trailfs.service")" '^ExecReload=kill -USR2 $MAINPID$'
# A run path that leads to liblttng-ust.so leads to the library itself; the names of LTTng-UST's
# helpers.
for f in trail/liblttng-ust.so trail/libtrail.so.0 trail/liblttng-ust-fork.so \
	trail/liblttng-ust-fd.so; do
	is "$f" "$(readlink -f "$work/root/usr/lib/libtrail.so.0")" \
		"$(readlink -f "$work/root/usr/lib/$f")"
done
for f in libc-wrapper pthread-wrapper cyg-profile cyg-profile-fast dl; do
	for d in "$work/root/usr/lib" "$work/root/usr/lib/trail"; do
		LD_PRELOAD=$d/liblttng-ust-$f.so grep -c "/libtrail-${f%-wrapper}\.so" \
			/proc/self/maps >"$work/out" 2>"$work/err" ||
			fail "liblttng-ust-$f.so is not libtrail-${f%-wrapper}.so: $(cat \
				"$work/err")"
		checks=$((checks + 1))
	done
done
make -s -C "$top" uninstall DESTDIR="$work/root" PREFIX=/usr >"$work/log" 2>&1 ||
	fail "make uninstall: $(cat "$work/log")"
is "left by uninstall" "" "$(find "$work/root" ! -type d)"

# systemd finds nothing wrong with the units
mkdir "$work/units"
sed "s,@BINDIR@,$BUILD," "$examples/trailfs.service" >"$work/units/trailfs.service"
cp "$examples/trace.mount" "$work/units/"
if command -v systemd-analyze >/dev/null; then
	for u in trailfs.service trace.mount; do
		systemd-analyze verify --man=no "$work/units/$u" >"$work/log" 2>&1
		# (It may also not like other units of this machine, or that there is no systemd at
		# work.)
		grep "$u\\|$work" "$work/log" && fail "systemd-analyze verify $u"
		grep -i 'unknown\|failed to parse' "$work/log" && fail "systemd-analyze verify $u"
		checks=$((checks + 1))
	done
fi
if command -v systemd-sysusers >/dev/null; then
	mkdir "$work/etc"
	systemd-sysusers --root="$work" "$examples/sysusers.conf" >"$work/log" 2>&1 ||
		fail "sysusers: $(cat "$work/log")"
	grep -q '^tracing:' "$work/etc/group" || fail "no group tracing"
	if [ "$(id -u)" = 0 ]; then
		systemd-tmpfiles --root="$work" --create "$examples/tmpfiles.conf" >"$work/log" \
			2>&1 || fail "tmpfiles: $(cat "$work/log")"
		is "mode of apps" 1777 "$(stat -c %a "$work/run/trailfs/apps")"
	fi
fi

# It says when it is ready, and not before
tool datagram "$work/notify" >"$work/said" &
receiver=$!
within 10 test -S "$work/notify" || fail "no socket"
NOTIFY_SOCKET=$work/notify "$TRAILFS" "$MNT" -f >"$work/daemon.log" 2>&1 &
pid=$!
wait $receiver || fail "nothing was said"
is "said" "READY=1" "$(cat "$work/said")"
mounted || fail "ready, but not mounted"
[ -s "$MNT/README" ] || fail "ready, but does not answer"
# As with KillMode=process: the daemon is killed, the keeper stays, the next one has all
mkdir "$S/s" && echo 'trail:log' >"$S/s/user/events" && echo start >"$S/s/control" &&
	echo 'a message' >"$MNT/log" || fail "session"
kill -9 $pid
wait $pid 2>/dev/null
"$TRAILFS" "$MNT" -f >>"$work/daemon.log" 2>&1 &
pid=$!
answers() { grep -q 'a message' "$S/s/text" 2>/dev/null; }
within 10 answers || fail "started again, but what was recorded is not there"
kill $pid
wait $pid || fail "SIGTERM: exit status $?"
within 10 gone || fail "left"

# An init script
TRAILFS_MOUNTPOINT=$MNT
export TRAILFS_MOUNTPOINT
init() { timeout 200 sh "$examples/trailfs.init" "$@"; }
if [ "$(id -u)" = 0 ]; then
	init start || fail "init start"
	init start || fail "init start when it is started"
	init status | grep -q '^sessions 0' || fail "init status"
	mkdir "$S/s"
	pid=$(daemon_pids)
	init reload || fail "init reload"
	reloaded() { tr '\0' '\n' <"/proc/$pid/environ" | grep -q "^TRAILFS_EXECUTED_BY=$pid\$"; }
	within 20 reloaded || fail "no other program after init reload"
	is "sessions after reload" s "$(ls "$S")"
	init restart || fail "init restart"
	is "sessions after restart" "" "$(ls "$S")"
	init stop || fail "init stop"
	within 10 gone || fail "init stop, but it is there"
	init status && fail "init status when it is stopped"
fi
sh -n "$examples/trailfs.openrc" || fail "openrc"

# The line of fstab, for mount(8), which looks for trailfs where it is installed: so that is made,
# for these mounts alone
by_mount() {
	mkdir "$work/bin" && cp "$TRAILFS" "$work/bin/" &&
		sed "s,/trace,$MNT," "$examples/fstab" >"$work/fstab"
	export work
	unshare -m sh -e -c '
		mount --bind "$work/bin" /usr/local/bin
		mount --fstab "$work/fstab" "$MNT"
		grep " $MNT fuse.trailfs " /proc/self/mounts
		[ -s "$MNT/README" ]
		umount "$MNT"
		while pgrep -f "trailfs none $MNT" >/dev/null; do sleep 0.05; done
		mount -t fuse.trailfs none "$MNT" -o tz=UTC,nosuid
		grep "^time_zone UTC" "$MNT/version"
		umount "$MNT"'
}
if [ "$(id -u)" = 0 ] && [ -x /sbin/mount.fuse3 ] && [ -d /usr/local/bin ] &&
	unshare -m true 2>/dev/null; then
	by_mount >"$work/log" 2>&1 || fail "by mount(8): $(cat "$work/log")"
	has "$(cat "$work/log")" 'time_zone UTC'
fi
echo "$checks checks"
