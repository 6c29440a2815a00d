#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Who ran, in events of the kernel: pid and procname as contexts and in filters, and processes in
# fields; of threads that are gone when a process looks, too. Skips where the daemon finds no
# backend.
. "$(dirname "$0")/../../lib/mount.sh"

T=/sys/kernel/tracing
mount_tree
grep -q '^kernel none' "$MNT/version" &&
	skip "the kernel cannot be traced here: $(grep '^kernel' "$MNT/version")"
know_pids

cat >"$work/who.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread(void *name)
{
	prctl(PR_SET_NAME, name);
	syscall(SYS_getppid);
	printf("thread %d\n", kernel_number((int)syscall(SYS_gettid)));
	return NULL;
}

/* getppid: once by each of: the program under its name, and under another one; a thread; a child of the thread's process */
int main(void)
{
	pthread_t t;
	pid_t child;

	syscall(SYS_getppid);
	prctl(PR_SET_NAME, "who-second");
	syscall(SYS_getppid);
	pthread_create(&t, NULL, thread, "who-thread");
	pthread_join(t, NULL);
	fflush(stdout);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "who-child");
		syscall(SYS_getppid);
		printf("child %d\n", kernel_pid());
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("main %d\n", kernel_pid());
	return 0;
}
C
${CC:-cc} $with_kernel_pid -pthread -o "$work/who" "$work/who.c" || skip "no compiler"

value() {
	awk -v k="$1" '$1 == k { print $2 }' "$work/ids"
}

# lines NUMBER PATTERN: the text has this number of lines with the pattern
lines() {
	is "$2" "$1" "$(grep -c -- "$2" "$work/text")"
}

# --- contexts of threads that have gone
mark=who$(date +%s)$$
s=$S/$mark
mkdir "$s"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo 'sched_process_fork' >>"$s/kernel/events"
echo 'pid tid procname cpu_id' >"$s/kernel/contexts"
is "contexts read back" "pid tid procname cpu_id " "$(tr '\n' ' ' <"$s/kernel/contexts")"
echo start >"$s/control"
# Records of trail.ko have these contexts in them. The names of this daemon's instances end with one
# number.
follower=$T/instances/trailfs-threads-$(ls $T/instances |
	sed -n 's/^trailfs-'$mark'-channel0-.*-//p')
by_module || is "threads are followed" 1 "$(cat "$follower/events/task/task_rename/enable")"
"$work/who" >"$work/ids"
cat "$s/text" >"$work/text"
m=$(value main) t=$(value thread) c=$(value child)
lines 1 "getppid: .*{ pid = $m, tid = $m, procname = \"who\", cpu_id = [0-9]* }"
lines 1 "getppid: .*{ pid = $m, tid = $m, procname = \"who-second\", "
lines 1 "getppid: .*{ pid = $m, tid = $t, procname = \"who-thread\", "
lines 1 "getppid: .*{ pid = $c, tid = $c, procname = \"who-child\", "
# --- fields
lines 1 "sched_process_fork: .*parent_tid = $m, child_comm = \"who-second\", child_tid = $t, parent_pid = $m, child_pid = $m }"
lines 1 "sched_process_fork: .*parent_tid = $m, child_comm = \"who-second\", child_tid = $c, parent_pid = $m, child_pid = $c }"
# --- who was there before the start, and the thread of no process
echo 'sched_switch' >"$s/kernel/events"
"$work/who" >/dev/null
echo stop >"$s/control"
cat "$s/text" >"$work/text"
is "the idle threads" 0 "$(grep ', tid = 0, procname' "$work/text" |
	grep -vc '{ pid = 0, tid = 0, procname = "swapper/[0-9]*", ')"
# Who was there before and ended at the very start may not be known; all others are. In a PID
# namespace, daemons outside are not.
known='who\|trailfs'
[ "$(kernel_pid $$)" = $$ ] || known=who
is "all are known" 0 "$(grep 'pid = -1' "$work/text" | grep -c "procname = \"\($known\)")"
d=$(kernel_pid "$(daemon_pids)")
grep "sched_switch: .*{ pid = $d, " "$work/text" | grep -vq "procname = \"trailfs" &&
	fail "the daemon has another name: $(grep "{ pid = $d, " "$work/text")"
rmdir "$s"
is "no process is followed without need" no "$([ -e "$follower" ] && echo yes || echo no)"

# In a PID namespace the programs start shells to find out their numbers, which call getppid, too.
[ "$(kernel_pid $$)" = $$ ] || { echo "$checks checks, no filters in a PID namespace"; exit 0; }

# --- filters
s=$S/filter
mkdir "$s" "$s/kernel/channels/a" "$s/kernel/channels/b" "$s/kernel/channels/c"
echo 'syscall:entry:getppid if $ctx.procname == "who-*"' >"$s/kernel/channels/a/events"
echo 'syscall:exit:getppid if $ctx.pid != $ctx.tid && $ctx.procname == "who-*"' \
	>"$s/kernel/channels/b/events"
echo 'sched_process_fork if parent_pid != child_pid && $ctx.procname == "who-second"' \
	>"$s/kernel/channels/c/events"
if ! by_module; then
	is "refused" EOPNOTSUPP \
		"$(tool open "$s/kernel/events" w write 'sched_switch if $ctx.preemptible > 3\n')"
	has "$(cat "$s/error")" "kernel module trail.ko"
fi
is "none such" ENOENT "$(tool open "$s/kernel/events" w write 'sched_switch if $ctx.pidd > 3\n')"
echo start >"$s/control"
"$work/who" >"$work/ids"
echo stop >"$s/control"
cat "$s/text" >"$work/text"
# shellcheck disable=SC2126
is "by name" 3 "$(grep getppid: "$work/text" | grep -c entry)"
is "by thread, of this program" 1 "$(grep -c 'syscall_exit_getppid' "$work/text")"
lines 1 "sched_process_fork: .*child_tid = $(value child)"
is "no threads" 1 "$(grep -c sched_process_fork "$work/text")"
rmdir "$s"

# --- a killed daemon: what it did not read yet is known to the next one
s=$S/kill
mkdir "$s"
echo 'syscall:entry:getppid' >"$s/kernel/events"
echo 'pid procname' >"$s/kernel/contexts"
echo start >"$s/control"
"$work/who" >"$work/ids"
kill -9 $(daemon_pids)
within 10 daemon_ended
umount -l "$MNT"
mount_tree
cat "$s/text" >"$work/text"
lines 1 "getppid: .*{ pid = $(value main), procname = \"who-thread\" }"
lines 1 "getppid: .*{ pid = $(value child), procname = \"who-child\" }"
rmdir "$s"
echo "$checks checks"
