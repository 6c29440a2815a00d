#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/installed.sh [--system] BINDIR LIBDIR MANDIR UNITDIR PYTHONDIR: the end of `make install`.
# With --system, if root runs it: makes the group `tracing` (its members may trace the kernel by
# root's mount) and /run/trailfs, which boot makes by tmpfiles.d later, and updates the caches of the
# linker, of man and of systemd. Prints what is left to do: each line has the command.
PATH=$PATH:/usr/sbin:/sbin
group=tracing
system=
[ "$1" != --system ] || { system=1; shift; }
# (PREFIX may end with a slash.)
shorter() { echo "$1" | tr -s /; }
bin=$(shorter "$1") lib=$(shorter "$2") man=$(shorter "$3") units=$(shorter "$4")
python=$(shorter "$5")
root=
[ "$(id -u)" != 0 ] || root=1

have() { command -v "$1" >/dev/null; }
group_exists() { grep -q "^$group:" /etc/group || getent group $group >/dev/null 2>&1; }

make_group() {
	if have groupadd; then
		groupadd --system $group
	elif have addgroup; then
		# (of busybox)
		addgroup -S $group
	fi
	group_exists
}

left() { echo "left to do: $*"; }

if [ -n "$system$root" ] && [ "$system" = "$root" ]; then
	install -d -m 755 /run/trailfs && install -d -m 1777 /run/trailfs/apps
	group_exists || ! make_group || echo "made the group \`$group\`"
	! have ldconfig || ldconfig 2>/dev/null
	! have mandb || mandb -q "$man" 2>/dev/null
	[ ! -d /run/systemd/system ] || systemctl daemon-reload
fi

if group_exists; then
	left "usermod -aG $group USER (lets USER trace the kernel by root's mount)"
else
	left "groupadd --system $group (as root; its members may trace the kernel by root's mount)"
fi
[ -e /dev/fuse ] || left "modprobe fuse (as root; there is no /dev/fuse)"
have fusermount3 || left "install fuse3 (users cannot mount without fusermount3)"
case :$PATH: in
*":$bin:"*) ;;
*) left "PATH=$bin:\$PATH" ;;
esac
# (ldconfig -p prints `NAME (KIND) => PATH`. musl has no cache, but a list of directories.)
if ! ldconfig -p 2>/dev/null | grep -q " $lib/libtrail.so" &&
	! cat /etc/ld-musl-*.path 2>/dev/null | tr ':\n' '\n\n' | grep -qx "$lib"; then
	if [ -n "$system" ] && have ldconfig; then
		left "ldconfig (as root; after \`echo $lib >/etc/ld.so.conf.d/trail.conf\` if $lib" \
			"is not in its list)"
	else
		left "LD_LIBRARY_PATH=$lib for programs that are linked with -ltrail"
	fi
fi
! have pkg-config || pkg-config --exists trail 2>/dev/null ||
	left "PKG_CONFIG_PATH=$lib/pkgconfig"
# (python3 leaves out directories that do not exist when it starts.)
! have python3 ||
	python3 -c 'import os, sys
sys.exit(os.path.realpath(sys.argv[1]) not in map(os.path.realpath, sys.path[1:]))' "$python" ||
	left "PYTHONPATH=$python for Python programs that import trail"
if [ -n "$system" ] && have systemctl; then
	left "systemctl enable --now trailfs (mounts /trace now and at each boot: $units)"
fi
echo "to begin with: $bin/trailfs -h"
