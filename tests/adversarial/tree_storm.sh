#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 150
#
# Everything with everything in the whole tree at once, as root and as two users (tree_storm.c),
# while programs record, for STORM_SECONDS: 10, 60 with a sanitizer, an hour with SOAK=1.
# The daemon lives, answers, gives back all that sessions had, and ends; a sanitizer has nothing to
# say. With the seed that is printed the operations are the same again (STORM_SEED), though not how
# they meet.
. "$(dirname "$0")/../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "this needs root"
command -v setpriv >/dev/null || skip "there is no setpriv"
storm=$BUILD/tests/adversarial/tree_storm
[ -x "$storm" ] || skip "there is no tree_storm"
seconds=10
[ "${SAN:-0}" = 0 ] || seconds=60
[ -z "${SOAK-}" ] || seconds=3600
seconds=${STORM_SECONDS:-$seconds}
seed=${STORM_SEED:-$(date +%s)}
a=54321 b=54322
as() {
	uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups env LD_LIBRARY_PATH="$work" "$@"
}
as $a true || skip "setpriv may not change users here"
cp "$BUILD/tests/lib/ticker" "$BUILD"/libtrail.so.0 "$work/" || fail "no ticker"
for u in 0 $a $b; do
	mkdir -p "$work/out/$u" && chown $u "$work/out/$u"
done
# An rmdir holds the directory of the sessions while it waits, so it must not wait long.
mount_tree -o wait=800,max_frozen=64M,user_buffers=256M
daemon=$(daemon_pids)
descriptors() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
keeper=$(key keeper "$MNT/status")
# (The keeper has the table of the mount as long as there is one.)
kept() { find "/proc/$keeper/fd" -lname '*memfd*' ! -lname '*trailfs-mount*' | wc -l; }
fds=$(descriptors)
# (Other tests may trace the kernel meanwhile.)
instances() { ls /sys/kernel/tracing/instances 2>/dev/null | grep -c "^trailfs-storm$$-"; }

# Programs that record, begin and end all the while; and what was written is removed, as its owner
# may at any time
: >"$work/going"
busy() {
	while [ -e "$work/going" ]; do
		TRAIL_ATTACH_TIMEOUT=10 as "$1" "$work/ticker" 2000 200 2 >/dev/null
		rm -rf "$work/out/$1"/* 2>/dev/null
	done
}
busy 0 &
one=$!
busy $a &
two=$!
echo "seed $seed, $seconds seconds"
"$storm" "$MNT" "$seconds" "$seed" "$work/out" $a $b "storm$$" >"$work/storm.log" 2>&1
status=$?
rm -f "$work/going"
cat "$work/storm.log"
wait $one $two
# (A sanitizer's report comes last. Without one, the kernel may know more.)
kill -0 "$daemon" 2>/dev/null ||
	fail "the daemon died: $(dmesg | grep "\\[$daemon\\]\|Killed process" | tail -n 3)"
[ $status = 0 ] || fail "the storm ended with status $status"
timeout 60 cat "$MNT/version" >/dev/null || fail "the daemon does not answer"

# What sessions had is given back.
for s in "$S"/*; do
	[ -d "$s" ] || continue
	# (An rmdir fails while the buffers hold what cannot be written: its output was removed.)
	timeout 60 rmdir "$s" 2>/dev/null || { echo clear >"$s/control" && timeout 60 rmdir "$s"; } ||
		fail "rmdir $s: $(cat "$MNT/error")"
done
is "sessions" 0 "$(key sessions "$MNT/status")"
is "in the state directory" "" "$(ls "$TRAIL_RUNTIME_DIR/sessions")"
nothing() { [ "$(key frozen_bytes "$MNT/status")" = 0 ] && ! grep '^user ' "$MNT/status"; }
within 60 nothing || fail "left: $(cat "$MNT/status")"
# The daemon keeps a socket and an epoll instance for each of the three users who had programs.
fewer() { [ "$(descriptors)" -le $((fds + 2 + 2 * 3)) ] && [ "$(kept)" = 0 ]; }
# What the daemon has open, and what its threads wait for
opened() {
	ls -l "/proc/$daemon/fd"
	! command -v gdb >/dev/null ||
		timeout 100 gdb -nx -batch -p "$daemon" -ex "thread apply all bt" 2>&1
}
within 60 fewer || fail "descriptors: $fds before, $(descriptors) now; the keeper has $(kept): $(opened)"
is "instances in the kernel" 0 "$(instances)"
fusermount3 -u "$MNT" || fail "cannot unmount"
within 120 daemon_ended || fail "the daemon does not end"
# A sanitizer may keep the keeper for a while; it reports into this directory.
within 60 keeper_ended || fail "the keeper does not end"
echo "$checks checks; $(grep '^operations' "$work/storm.log")"
