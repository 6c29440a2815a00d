# SPDX-License-Identifier: GPL-2.0-or-later
#
# A root directory with Debian sid, whose LTTng is 2.16 or later: `. "$top/tests/lib/sid.sh"` after
# mount.sh. It takes 700 MB and some minutes to make, so it is kept in $VM_KERNELS or $BUILD/vm, as
# the kernels of guests are, and made for SOAK=1 or SID=1 only.
#
#   need_sid           skips the test if there is none, and none can be made
#   sid_install NAME PACKAGE…  installs these packages in it, once; skips the test if it cannot
#   sid SCRIPT [ARG…]  runs a shell script of $work in it; there, $work is /mnt, $BUILD is /srv, and
#                      the sources are /media. /run, /dev and $HOME are its own
#
# What a script does to other directories stays.

sid_root=${VM_KERNELS:-$BUILD/vm}/sid-root
sid_packages=gcc,libc6-dev,lttng-tools,liblttng-ust-dev,babeltrace2,procps,python3-lttngust

need_sid() {
	[ -n "${SOAK-}${SID-}" ] || skip "a root with Debian sid is for SOAK=1, or SID=1"
	[ "$(id -u)" = 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "no mount namespace can be had"
	[ -e "$sid_root/made" ] && return
	command -v debootstrap >/dev/null || skip "there is no debootstrap"
	mkdir -p "${sid_root%/*}"
	[ "$(df -Pk "${sid_root%/*}" | awk 'NR == 2 { print $4 }')" -gt 2000000 ] ||
		skip "${sid_root%/*} has no room for a root with Debian sid"
	# Two tests at a time: the second one waits.
	exec 8>"$sid_root.lock"
	flock 8
	if [ ! -e "$sid_root/made" ]; then
		rm -rf "$sid_root"
		debootstrap --variant=minbase --include=$sid_packages sid "$sid_root" \
			>"$work/sid.log" 2>&1 8>&- ||
			skip "no root with Debian sid can be made here: $(tail -n 1 "$work/sid.log")"
		: >"$sid_root/made"
	fi
	exec 8>&-
}

cat >"$work/sid.enter" <<'END'
set -e
root=$1 work=$2 build=$3 top=$4
shift 4
# Copies of other tests' mounts would keep their daemons alive.
awk '$3 ~ /^fuse/ { print $2 }' /proc/self/mounts | while read -r m; do umount -l "$m"; done
mount -t tmpfs -o mode=755 dev "$root/dev"
for n in null zero full random urandom tty fuse; do
	[ -e /dev/$n ] || continue
	: >"$root/dev/$n"
	mount --bind /dev/$n "$root/dev/$n"
done
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 run "$root/run"
mount --rbind "$work" "$root/mnt"
mount --bind "$build" "$root/srv"
mount --bind "$top" "$root/media"
mkdir "$root/run/home"
cd /
# (A directory for temporary files of the host may not be in the root: packages would not install.)
exec chroot "$root" env -u TMPDIR HOME=/run/home LTTNG_HOME=/run/home sh "$@"
END

sid() {
	script=$1
	shift
	unshare -m sh "$work/sid.enter" "$sid_root" "$work" "$BUILD" "$top" "/mnt/$script" "$@"
}

sid_install() {
	mark=$sid_root/made.$1
	shift
	[ -e "$mark" ] && return
	exec 8>"$sid_root.lock"
	flock 8
	if [ ! -e "$mark" ]; then
		cat >"$work/sid.install" <<-'END'
			apt-get -qq -o Acquire::Check-Valid-Until=false update &&
				DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
				-o APT::Sandbox::User=root --no-install-recommends install "$@"
		END
		sid sid.install "$@" >"$work/sid.log" 2>&1 8>&- ||
			skip "the root with Debian sid lacks $*: $(tail -n 1 "$work/sid.log")"
		: >"$mark"
	fi
	exec 8>&-
}
