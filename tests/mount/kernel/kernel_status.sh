#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Contexts that tracefs does not record and /proc has: ids in namespaces, users, groups, priority
# and namespaces, as the process itself sees them; in filters, too; and sets of users, groups and
# vpids. Each process lives until its events were read.
. "$(dirname "$0")/../../lib/mount.sh"
mount_kernel
by_module && skip "trail.ko records them: tests/vm/module_context.sh"
[ "$(id -u)" = 0 ] || skip "only root changes users"
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"

# who USER GROUP NICE FLAGS CHILDREN [DEPTH]: changes to these, calls getppid 20 times, and once in
# each of so many children; prints its contexts, and waits for the end of its input. FLAGS: of
# unshare(2); with CLONE_NEWPID the child of generation DEPTH does it: the first has the pid 1.
cat >"$work/who.c" <<'C'
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_namespace(const char *name)
{
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/thread-self/ns/%s", name);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = 0;
	printf(", %s_ns = %lu", name, n > 0 ? strtoul(strchr(link, '[') + 1, NULL, 10) : 0);
}

/* As /proc has it: the test counts the calls of getppid(2). */
static int parent(void)
{
	char line[200];
	FILE *f = fopen("/proc/thread-self/status", "r");
	int id = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "PPid: %d", &id);
	return id;
}

int main(int argc, char **argv)
{
	int uid = atoi(argv[1]), gid = atoi(argv[2]), flags = atoi(argv[4]);
	static const char *const names[] = { "cgroup", "ipc", "mnt", "net", "pid", "user", "uts" };
	uid_t u[3], g[3];
	char c;

	(void)argc;
	if (flags && unshare(flags))
		return 77;
	for (int i = 0; flags & CLONE_NEWPID && i < atoi(argv[6]); i++)
		if (fork()) {
			wait(NULL);
			return 0;
		}
	setpriority(PRIO_PROCESS, 0, atoi(argv[3]));
	/* Numbers in /proc are those of the mount's namespace: links of before the change of user */
	printf("vpid = %d, vtid = %ld, vppid = %d", getpid(), syscall(SYS_gettid), parent());
	for (size_t i = 0; i < 7; i++)
		if (strcmp(names[i], "pid") || !(flags & CLONE_NEWPID))
			put_namespace(names[i]);
	if (setresgid(gid, gid + 1, gid + 2) || setresuid(uid, uid + 1, uid + 2))
		return 77;
	getresuid(&u[0], &u[1], &u[2]);
	getresgid(&g[0], &g[1], &g[2]);
	printf(", uid = %u, euid = %u, suid = %u, gid = %u, egid = %u, sgid = %u", u[0], u[1], u[2],
	       g[0], g[1], g[2]);
	printf(", nice = %d, prio = %d\n", getpriority(PRIO_PROCESS, 0),
	       20 + getpriority(PRIO_PROCESS, 0));
	fflush(stdout);
	for (int i = 0; i < 20; i++)
		syscall(SYS_getppid);
	/* Children that are gone when the daemon looks */
	for (int i = 0; i < atoi(argv[5]); i++) {
		if (!fork()) {
			syscall(SYS_getppid);
			_exit(0);
		}
		wait(NULL);
	}
	puts("called");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
C
${CC:-cc} -o "$work/who" "$work/who.c" || skip "no compiler"

# one NAME ARGUMENT...: runs it; its output is in NAME.out
mkfifo "$work/end"
exec 7<>"$work/end"
one() {
	name=$1
	shift
	(exec 3<"$work/end" 7>&-; exec "$work/who" "$@" <&3 >"$work/$name.out") &
	pids="${pids-} $!"
}
known() { [ "$(tail -n 1 "$work/$1.out" 2>/dev/null)" = called ]; }

available=$(cat "$MNT/available/kernel/contexts")
names='vpid vtid vppid cgroup_ns ipc_ns mnt_ns net_ns pid_ns user_ns uts_ns uid euid suid gid egid sgid nice prio'
for c in $names time_ns; do
	has "$available" "^$c\$"
done
s=$S/c$mark
mkdir "$s"
# With BPF, a channel can have hostname.
for c in interruptible vuid $(grep -qx hostname "$MNT/available/kernel/contexts" || echo hostname); do
	! echo $c 2>/dev/null >"$s/kernel/contexts" || fail "$c is accepted"
	has "$(cat "$s/error")" 'neither tracefs nor /proc says it of a thread, it needs the .* trail.ko'
done
! echo 40000 2>/dev/null >"$s/kernel/track/vuid" || fail "track/vuid is accepted"
has "$(cat "$s/error")" 'neither tracefs nor /proc has the vuid of the process'
echo "$names" >"$s/kernel/contexts"
echo 'syscall:entry:getppid if $ctx.uid >= 40000 && $ctx.prio == 25' >"$s/kernel/events"
u=$S/u$mark g=$S/g$mark
for d in "$u" "$g"; do
	mkdir "$d"
	echo 'uid egid' >"$d/kernel/contexts"
	echo syscall:entry:getppid >"$d/kernel/events"
done
printf '40000\n40002\n' >"$u/kernel/track/uid"
echo 50020 >"$g/kernel/track/gid"
is "the set" "40000 40002 " "$(tr '\n' ' ' <"$u/kernel/track/uid")"
for d in "$s" "$u" "$g"; do
	echo start >"$d/control"
done
one plain 40000 50000 5 0 5
one other 40010 50020 5 0 0
one nice 40000 50000 3 0 0
one apart 40002 50010 5 $((0x08000000 | 0x04000000 | 0x00020000)) 0 # IPC, UTS, mounts
one inside 40002 50010 5 $((0x20000000)) 0 1    # PID
one deep 40012 50010 5 $((0x20000000)) 3 2
one around 40022 50010 5 $((0x20000000)) 1 0
for n in plain other nice apart inside deep around; do
	within 20 known $n || skip "$n: the process cannot change to this"
done
for d in "$s" "$u" "$g"; do
	cat "$d/text" >/dev/null
	echo stop >"$d/control"
done
for n in plain other apart; do
	is "contexts of $n" 20 "$(grep -cF "$(head -n 1 "$work/$n.out")" "$s/text")"
done
# (The child of `around` may have these numbers, too.)
is "contexts of a PID namespace" 20 \
	"$(grep -c 'vpid = 1, vtid = 1, vppid = 0, .* uid = 40002' "$s/text")"
is "a parent in a PID namespace" 20 "$(grep -cF 'vpid = 2, vtid = 2, vppid = 1, ' "$s/text")"
# No record has the numbers in a PID namespace: of a child that began before the daemon read its
# maker's, the parent is unknown.
is "the parent of children that are gone" 3 \
	"$(grep -c 'vppid = \(2\|-1\), .* uid = 40012' "$s/text")"
is "the parent of children outside" 5 "$(grep -c "vppid = $(sed -n 's/^vpid = \([0-9]*\).*/\1/p' "$work/plain.out"), " "$s/text")"
is "a child in a namespace of its own that is gone" 1 \
	"$(grep -c 'vpid = -*1, vtid = -*1, vppid = 0, .* uid = 40022' "$s/text")"
is "the filter" 129 "$(grep -c getppid "$s/text")"
is "nothing is of others" 0 "$(grep -c 'prio = 23' "$s/text")"
is "users 40000 and 40002" 85 "$(grep -c 'uid = 4000[02], ' "$u/text")"
is "no other user" 85 "$(grep -c getppid "$u/text")"
is "group 50020" 20 "$(grep -c 'uid = 40010, egid = 50021' "$g/text")"
is "no other group" 20 "$(grep -c getppid "$g/text")"

echo '*' >"$u/kernel/track/uid"
is "all again" '*' "$(cat "$u/kernel/track/uid")"
kill $pids 2>/dev/null
wait
rmdir "$s" "$u" "$g"
echo "$checks checks"
