#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `service removed`, what packages do when they are removed: a tree of this system ends with its
# sessions and its keeper, also if it is in use and its daemon has `keep`; a tree whose daemon belongs
# to another system, seen from here as from a container, stays as it is.
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
[ "$(id -u)" = 0 ] || skip "needs root"
! command -v rc-service >/dev/null || skip "it would end this machine's service"
mount_tree
mkdir "$S/other"
cat >"$work/inside.sh" <<'END'
# (systemd is not seen there.)
mount -t tmpfs none /run || exit 77
m=$1/inner
mkdir "$m" "$1/inner-state"
TRAIL_RUNTIME_DIR=$1/inner-state "$TRAILFS" "$m" -o "keep,state=$1/inner-state" || exit 1
mkdir "$m/sessions/own" || exit 1
tail -f "$m/sessions/own/text" >/dev/null 2>&1 &
one=$!
tail -f "$MNT/sessions/other/text" >/dev/null 2>&1 &
n=0
while [ "$(ls -l /proc/$one/fd 2>/dev/null | grep -c "/text$")" = 0 ]; do
	n=$((n + 1)); [ $n -lt 600 ] || exit 1; sleep 0.1
done
"$2/tools/packaging/service" removed || exit 1
grep -q " $m fuse" /proc/self/mounts && echo "the own mount is left"
grep -q " $MNT fuse" /proc/self/mounts || echo "the other mount is gone"
n=0
while ps -eo args= | grep "^trail-keeper --keeper $1/inner-state\$\|[t]railfs $m "; do
	n=$((n + 1)); [ $n -lt 600 ] || exit 1; sleep 0.1
done
kill $one $!
[ -z "$(ls "$1/inner-state/sessions" 2>/dev/null)" ] || echo "sessions are left"
END
unshare -m sh "$work/inside.sh" "$work" "$top" >"$work/out" 2>&1
case $? in
0) ;;
77) skip "no mount namespace can be had: $(cat "$work/out")" ;;
*) fail "in the namespace: $(cat "$work/out")" ;;
esac
! grep ' is left\| is gone\| are left' "$work/out" || fail "see above"
is "a session of the other system" other "$(ls "$S")"
checks=$((checks + 1))
echo "$checks checks"
