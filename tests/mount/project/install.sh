#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# `make install` by root leaves a working system, and says what is left to do: it runs in a copy of
# this system (an overlay, in namespaces of its own). There, the five commands that end `trailfs -h`
# record an event of a program that was built with -ltrail. `make uninstall` leaves nothing.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ "$(id -u)" = 0 ] || skip "needs root"
command -v groupadd >/dev/null || skip "there is no groupadd"
cat >"$work/inside.sh" <<'END'
# In the copy: DIRECTORY CC CXX SAN
cd "$1" || exit 2
mk() { make CC="$cc" CXX="$cxx" SAN="$san" "$@"; }
cc=$2 cxx=$3 san=$4
export PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root/new
unset TRAIL_RUNTIME_DIR LD_LIBRARY_PATH MAKEFLAGS
mkdir -p $HOME
sed -i '/^tracing:/d' /etc/group /etc/gshadow
find /usr/local /opt /etc -name '*trail*' | sort >/before
mk install PREFIX=/usr/local >/installed 2>&1 || { cat /installed; exit 1; }
sed 's/^/said: /' /installed
echo "group: $(getent group tracing)"
echo "apps: $(stat -c %a /run/trailfs/apps)"
echo "library: $(ldconfig -p | grep -o '/usr/local/lib/libtrail.so.0$' | head -n 1)"
! command -v python3 >/dev/null || echo "python: $(cd / && python3 -c 'import trail' 2>&1)"
! command -v mandb >/dev/null || echo "manual: $(man -w 8 trailfs)"
cd $HOME
echo '#include <trail/trail.h>
int main(void) { for (int i = 0; i < 3; i++) TRAIL(hello, tick, i); }' >t.c
"$cc" t.c -o t -ltrail || exit 1
trailfs -h | tail -n 5 >help
{ sed '$d' help; echo ~/t; tail -n 1 help; } >begin
sed 's/^/begin: /' begin
sh -e ./begin >text || exit 1
sed 's/^/text: /' text
fusermount3 -u trace || exit 1
cd "$1"
mk install PREFIX=/opt/new >/installed2 2>&1 || { cat /installed2; exit 1; }
sed 's/^/private: /' /installed2
grep -r '/usr/local/[a-z]*/trailfs' /opt/new/share | sed 's/^/other prefix: /'
p=$(sed -n 's/^left to do: \(PYTHONPATH=[^ ]*\) .*/\1/p' /installed2)
! command -v python3 >/dev/null || echo "python at $p: $(cd / && env $p python3 -c \
	'import trail; print(trail.__file__)' 2>&1)"
mk uninstall PREFIX=/usr/local >/dev/null && mk uninstall PREFIX=/opt/new >/dev/null || exit 1
rm -r $HOME
find /usr/local /opt /etc -name '*trail*' | sort | comm -13 /before - | sed 's/^/remains: /'
END
cat >"$work/copy.sh" <<'END'
# Makes the copy, and runs inside.sh in it: WORK TOP ARGUMENT…
work=$1 top=$2
shift 2
r=$work/copy/root
mkdir "$work/copy" && mount -t tmpfs none "$work/copy" &&
	mkdir "$work/copy/1" "$work/copy/2" "$work/copy/w1" "$work/copy/w2" "$r" &&
	mount -t overlay -o "lowerdir=/,upperdir=$work/copy/1,workdir=$work/copy/w1" none "$r" &&
	mkdir -p "$r$top" &&
	mount -t overlay -o "lowerdir=$top,upperdir=$work/copy/2,workdir=$work/copy/w2" none "$r$top" ||
	exit 77
mount --rbind /dev "$r/dev" && mount -t proc proc "$r/proc" && mount -t tmpfs none "$r/run" &&
	mount -t tmpfs none "$r/tmp" && cp "$work/inside.sh" "$r/inside.sh" || exit 77
exec chroot "$r" sh /inside.sh "$top" "$@"
END
unshare -m -n -p -i -f --kill-child sh "$work/copy.sh" "$work" "$top" "${CC:-gcc}" "${CXX:-g++}" \
	"${SAN-}" >"$work/out" 2>&1
case $? in
0) ;;
77) skip "no copy of this system can be made: $(tail -n 1 "$work/out")" ;;
*) fail "in the copy: $(tail -n 20 "$work/out")" ;;
esac
out=$(cat "$work/out")
has "$out" '^said: made the group `tracing`'
has "$out" '^said: left to do: usermod -aG tracing USER'
has "$out" '^group: tracing:x:'
has "$out" '^apps: 1777$'
has "$out" '^library: /usr/local/lib/libtrail.so.0$'
[ -z "$(grep '^manual' "$work/out")" ] ||
	has "$out" '^manual: /usr/local/.*man/man8/trailfs.8'
# Nothing is said that is not so.
grep '^said: left to do: \(PATH\|ldconfig\|LD_LIB\|PKG_\|PYTHON\)' "$work/out" &&
	fail "this is done already"
is "commands of trailfs -h" 6 "$(grep -c '^begin: ' "$work/out")"
is "events" 3 "$(grep -c '^text: .*hello:tick.*{ i = [012] }$' "$work/out")"
# Elsewhere, nothing of the system is touched, and more is left to do.
has "$out" '^private: left to do: PATH=/opt/new/bin:'
has "$out" '^private: left to do: LD_LIBRARY_PATH=/opt/new/lib '
is "places in manuals and examples" "" "$(grep '^other prefix: ' "$work/out")"
if command -v python3 >/dev/null; then
	has "$out" '^python: $'
	has "$out" '^python at PYTHONPATH=/opt/new/.*: /opt/new/.*/trail.py$'
fi
grep '^private: made' "$work/out" && fail "an installation elsewhere makes a group"
grep '^remains: ' "$work/out" && fail "make uninstall leaves files"
echo "$checks checks"
