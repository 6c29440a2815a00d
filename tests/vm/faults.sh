#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# What may happen to a recording of the kernel: CPUs go and come, tracefs is unmounted, the daemon
# is killed, its instance is removed. No event is lost that could be had, what is lost is said, and
# the rest continues. SOAK: on each kernel.
kernel_in_check=backports
. "$(dirname "$0")/lib.sh"

calls=$BUILD/tests/lib/calls
cpu1=/sys/devices/system/cpu/cpu1/online

# begin SESSION: records getppid
begin() {
	s=$S/$1
	mkdir "$s"
	echo 'syscall:entry:getppid' >"$s/kernel/events"
	echo 'tid cpu_id' >"$s/kernel/contexts"
	echo start >"$s/control" || fail "$1 does not start: $(cat "$s/error")"
}

# recorded WHAT COUNT TID [CPU]: the events of a thread that the session has
recorded() {
	is "$1" "$2" "$(grep -c " syscall_entry_getppid: .*{ tid = $3, cpu_id = ${4:-[01]} }" \
		"$s/text")"
}

no_complaint() {
	is "no loss" 0 "$(key events_discarded "$s/status")"
	is "no errors" "" "$(cat "$s/error" "$MNT/error" "$work/daemon.log")"
}

# That of the daemon itself, by which it follows threads, does not count.
instances() {
	ls $T/instances | grep -v '^trailfs-threads-' | grep -c "^trailfs-$1-"
}

kill_daemon() {
	kill -9 $(daemon_pids)
	within 20 daemon_ended || fail "the daemon survives"
	umount -l "$MNT"
}

mount_tree
has "$(cat "$MNT/version")" '^kernel tracefs'

# --- a CPU goes while it is recorded, and comes back
begin unplug
before=$(taskset -c 1 "$calls" 500)
echo 0 >$cpu1 || fail "CPU 1 stays"
without=$("$calls" 300)
recorded "before" 500 "$before" 1
recorded "without the CPU" 300 "$without" 0
echo 1 >$cpu1
again=$(taskset -c 1 "$calls" 200)
recorded "before" 500 "$before" 1
recorded "with the CPU again" 200 "$again" 1
no_complaint
rmdir "$s"

# --- a recording that begins without it
echo 0 >$cpu1
begin later
without=$("$calls" 300)
recorded "without the CPU" 300 "$without" 0
no_complaint
echo 1 >$cpu1
with=$(taskset -c 1 "$calls" 200)
recorded "with the CPU" 200 "$with" 1
echo stop >"$s/control"
is "babeltrace2 has them too" "$(wc -l <"$s/text")" "$(babeltrace2 "$s/trace" 2>/dev/null | wc -l)"
no_complaint
rmdir "$s"

# --- tracefs is unmounted while the daemon records
begin unmounted
before=$("$calls" 100)
umount -l $T
[ ! -e $T/instances ] || fail "tracefs is still there"
during=$("$calls" 200)
recorded "before" 100 "$before"
recorded "after tracefs went" 200 "$during"
mkdir "$S/other"
echo sched_switch >"$S/other/kernel/events" || fail "no new session: $(cat "$S/other/error")"
echo start >"$S/other/control" || fail "no new session: $(cat "$S/other/error")"
within 20 grep -q sched_switch "$S/other/text" || fail "a new session records nothing"
rmdir "$S/other"
no_complaint

# --- and the daemon is killed: the next one mounts it, and continues
kill_daemon
dead=$("$calls" 300)
mount_tree
has "$(cat "$MNT/version")" '^kernel tracefs'
is "tracefs is mounted" 1 "$(grep -c " $T tracefs" /proc/self/mounts)"
after=$("$calls" 400)
recorded "before" 100 "$before"
recorded "after tracefs went" 200 "$during"
recorded "without a daemon" 300 "$dead"
recorded "with the next" 400 "$after"
no_complaint
is "only what is used is left" 1 "$(instances '*')"
rmdir "$s"

# --- killed in the middle of it: nothing is missing
begin killed
mkfifo "$work/go"
{ read -r _; exec "$calls" 20000; } <"$work/go" >"$work/tid" &
caller=$!
echo >"$work/go"
within 20 grep -q getppid "$s/text" || fail "nothing is recorded"
kill_daemon
mount_tree
wait $caller
recorded "through the kill" 20000 "$(cat "$work/tid")"
no_complaint

# --- another program removes an instance
i=$(ls -d $T/instances/trailfs-killed-*)
is "it is held" EBUSY "$(tool rmdir "$i")"
kill_daemon
rmdir "$i" || fail "the instance cannot be removed"
mount_tree
has "$(cat "$work/daemon.log")" \
	"session killed: the kernel's buffer of channel channel0 is lost: .*No such file"
is "it is active" active "$(key state "$s/status")"
after=$("$calls" 100)
recorded "the recording continues" 100 "$after"
recorded "what the daemon had read before" 20000 "$(cat "$work/tid")"
rmdir "$s"
begin next
after=$("$calls" 100)
recorded "another session" 100 "$after"
rmdir "$s"
is "nothing is left" "" "$(ls $T/instances)"

echo "$checks checks"
