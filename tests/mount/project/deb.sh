#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 7200
#
# `make deb` in new roots of Debian: lintian finds no error in the packages; in another new root a
# user gets from apt to the first event of an own program; an upgrade while a program records loses
# nothing, and the new daemon has the session; a purge leaves nothing. DEB=1: of this machine's
# release; SOAK=1: of bookworm, trixie and sid; DEB_RELEASES: of these.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ -n "${DEB-}${SOAK-}${DEB_RELEASES-}" ] || skip "packages are built for SOAK=1, or with DEB=1"
[ "$(id -u)" = 0 ] || skip "needs root"
for c in debootstrap lintian; do command -v $c >/dev/null || skip "there is no $c"; done
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
releases=${DEB_RELEASES:-$own}
[ -z "${SOAK-}" ] || releases=${DEB_RELEASES:-bookworm trixie sid}

# in_root ROOT SCRIPT: into $work/out
in_root() {
	unshare -m -p -f --kill-child sh -c "mount --bind /dev '$1/dev' && mount -t proc proc '$1/proc' &&
		mount -t tmpfs none '$1/run' && exec chroot '$1' sh /$2" >"$work/out" 2>&1
}
for release in $releases; do
	user=$work/user-$release root=$work/build-$release
	debootstrap --variant=minbase "$release" "$user" >"$work/log" 2>&1 ||
		skip "no new root with $release can be made here: $(tail -n 1 "$work/log")"
	cp /etc/resolv.conf "$user/etc/"
	cp /etc/apt/apt.conf.d/*proxy* "$user/etc/apt/apt.conf.d/" 2>/dev/null
	echo 'Acquire::Check-Valid-Until "false"; APT::Sandbox::User "root";' >"$user/etc/apt/apt.conf.d/90test"
	cp -a "$user" "$root"

	# ---- the packages ----

	mkdir "$root/source"
	(cd "$top" && cp -a fs tracer kmod ustlib metadata tools tests docs data Makefile README \
		README.md LICENSE "$root/source/") || fail "copy"
	cat >"$root/build.sh" <<-'END'
		set -e
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -q
		apt-get install -y -q --no-install-recommends build-essential debhelper dh-dkms dh-python \
			$(sed -n '/^Build-Depends/,/^Standards/{s/^Build-Depends://;/^Standards/d;s/ ([^)]*)//g;s/,/ /g;s/debhelper-compat//;p}' \
			/source/tools/debian/control)
		make -C /source deb
		# A later version of the same, for the upgrade
		mkdir /later
		for p in trailfs libtrail0 libtrail-dev trailfs-doc; do
			dpkg-deb -R /source/build/deb/"$p"_*.deb /later/$p
			sed -i '/^Version\|^Depends\|^Recommends/s/\<\(0\.[0-9]*\.[0-9]*\)\>/\1+later/' /later/$p/DEBIAN/control
			dpkg-deb --root-owner-group -b /later/$p /later
		done
	END
	in_root "$root" build.sh || fail "$release: make deb: $(tail -n 20 "$work/out")"
	is "$release: packages" 7 "$(ls "$root"/source/build/deb/*.deb | wc -l)"
	lintian --allow-root --tag-display-limit 0 "$root"/source/build/deb/*.changes >"$work/lintian" 2>&1
	! grep '^E:' "$work/lintian" || fail "$release: lintian finds errors: $(cat "$work/lintian")"

	# ---- a user ----

	mkdir "$user/debs" "$user/later"
	cp "$root"/source/build/deb/*.deb "$user/debs/"
	cp "$root"/later/*.deb "$user/later/"
	cat >"$user/newcomer.sh" <<-'END'
		set -e
		export DEBIAN_FRONTEND=noninteractive
		cd /debs
		apt-get update -q
		# The compiler is no part of the time.
		apt-get install -y -q --no-install-recommends gcc libc6-dev procps
		began=$(date +%s)
		apt-get install -y -q --no-install-recommends ./trailfs_*.deb ./libtrail0_*.deb \
			./libtrail-dev_*.deb ./trailfs-doc_*.deb
		getent group tracing
		cd /root
		cat >t.c <<'C'
		#include <trail/trail.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			(void)argv;
			for (long i = 0; argc > 1 || i < 3; i++) {
				TRAIL(hello, tick, i);
				if (argc > 1)
					usleep(100);
			}
			return 0;
		}
		C
		cc t.c -o t -ltrail
		mkdir trace
		trailfs trace
		mkdir trace/sessions/first
		s=trace/sessions/first
		echo 'hello:*' >$s/user/events
		echo start >$s/control
		./t
		cat $s/text
		echo "seconds $(($(date +%s) - began))"
		fusermount3 -u trace

		# What the service does at `reload`, without systemd.
		mkdir -p /run/systemd/system /mnt/trace
		printf '%s\n' '#!/bin/sh' 'case "$*" in *is-active*) exit 0 ;;' \
			'*reload*trailfs*) pkill -USR2 -o -x trailfs ;; esac' >/usr/bin/systemctl.test
		[ ! -e /usr/bin/systemctl ] || mv /usr/bin/systemctl /usr/bin/systemctl.real
		cp /usr/bin/systemctl.test /usr/bin/systemctl
		chmod +x /usr/bin/systemctl
		trailfs /mnt/trace -o keep
		mkdir /mnt/trace/sessions/long
		s=/mnt/trace/sessions/long
		echo 'hello:*' >$s/user/events
		echo start >$s/control
		./t on &
		app=$!
		sleep 1
		apt-get install -y -q --no-install-recommends --allow-downgrades /later/*.deb
		dpkg-query -W -f 'version ${Version}\n' trailfs
		n=0
		while readlink /proc/$(pgrep -o -x trailfs)/exe | grep -q deleted; do
			n=$((n + 1)); [ $n -lt 600 ] || exit 1; sleep 0.1
		done
		sleep 1
		kill $app
		wait || :
		echo stop >$s/control
		sed -n 's/.*{ i = \([0-9]*\) }$/\1/p' $s/text >/numbers
		sed -n 's/^events_/upgraded events_/p' $s/status
		awk '$1 != NR - 1 { print "gap before", $1; exit } END { print "events to", NR }' /numbers
		umount /mnt/trace
		rm -r trace /run/systemd/system
		rm /usr/bin/systemctl /usr/bin/systemctl.test
		[ ! -e /usr/bin/systemctl.real ] || mv /usr/bin/systemctl.real /usr/bin/systemctl
		sleep 1
		apt-get purge -y -q trailfs libtrail0 libtrail-dev trailfs-doc
		find / -xdev ! -path '/proc/*' ! -path '/tmp/*' ! -path '/debs*' ! -path '/later*' -name '*trailfs*' | sed 's/^/left /'
	END
	in_root "$user" newcomer.sh || fail "$release: in the new root: $(tail -n 30 "$work/out")"
	is "$release: events" 3 "$(grep -c 'hello:tick.*{ i = [012] }$' "$work/out")"
	has "$(cat "$work/out")" 'tracing:x:'
	has "$(cat "$work/out")" '^version .*+later'
	has "$(cat "$work/out")" '^upgraded events_discarded 0'
	! grep '^gap' "$work/out" || fail "$release: an upgrade loses events"
	[ "$(sed -n 's/^events to //p' "$work/out")" -gt 1000 ] || fail "$release: no events: $(tail -n 30 "$work/out")"
	! grep '^left ' "$work/out" || fail "$release: a purge leaves files"
	echo "$release: $(sed -n 's/^seconds //p' "$work/out") s from apt to an event of an own program"
	rm -rf "$user" "$root"
done
echo "$checks checks"
