#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 950
#
# In a guest of 532 MB, sessions ask trail.ko for more memory than there is: it refuses those that
# do not fit with the daemon's copies of them, the kernel kills no process when all rings are full,
# and the memory comes back. SOAK: on each kernel.
kernel_in_check=backports
# (Three quarters of it are room for five sessions and a half: what else needs memory does not decide
# whether there is room for one.)
VM_MEMORY=532M
export VM_MEMORY
if [ -z "${VM-}${SOAK-}" ]; then
	echo "a guest takes a minute and a half for its memory: for SOAK=1"
	exit 77
fi
. "$(dirname "$0")/modlib.sh"

calls=$BUILD/tests/lib/calls
[ -x "$calls" ] || skip "there is no $calls"

# make_sessions: eight of them; `started` is how many there is room for.
make_sessions() {
	started=0 refused=0
	for i in 1 2 3 4 5 6 7 8; do
		s=$S/large$i
		mkdir "$s" "$s/kernel/channels/channel0"
		echo 2M >"$s/kernel/channels/channel0/subbuf_size"
		echo 8 >"$s/kernel/channels/channel0/subbuf_count"
		echo overwrite >"$s/kernel/channels/channel0/loss_mode"
		echo 'syscall:entry:openat' >"$s/kernel/events"
		case $(tool open "$s/control" w write 'start\n') in
		6) started=$((started + 1)) ;;
		ENOMEM) refused=$((refused + 1)) last=$s ;;
		*) fail "start is neither done nor ENOMEM: $(cat "$s/error")" ;;
		esac
	done
	echo "$started of 8 sessions have room in $(grep MemTotal /proc/meminfo)"
	[ $started -ge 2 ] && [ $refused -ge 2 ] ||
		fail "$started sessions have room, $refused have none"
}

load
mount_tree
daemon=$(daemon_pids)
is "the kernel kills others before the daemon" -900 "$(cat "/proc/$daemon/oom_score_adj")"
keeper=$(ps -eo pid=,args= | awk '/[t]rail-keeper --keeper/ { print $1 }')
is "and before the keeper" -900 "$(cat "/proc/$keeper/oom_score_adj")"

make_sessions
first=$started
has "$(cat "$last/error")" "trail.ko gives no channel of 16777216 bytes per CPU: Cannot allocate memory; .*remove a session"

# --- all rings are filled, the daemon's, too
name=$(printf '/%.0s' $(seq 240))
# Twice, as the daemon's copy of an event is smaller.
for cpu in 0 1 0 1; do
	taskset -c $cpu "$calls" 65000 "$name" >/dev/null
	for i in $(seq $started); do
		cat "$S/large$i/status" >/dev/null
	done
done
for i in $(seq $started); do
	echo stop >"$S/large$i/control"
done
held=$(key bytes "$S/large1/status")
[ "$held" -ge 28000000 ] || fail "the rings are not full: $held bytes"
is "the daemon lives" "$daemon" "$(daemon_pids)"
clean

# --- a session less is room for another one
is "still no room" ENOMEM "$(tool open "$last/control" w write 'start\n')"
rmdir "$S/large1"
is "room again" 6 "$(tool open "$last/control" w write 'start\n')"
rmdir "$S"/large*

# --- all over again: nothing was forgotten
make_sessions
is "as many as before" $first $started

# --- what a dead daemon has left counts; the next one frees what no session claims
kill -9 $daemon
within 20 daemon_ended || fail "the daemon lives"
umount -l "$MNT"
mount_tree
rmdir "$S"/large*
make_sessions
is "as many with the next daemon" $first $started

# --- the commands of the manual free what no daemon will claim
kill -9 $(daemon_pids)
within 20 daemon_ended || fail "the daemon lives"
umount -l "$MNT"
sed -n '/^\.Ss What a dead daemon leaves/,/^\.Ed/p' "$top/docs/trailfs-kernel.4" |
	sed '1,/^\.Bd/d; /^\.Ed/d' >"$work/by_hand"
has "$(cat "$work/by_hand")" 'rmmod trail_events'
before=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
rmmod() { busybox rmmod "$@"; }
. "$work/by_hand"
cd /
[ ! -e /dev/trail ] || fail "trail.ko is still loaded"
is "no instances are left" 0 "$(ls $T/instances | grep -c trailfs-)"
is "no probes are left" 0 "$(grep -c trailfs_ $T/dynamic_events)"
after=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
[ $((after - before)) -ge $((started * 24 * 1024)) ] || fail "$before kB were available, now $after"
kill "$keeper"
within 20 keeper_ended || fail "the keeper lives"
rm -rf "$TRAIL_RUNTIME_DIR"
load
mount_tree
make_sessions
is "as many as in the beginning" $first $started
clean
echo "$checks checks"
