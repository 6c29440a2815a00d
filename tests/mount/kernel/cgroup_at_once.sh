#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# BPF programs decide themselves whether a thread is in a control group of track/cgroup: each of many
# short processes is recorded that are moved into the group, by themselves or by their parent, while
# no other thread is in it; also in a group below, in one that is made later, and what left the group
# after its start. Processes outside are not.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/cgroup.sh"

mount_kernel
programs_record || skip "no BPF programs: $(grep '^kernel' "$MNT/version")"
kernel_since 5.16 || skip "tracefs has no set of threads that is empty: Linux 5.16"
make_group /sys/fs/cgroup/unified
[ "$(stat -f -c %T "$group")" = cgroup2fs ] ||
	skip "no control group of version 2 can be made here"

cat >"$work/short.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void move(int fd, int pid)
{
	if (dprintf(fd, "%d", pid) < 0)
		exit(2);
}

/*
 * short WAY COUNT GROUP [OUTSIDE]: so many processes one after another, each of which calls getppid
 * once and ends. self: it moves itself; parent: its parent moves it; leave: a child of it, which
 * has left the group, calls.
 */
int main(int argc, char **argv)
{
	int in = open(argv[3], O_WRONLY), out = argc > 4 ? open(argv[4], O_WRONLY) : -1;
	int pipes[2], pid;
	char c;

	if (in < 0)
		return 2;
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (pipe(pipes))
			return 2;
		syscall(SYS_getppid);
		pid = fork();
		if (!pid) {
			close(pipes[1]);
			if (!strcmp(argv[1], "parent"))
				(void)!read(pipes[0], &c, 1);
			else
				move(in, 0);
			if (!strcmp(argv[1], "leave")) {
				if (fork()) {
					wait(NULL);
					_exit(0);
				}
				move(out, 0);
			}
			syscall(SYS_getppid);
			_exit(0);
		}
		if (!strcmp(argv[1], "parent"))
			move(in, pid);
		close(pipes[0]);
		close(pipes[1]);
		if (waitpid(pid, NULL, 0) != pid)
			return 2;
	}
	return 0;
}
C
${CC:-cc} -o "$work/short" "$work/short.c" || skip "no compiler"
path=$(group_path)
[ -n "$path" ] || fail "the group has no path"

s=$S/a$mark
mkdir "$s" "$s/kernel/channels/channel0"
put bpf "$s/kernel/channels/channel0/backend"
put tid "$s/kernel/contexts"
put syscall:entry:getppid "$s/kernel/events"
put "$path" "$s/kernel/track/cgroup"
put start "$s/control"

# all WHAT GROUP WAY [OUTSIDE]: each of many processes is recorded. (From Linux 7.0 on, the kernel may
# preempt a program, and misses events that are counted: then once more.)
count=200
all() {
	for again in 1 2 3 4 5; do
		"$work/short" "$3" $count "$2/cgroup.procs" ${4:+"$4/cgroup.procs"} || fail "short $3"
		kernel_since 7.0 && [ "$(key events_discarded "$s/status")" != 0 ] || break
		put clear "$s/control"
	done
	is "$1" $count "$(grep -o ' tid = [0-9]*' "$s/text" | sort -u | wc -l)"
	is "$1: calls" $count "$(grep -c getppid "$s/text")"
	is "$1: losses" 0 "$(key events_discarded "$s/status")"
	put clear "$s/control"
}
all "processes that move themselves" "$group" self
all "processes that are moved" "$group" parent
mkdir "$group/below" && groups=$group/below
all "processes in a group below" "$group/below" self
all "children that left" "$group" leave "$root"

# While there is no daemon, too.
kill -9 $(daemon_pids)
within 20 daemon_ended
end_dead_mount "$MNT"
"$work/short" parent $count "$group/cgroup.procs" || fail "short parent"
mount_tree
kernel_since 7.0 || is "without a daemon" $count "$(grep -c getppid "$s/text")"
put clear "$s/control"
all "with the next daemon" "$group" parent

# A group of the same name is another one: it is known after a while.
rmdir "$group/below" && rmdir "$group" && mkdir "$group" || fail "the group cannot be made again"
known() {
	"$work/short" self 1 "$group/cgroup.procs" && grep -q getppid "$s/text"
}
within 60 known || fail "the new group is not known"
put clear "$s/control"
all "processes in the new group" "$group" self
put '*' "$s/kernel/track/cgroup"
"$work/short" self 1 "$group/cgroup.procs" || fail "short self"
[ "$(grep -c getppid "$s/text")" -ge 2 ] || fail "all are recorded: $(grep -c getppid "$s/text")"
echo "$checks checks"
