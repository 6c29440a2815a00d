#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 7200
#
# `make deb` in new roots of Debian: lintian finds no error in the packages, and sid's newest
# compilers no warning in the sources; a static daemon with its musl does what others do. In another
# new root, with systemd as its first process, README.Debian leads a user from apt to the first
# event of an own program; an upgrade of the service while a program records and `tail -f` reads
# loses nothing, nor does a restart; dkms builds trail.ko for the release's kernel; a purge leaves
# nothing but what a session wrote to files; the guest powers off. DEB=1: of this machine's release;
# SOAK=1: of bookworm, trixie and sid; DEB_RELEASES: of these. DEB_ROOTS: keeps new roots and the
# packages in a directory for other runs. DEB_STAGES: only some of `build compilers newcomer upgrade
# dkms purge`. Without `build`, the packages are those that DEB_ROOTS keeps; `purge` needs what
# `upgrade` leaves, and that `newcomer`.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ -n "${DEB-}${SOAK-}${DEB_RELEASES-}" ] || skip "packages are built for SOAK=1, or with DEB=1"
[ "$(id -u)" = 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "there is no debootstrap"
own=$("$top/tools/apt_apart" --mirror) || skip "$own"
mirror=${own% *} releases=${DEB_RELEASES:-${own#* }}
[ -z "${SOAK-}" ] || releases=${DEB_RELEASES:-bookworm trixie sid}
lib=$top/tests/lib/deb
stages=${DEB_STAGES:-build compilers newcomer upgrade dkms purge}
guest=
trap 'code=$?; [ -z "$guest" ] || kill -9 $guest; (exit $code); clean_up' EXIT

# new_root RELEASE DIRECTORY
new_root() {
	kept=${DEB_ROOTS:-$work}/$1
	if [ ! -d "$kept" ]; then
		debootstrap --variant=minbase "$1" "$kept.new" "$mirror" >"$work/log" 2>&1 ||
			skip "no new root with $1 can be made here: $(tail -n 1 "$work/log")"
		cp -L /etc/resolv.conf "$kept.new/etc/"
		cp /etc/apt/apt.conf.d/*proxy* "$kept.new/etc/apt/apt.conf.d/" 2>/dev/null
		echo 'Acquire::Check-Valid-Until "false"; APT::Sandbox::User "root";' \
			>"$kept.new/etc/apt/apt.conf.d/90test"
		echo force-unsafe-io >"$kept.new/etc/dpkg/dpkg.cfg.d/test"
		mv "$kept.new" "$kept"
	fi
	cp -a "$kept" "$2"
}

# in_root ROOT SCRIPT: into $work/out
in_root() {
	cp "$lib/$2" "$1/test-$2"
	# (Copies of other tests' mounts would keep their daemons alive.)
	unshare -m -p -f --kill-child sh -c "awk '\$3 ~ /^fuse/ { print \$2 }' /proc/self/mounts |
		while read -r m; do umount -l \"\$m\"; done; mount --bind /dev '$1/dev' && mount -t proc proc '$1/proc' &&
		mount -t tmpfs none '$1/run' && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 chroot '$1' sh /test-$2" >"$work/out" 2>&1 ||
		fail "$release: $2: $(tail -n 30 "$work/out")"
}

# in_guest SCRIPT: in what `boot` started; into $work/out
in_guest() {
	cp "$lib/$1" "$user/test-$1"
	nsenter -t "$first" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		sh "/test-$1" >"$work/out" 2>&1 || fail "$release: $1: $(tail -n 30 "$work/out")"
	! grep '^differs' "$work/out" || fail "$release: $1: $(cat "$work/out")"
}

start_guest() {
	"$lib/boot" "$user" >"$work/console" 2>&1 &
	guest=$!
	n=0
	while :; do
		first=$(pgrep -P "$guest")
		case $(nsenter -t "${first:-0}" -a systemctl is-system-running 2>/dev/null) in
		running | degraded) break ;;
		esac
		[ -d "/proc/$guest" ] && [ $n -lt 600 ] ||
			skip "systemd does not start in a root of its own here: $(tail -n 3 "$work/console")"
		n=$((n + 1))
		sleep 0.1
	done
}

# STAGE: whether it is wanted
stage() {
	case " $stages " in *" $1 "*) return 0 ;; esac
	return 1
}

# Packages, in a root with what they are built with; of sid, its compilers there
build() {
	root=$work/build-$release
	new_root "$release" "$root"
	mkdir "$root/source"
	(cd "$top" && cp -a fs tracer kmod ustlib metadata tools tests docs data Makefile README \
		README.md LICENSE "$root/source/") || fail "copy"
	in_root "$root" depends.sh
	if stage build; then
		in_root "$root" build.sh
		is "$release: packages" 7 "$(ls "$root"/source/build/deb/*.deb | wc -l)"
		! grep '^E:' "$root/lintian" || fail "$release: lintian finds errors"
		rm -rf "$packages"
		mkdir "$packages" "$packages/debs"
		cp "$root"/source/build/deb/*.deb "$packages/debs/"
		cp -r "$root/later" "$packages/"
	fi
	if [ "$release" = sid ] && stage compilers; then
		mkdir "$root/sources"
		(cd "$root/sources" && "$top/tools/apt_apart" "$work/apt" deb-src own apt-get source \
			--download-only fuse3 util-linux) >"$work/log" 2>&1 ||
			skip "no sources for a static daemon: $(tail -n 1 "$work/log")"
		in_root "$root" compilers.sh
		is "$release: compilers" 3 "$(grep -c '^compiler ' "$work/out")"
		sed -n "s/^compiler /$release: no warning by /p" "$work/out"
		for t in views/import_forms output/relay programs/process; do
			TRAILFS=$(echo "$root"/source/build-musl-*/trailfs) "$top/tests/mount/$t.sh" \
				>"$work/log" 2>&1
			case $? in
			0) checks=$((checks + 1)) ;;
			77) echo "$t with musl of $release: $(tail -n 1 "$work/log")" ;;
			*) fail "$t with musl of $release: $(tail -n 20 "$work/log")" ;;
			esac
		done
	fi
	rm -rf "$root"
}

newcomer() {
	in_guest newcomer.sh
	out=$(cat "$work/out")
	[ "$(grep -c 'hello:tick.*{ i = [012] }$' "$work/out")" = 3 ] ||
		fail "$release: not three events: $(tail -n 20 "$work/out")"
	has "$out" '^group tracing:x:'
	has "$out" '^apps 1777:root$'
	has "$out" '^unit verified$'
	seconds=$(sed -n 's/^seconds //p' "$work/out")
	echo "$release: $seconds s from apt to an event of an own program"
}

upgrade() {
	in_guest upgrade.sh
	has "$(cat "$work/out")" '^version .*+later'
	is "$release: upgrade" 7 "$(grep -c '^ok ' "$work/out")"
	events=$(sed -n 's/^events //p' "$work/out")
	[ "$events" -gt 1000 ] || fail "$release: the program wrote $events events"
	echo "$release: $events events during an upgrade"
}

dkms() {
	in_guest dkms.sh
	has "$(cat "$work/out")" '^module .*/trail\.ko'
	has "$(cat "$work/out")" '^module .*/trail_events\.ko'
	has "$(cat "$work/out")" '^covers .* ([1-9][0-9]* types from BTF of '
	sed -n "s/^covers /$release: /p" "$work/out"
}

purge() {
	in_guest purge.sh
	is "$release: purge" 4 "$(grep -c '^ok ' "$work/out")"
	! grep '^left ' "$work/out" || fail "$release: a purge leaves files"
}

for release in $releases; do
	packages=${DEB_ROOTS:-$work}/packages-$release
	! stage build && ! { stage compilers && [ "$release" = sid ]; } || build
	# The others run in a guest.
	stage newcomer || stage upgrade || stage dkms || stage purge || continue
	[ -d "$packages" ] || skip "there are no packages for $release: the stage build makes them"

	user=$work/user-$release
	new_root "$release" "$user"
	in_root "$user" system.sh
	cp -r "$packages/debs" "$packages/later" "$user/"
	start_guest
	for s in newcomer upgrade dkms purge; do
		! stage $s || $s
	done
	nsenter -t "$first" -a systemctl poweroff >/dev/null 2>&1
	# reboot(2): the first process of a namespace that powers off ends by SIGINT.
	wait $guest
	ended=$?
	guest=
	is "$release: power off" 130 $ended
	rm -rf "$user"
done
echo "$checks checks"
