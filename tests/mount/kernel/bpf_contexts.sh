#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Contexts and stacks that neither tracefs nor /proc has: BPF programs record them with each event.
# The traced program says what it is, in namespaces of its own too, and where its functions return.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
by_programs
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"
grep -qx callstack-kernel "$MNT/available/kernel/contexts" ||
	skip "nothing records stacks here: $(grep '^kernel' "$MNT/version")"
programs_record || skip "another backend records contexts"
cat >"$work/self.c" <<'C'
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEEP __attribute__((noinline, noclone))

static void *back[3];

/* The call itself: the stack begins here. */
DEEP static long inner(const char *name)
{
	long ret;

	back[0] = __builtin_return_address(0);
	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(SYS_openat), "D"(AT_FDCWD), "S"(name), "d"(0), "r"(0)
			 : "rcx", "r11", "memory");
	return ret;
}

DEEP static long middle(const char *name)
{
	back[1] = __builtin_return_address(0);
	return inner(name) + 1;
}

DEEP static long outer(const char *name)
{
	back[2] = __builtin_return_address(0);
	return middle(name) + 1;
}

static unsigned int inode(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return stat(path, &st) ? 0 : (unsigned int)st.st_ino;
}

/* Numbers of the process in the namespace of /proc, from its own status. */
static int status(const char *key, int last)
{
	char line[256], *at;
	FILE *f = fopen("/proc/self/status", "r");
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') {
			at = last ? strrchr(line, '\t') : strchr(line, '\t');
			n = atoi(at);
		}
	if (f)
		fclose(f);
	return n;
}

static void say(const char *name)
{
	char host[HOST_NAME_MAX + 1] = "";
	uid_t u[3];
	gid_t g[3];

	getresuid(u, u + 1, u + 2);
	getresgid(g, g + 1, g + 2);
	gethostname(host, sizeof(host));
	outer(name);
	printf("{ procname = \"self%%ctx\", pid = %d, tid = %d, ppid = %d, vpid = %d, vtid = %d, "
	       "vppid = %d, prio = %d, nice = %d, uid = %u, euid = %u, suid = %u, gid = %u, "
	       "egid = %u, sgid = %u, hostname = \"%s\", cgroup_ns = %u, ipc_ns = %u, mnt_ns = %u, "
	       "net_ns = %u, pid_ns = %u, time_ns = %u, user_ns = %u, uts_ns = %u }\n",
	       status("Tgid", 0), status("Pid", 0), status("PPid", 0), getpid(),
	       (int)syscall(SYS_gettid), getppid(), 20 + getpriority(PRIO_PROCESS, 0),
	       getpriority(PRIO_PROCESS, 0), u[0], u[1], u[2], g[0], g[1], g[2], host,
	       inode("cgroup"), inode("ipc"), inode("mnt"), inode("net"), inode("pid"),
	       inode("time"), inode("user"), inode("uts"));
	printf("0x%lX 0x%lX 0x%lX\n", (long)back[0], (long)back[1], (long)back[2]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	prctl(PR_SET_NAME, "self%ctx");
	say(argv[1]);
	if (setpriority(PRIO_PROCESS, 0, 7) || unshare(CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWIPC) ||
	    sethostname("elsewhere", 9))
		return 77;
	if (fork())
		return wait(NULL) < 0;
	if (setresgid(11, 12, 13) || setresuid(21, 22, 0) || prctl(PR_SET_DUMPABLE, 1))
		return 1;
	say(argv[1]);
	return argc != 2;
}
C
${CC:-cc} -O1 -D_GNU_SOURCE -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/self" \
	"$work/self.c" || skip "no compiler"
own=/none$$
all='procname pid tid ppid vpid vtid vppid prio nice uid euid suid gid egid sgid hostname
	cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns'

# (Linux 7.0 may count as discarded what is not of the program.)
events() { grep '^\[' "$s/text"; }
record_calls() {
	s=$S/c$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put "$(echo $all)" "$s/kernel/contexts"
	put 'callstack-user' "$s/kernel/channels/channel0/contexts"
	put "callstack-kernel $(echo $all) callstack-user" "$s/kernel/contexts"
	put 'syscall:entry:openat if filename == "'$own'"' "$s/kernel/events"
	put start "$s/control"
	is "no mistake" "" "$(cat "$s/error")"
	sh -c 'exec "$@"' sh "$work/self" "$own" >"$work/said"
	case $? in
	0) want=2 ;;
	77) want=1 ;;
	*) fail "the program failed" ;;
	esac
	put stop "$s/control"
}
record_whole record_calls
events >"$work/events"
is "events" $want "$(wc -l <"$work/events")"
sed 's/.* \], \(procname = .*\), _callstack_user_length.*/{ \1 }/' \
	"$work/events" >"$work/got"
grep '^{' "$work/said" >"$work/want"
is "contexts" "$(cat "$work/want")" "$(cat "$work/got")"
# The first address is inside of the innermost function; then come the places of return.
sed 's/.*callstack_user = \[ \[0\] = [^,]*, \[1\] = \([^,]*\), \[2\] = \([^,]*\), \[3\] = \([^, ]*\).*/\1 \2 \3/' \
	"$work/events" >"$work/got"
grep '^0x' "$work/said" >"$work/want"
is "user stacks" "$(cat "$work/want")" "$(cat "$work/got")"
if grep -q '^callstack_kernel empty at system calls: ' "$s/kernel/channels/channel0/status"; then
	is "stacks of the kernel" 0 "$(grep -c 'callstack_kernel = \[ \[' "$work/events")"
elif [ "$(sed -n 's/.* T do_syscall_64$/x/p;s/.* t do_syscall_64$/x/p' /proc/kallsyms)" ] &&
	! grep -q '^0* . do_syscall_64' /proc/kallsyms; then
	has "$(grep -m 1 '^\[' "$s/text.symbols")" 'callstack_kernel = \[.*do_syscall_64+.*entry_SYSCALL_64'
fi
same_text "$s"
rmdir "$s"

# --- of events that are no system calls, with dynamic parts; other contexts in another channel
record_execs() {
	s=$S/e$mark
	mkdir "$s" "$s/kernel/channels/channel0" "$s/kernel/channels/plain"
	put 'callstack-kernel hostname procname' "$s/kernel/channels/channel0/contexts"
	put 'procname' "$s/kernel/channels/plain/contexts"
	put 'sched:sched_process_exec if filename == "'$work'/self"' "$s/kernel/channels/channel0/events"
	put 'sched:sched_process_exec if filename == "'$work'/self"' "$s/kernel/channels/plain/events"
	put start "$s/control"
	"$work/self" "$own" >/dev/null
	put stop "$s/control"
}
record_whole record_execs
is "two" 2 "$(events | wc -l)"
has "$(grep hostname "$s/text")" 'callstack_kernel = \[ \[0\] = 0x[0-9A-F]*, .*hostname = "'$(hostname)'", procname = "self"'
is "without a stack" 1 "$(grep -c '{ procname = "self" }' "$s/text")"
rmdir "$s"

# --- while there is no daemon, and with the next one
record_kept() {
	s=$S/k$mark
	mkdir "$s" "$s/kernel/channels/channel0"
	put 'procname callstack-kernel hostname' "$s/kernel/channels/channel0/contexts"
	put 'sched:sched_process_exec if filename == "'$work'/self"' "$s/kernel/events"
	put start "$s/control"
	"$work/self" "$own" >/dev/null
	kill -9 $(daemon_pids)
	within 20 daemon_ended
	end_dead_mount "$MNT"
	"$work/self" "$own" >/dev/null
	mount_tree
	"$work/self" "$own" >/dev/null
	kept=$(grep -c 'procname = "self", .*callstack_kernel = \[ \[0\] = 0x.*hostname = "'$(hostname)'"' "$s/text")
	put 'sched:sched_process_exec if filename == "'$work'/sel*"' "$s/kernel/events"
	"$work/self" "$own" >/dev/null
}
record_whole record_kept
is "of both daemons and between" 3 "$kept"
is "after a change of rules" 4 "$(grep -c 'callstack_kernel = \[ \[0\] = 0x' "$s/text")"
is "lost" 0 "$(key events_discarded "$s/status")"
has "$(cat "$s/kernel/channels/channel0/status")" '^backend bpf$'
rmdir "$s"

# --- what programs cannot record
mkdir "$S/n$mark" "$S/n$mark/kernel/channels/channel0"
is "a state of the CPU" EOPNOTSUPP "$(tool open "$S/n$mark/kernel/contexts" wt write \
	'preemptible\n' close | grep -o EOPNOTSUPP)"
is "a filter" EOPNOTSUPP "$(tool open "$S/n$mark/kernel/events" wt write \
	'sched:sched_switch if $ctx.hostname == "x"\n' close | grep -o EOPNOTSUPP)"
put hostname "$S/n$mark/kernel/contexts"
put tracefs "$S/n$mark/kernel/channels/channel0/backend"
put sched:sched_switch "$S/n$mark/kernel/events"
is "by tracefs alone" EOPNOTSUPP "$(tool open "$S/n$mark/control" wt write 'start\n' close |
	grep -o EOPNOTSUPP)"
has "$(cat "$S/n$mark/error")" 'the channel.s `backend` is tracefs, which cannot record the context hostname'
rmdir "$S/n$mark"
echo "$checks checks"
