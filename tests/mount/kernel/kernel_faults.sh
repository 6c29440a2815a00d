#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Others change the kernel's tracing without the daemon: it says so where it can know, and
# the rest continues.
. "$(dirname "$0")/../../lib/mount.sh"

by_instance
mount_kernel

cat >"$work/calls.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* calls NUMBER: that number of getppid(2); prints its pid */
int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--)
		syscall(SYS_getppid);
	printf("%d\n", kernel_pid());
	return 0;
}
C
${CC:-cc} $with_kernel_pid -o "$work/calls" "$work/calls.c" || skip "no compiler"

s=$S/f$mark
instance() {
	ls -d $T/instances/trailfs-f$mark-*
}

# told PID: entries of its calls in the text
told() {
	grep -c " syscall_entry_getppid: .*{ tid = $1 }" "$s/text"
}

begin() {
	mkdir "$s"
	echo 'syscall:entry:getppid' >"$s/kernel/events"
	echo tid >"$s/kernel/contexts"
	echo start >"$s/control"
	i=$(instance)
}

again() {
	mount_tree
	grep -q '^kernel tracefs' "$MNT/version" || fail "no kernel after the second mount"
}

kill_daemon() {
	kill -9 $(daemon_pids)
	within 10 daemon_ended
	umount -l "$MNT"
}

# --- other sizes, other events, another clock, in the instance's own files
begin
before=$("$work/calls" 100)
is "no other process can remove it" EBUSY "$(tool rmdir "$i")"
is "before" 100 "$(told "$before")"
echo 64 >"$i/buffer_size_kb"
smaller=$("$work/calls" 100)
is "with a smaller buffer" 100 "$(told "$smaller")"
echo 4096 >"$i/buffer_size_kb"
larger=$("$work/calls" 20000)
is "with a larger buffer" 20000 "$(told "$larger")"
is "still" 100 "$(told "$before")"
echo 1 >"$i/events/sched/sched_switch/enable"
other=$("$work/calls" 100)
is "with another event on" 100 "$(told "$other")"
is "which no rule here asked for" 0 "$(grep -c sched_switch "$s/text")"
echo 0 >"$i/events/enable"
"$work/calls" 100 >/dev/null
printf 'stop\nstart\n' >"$s/control"
restarted=$("$work/calls" 100)
is "events come on again with a start" 100 "$(told "$restarted")"
is "no loss" 0 "$(key events_discarded "$s/status")"

# --- recording, switched off
echo 0 >"$i/tracing_on"
off=$("$work/calls" 100)
is "nothing is recorded" 0 "$(told "$off")"
has "$(cat "$s/status")" "^problem channel0: another program has stopped the recording"
printf 'stop\nstart\n' >"$s/control"
on=$("$work/calls" 100)
is "recording again" 100 "$(told "$on")"
is "the problem is over" "" "$(key problem "$s/status")"
rmdir "$s"

# --- the daemon is killed while events come and a reader reads: each is there once, but for a page
# in flight per CPU
begin
cat "$s/pipe" >"$work/pipe" 2>/dev/null &
reader=$!
"$work/calls" 300000 >"$work/pid" &
calls=$!
within 20 grep -qs . "$work/pipe"
kill_daemon
wait $calls
again
wait $reader
echo stop >"$s/control"
n=$(told "$(cat "$work/pid")")
lost=$(($(key events_discarded "$s/status") + $(key events_overwritten "$s/status")))
[ $((n + lost)) -le $((300000 + $(wc -l <"$s/text") - n)) ] ||
	fail "$n events and $lost lost ones of 300000"
[ $((n + lost)) -ge $((300000 - 400 * $(nproc))) ] || fail "$n events and $lost lost ones of 300000"
[ "$(sed 's/ (+[^)]*)//' "$s/text" | sort | uniq -d | wc -l)" = 0 ] ||
	fail "some events are there twice"
rmdir "$s"

# --- the instance is removed while there is no daemon
begin
"$work/calls" 100 >/dev/null
kill_daemon
rmdir "$(instance)"
again

is "still active" active "$(key state "$s/status")"
anew=$("$work/calls" 100)
is "recorded anew" 100 "$(told "$anew")"
rmdir "$s"
is "nothing is left" "" "$(instance 2>/dev/null)"

# --- no tracefs for the daemon: the domain of applications works. And one that is unmounted under
# it
umount "$MNT" || fusermount3 -u "$MNT"
within 15 daemon_ended
cat >"$work/inside.sh" <<'INSIDE'
mount -t tmpfs none /sys/kernel || exit 77
"$TRAILFS" "$MNT" || exit 1
grep '^kernel' "$MNT/version"
mkdir "$S/u"
ls "$S/u"
echo 'trail:*' >"$S/u/user/events" && echo start >"$S/u/control" && echo hello >"$MNT/log"
grep -c hello "$S/u/text"
umount "$MNT"
umount /sys/kernel
"$TRAILFS" "$MNT" || exit 1
mkdir "$S/k" && echo 'syscall:entry:getppid' >"$S/k/kernel/events" && echo tid >"$S/k/kernel/contexts" && echo start >"$S/k/control"
umount -l /sys/kernel/tracing || exit 1
pid=$("$work/calls" 50)
grep -c "tid = $pid }" "$S/k/text"
rmdir "$S/k" && echo removed
umount "$MNT"
INSIDE
if unshare -m --propagation private true 2>/dev/null; then
	work=$work unshare -m --propagation private timeout 200 sh "$work/inside.sh" \
		>"$work/inside" 2>&1
	status=$?
	within 15 daemon_ended
	if [ $status = 0 ]; then
		has "$(sed -n 1p "$work/inside")" 'kernel none (.*tracefs'
		is "without tracefs" "hello" \
			"$(grep -q '^kernel$' "$work/inside" && echo kernel || echo hello)"
		is "inside" "1 50 removed" \
			"$(grep -E '^([0-9]+|removed)$' "$work/inside" | tr '\n' ' ' |
			sed 's/ $//')"
	elif [ $status != 77 ]; then
		fail "$(cat "$work/inside")"
	fi
fi
echo "$checks checks"
