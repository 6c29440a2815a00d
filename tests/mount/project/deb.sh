#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1200
#
# `make deb`: lintian finds no error in the packages; in a new Debian system a user gets from apt to
# the first event of an own program; a purge leaves nothing. DEB=1 or SOAK=1: it builds everything.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ -n "${DEB-}${SOAK-}" ] || skip "packages are built for SOAK=1, or with DEB=1"
[ "$(id -u)" = 0 ] || skip "needs root"
for c in dh dh_dkms dh_python3 lintian debootstrap; do
	command -v $c >/dev/null || skip "there is no $c"
done
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# The clone stands for the sources: a build directory of another user's is not touched.
mkdir "$work/source"
(cd "$top" && cp -a fs tracer kmod ustlib metadata tools tests docs data Makefile README README.md \
	LICENSE "$work/source/") || fail "copy"
make -C "$work/source" deb >"$work/log" 2>&1 || fail "make deb: $(tail -n 20 "$work/log")"
debs=$work/source/build/deb
is "packages" 7 "$(ls "$debs"/*.deb | wc -l)"
lintian --allow-root --tag-display-limit 0 "$debs"/*.changes >"$work/lintian" 2>&1 ||
	fail "lintian: $(cat "$work/lintian")"
! grep '^E:' "$work/lintian" || fail "lintian finds errors"

root=$work/root
debootstrap --variant=minbase "$release" "$root" >"$work/log" 2>&1 ||
	skip "no new Debian system can be made here: $(tail -n 1 "$work/log")"
cp /etc/resolv.conf "$root/etc/"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs/"
cat >"$root/try.sh" <<'END'
set -e
export DEBIAN_FRONTEND=noninteractive
cd /debs
apt-get update -q
apt-get install -y -q --no-install-recommends ./trailfs_*.deb ./libtrail0_*.deb \
	./libtrail-dev_*.deb ./trailfs-doc_*.deb gcc libc6-dev
getent group tracing
cd /root
cat >t.c <<'C'
#include <trail/trail.h>
int main(void) { for (int i = 0; i < 3; i++) TRAIL(hello, tick, i); }
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
fusermount3 -u trace
rm -r trace
apt-get purge -y -q trailfs libtrail0 libtrail-dev trailfs-doc
find / -xdev ! -path '/proc/*' ! -path '/tmp/*' ! -path '/debs*' -name '*trailfs*' | sed 's/^/left /'
END
cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null
unshare -m -p -f --kill-child sh -c "mount --bind /dev '$root/dev' && mount -t proc proc \
	'$root/proc' && mount -t tmpfs none '$root/run' && chroot '$root' sh /try.sh" \
	>"$work/out" 2>&1 || fail "in the new system: $(tail -n 20 "$work/out")"
is "events" 3 "$(grep -c 'hello:tick.*{ i = [012] }$' "$work/out")"
has "$(cat "$work/out")" 'tracing:x:'
! grep '^left ' "$work/out" || fail "a purge leaves files"
echo "$checks checks"
