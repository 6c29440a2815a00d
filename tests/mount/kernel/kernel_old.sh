#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Who ran is known of a process that is older than the daemon's first kernel session and ends before
# the first look at the trace: its process and its name are in its events, and a filter on its name
# takes them. Rules and contexts are written before the start.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
cat >"$work/old.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *thread(void *go)
{
	char c;

	prctl(PR_SET_NAME, "old-thread");
	if (write(1, "thread\n", 7) == 7 && read(*(int *)go, &c, 1) == 1)
		syscall(SYS_getppid);
	return NULL;
}

/* Starts a thread; each waits for a byte, then calls getppid. */
int main(void)
{
	pthread_t t;
	int go[2];
	char c;

	prctl(PR_SET_NAME, "old-main");
	if (pipe(go) || pthread_create(&t, NULL, thread, &go[0]) || read(0, &c, 1) != 1)
		return 1;
	syscall(SYS_getppid);
	return write(go[1], "x", 1) != 1 || pthread_join(t, NULL);
}
C
${CC:-cc} -pthread -o "$work/old" "$work/old.c" || skip "no compiler"

mkfifo "$work/go"
"$work/old" <"$work/go" >"$work/said" &
pid=$!
exec 3>"$work/go"
within 20 grep -q thread "$work/said" || fail "the process does not wait"

s=$S/o$mark
mkdir "$s" "$s/kernel/channels/all" "$s/kernel/channels/named"
echo 'syscall:entry:getppid' >"$s/kernel/channels/all/events"
echo 'pid procname' >"$s/kernel/channels/all/contexts"
echo 'syscall:entry:getppid if $ctx.procname == "old-*"' >"$s/kernel/channels/named/events"
echo 'procname' >"$s/kernel/channels/named/contexts"
echo start >"$s/control"
number=$(kernel_pid $pid)
echo >&3
wait $pid || fail "the process failed"
echo stop >"$s/control"
cat "$s/text" >"$work/text"
for name in old-main old-thread; do
	is "$name" 1 "$(grep -c "getppid: .*{ pid = $number, procname = \"$name\" }" "$work/text")"
	is "$name by its name" 1 "$(grep -c "getppid: .*}, { procname = \"$name\" }" "$work/text")"
done
rmdir "$s"
echo "$checks checks"
