#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Contexts, a filter and an inclusion set on users, groups, parents and namespaces, of programs that
# have ended before the daemon reads anything: it is stopped while they run. Each program says what
# it is at each call. A trace may say that a value is unknown, where no record has it; it never has
# another value.
. "$(dirname "$0")/../../lib/mount.sh"
by_instance
mount_kernel
by_module && skip "trail.ko records them: tests/vm/module_context.sh"
[ "$(id -u)" = 0 ] || skip "only root changes users"
[ "$(kernel_pid $$)" = $$ ] || skip "in a PID namespace the numbers of new processes are not known"

# who NAME STEP...: does these steps; at `c` it says what it is, and calls getppid.
cat >"$work/who.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char **at, *name, *program;

static int number(void)
{
	return atoi(*at++);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		exit(77);
	close(fd);
}

static void call(void)
{
	uid_t u[3];
	gid_t g[3];
	char link[64], line[300];
	ssize_t n = readlink("/proc/thread-self/ns/uts", link, sizeof(link) - 1);
	int parent = (int)syscall(SYS_getppid);

	link[n > 0 ? n : 0] = 0;
	getresuid(&u[0], &u[1], &u[2]);
	getresgid(&g[0], &g[1], &g[2]);
	n = snprintf(line, sizeof(line), "%s %ld vpid %d vppid %d uid %u euid %u suid %u gid %u egid "
		     "%u sgid %u uts_ns %s\n", name, syscall(SYS_gettid), getpid(), parent,
		     u[0], u[1], u[2], g[0], g[1], g[2], n > 0 ? strtok(link + 5, "]") : "0");
	if (write(1, line, (size_t)n) != n)
		_exit(77);
}

static void steps(void);

static void *thread(void *arg)
{
	steps();
	return arg;
}

static void orphan(void)
{
	int fds[2];
	char byte;

	if (pipe(fds))
		exit(77);
	if (fork())
		_exit(0);
	close(fds[1]);
	while (read(fds[0], &byte, 1) > 0)
		;
}

static void steps(void)
{
	int a, b, c;
	pthread_t t;

	while (*at)
		switch (*(*at++)) {
		case 'c':
			call();
			break;
		case 'u':       /* setuid */
			syscall(SYS_setuid, number());
			break;
		case 'r':       /* setreuid */
			a = number(), b = number();
			syscall(SYS_setreuid, a, b);
			break;
		case 's':       /* setresuid */
			a = number(), b = number(), c = number();
			syscall(SYS_setresuid, a, b, c);
			break;
		case 'g':       /* setresgid */
			a = number(), b = number(), c = number();
			syscall(SYS_setresgid, a, b, c);
			break;
		case 'f':       /* a child calls */
			if (!fork()) {
				call();
				_exit(0);
			}
			wait(NULL);
			break;
		case 't':       /* a thread does the rest */
			if (pthread_create(&t, NULL, thread, NULL))
				exit(77);
			pthread_join(t, NULL);
			exit(0);
		case 'o':       /* a child that survives its parent does the rest */
			orphan();
			break;
		case 'x':       /* another program does the rest */
			*--at = name;
			*--at = program;
			execv(program, at);
			exit(77);
		case 'n':       /* another UTS namespace */
			if (unshare(CLONE_NEWUTS))
				exit(77);
			break;
		case 'm':       /* a user namespace, where user 0 is 1605 */
			if (unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 1))
				exit(77);
			write_file("/proc/self/uid_map", "0 1605 1");
			break;
		case 'p':       /* children in another PID namespace */
			if (unshare(CLONE_NEWPID))
				exit(77);
			break;
		case 'w':       /* wait for the file */
			while (access(*at, F_OK))
				usleep(1000);
			at++;
			break;
		}
}

int main(int argc, char **argv)
{
	(void)argc;
	program = argv[0];
	name = argv[1];
	at = argv + 2;
	steps();
	return 0;
}
C
${CC:-cc} -pthread -o "$work/who" "$work/who.c" || skip "no compiler"

names='tid vpid vppid uid euid suid gid egid sgid uts_ns'
all=$S/a$mark track=$S/t$mark filter=$S/f$mark
mkdir "$all" "$track" "$filter"
echo "$names" >"$all/kernel/contexts"
echo tid >"$track/kernel/contexts"
echo tid >"$filter/kernel/contexts"
echo syscall:entry:getppid >"$all/kernel/events"
echo syscall:entry:getppid >"$track/kernel/events"
echo 1601 >"$track/kernel/track/uid"
echo 'syscall:entry:getppid if $ctx.uid == 1601' >"$filter/kernel/events"

# run NAME STEP...: what it says is in `said`
: >"$work/said"
run() {
	"$work/who" "$@" >>"$work/said" || skip "$1: the program cannot do this here"
}
# One that runs before the start; its child calls after that.
"$work/who" before s 1601 1602 1603 c w "$work/go" c f >>"$work/said" &
before=$!
within 60 [ -s "$work/said" ] || skip "the user cannot be changed"
for d in "$all" "$track" "$filter"; do
	echo start >"$d/control"
done
kill -STOP $(daemon_pids)
touch "$work/go"
wait $before || fail "the program that was there before"
run set g 1701 1702 1703 s 1601 1602 1603 c f c f
run earlier g 0 0 0 s 0 0 0 f s 1601 1601 1601 f
run many s 0 0 0 g 0 0 0 f f f f f f f f f f
run refused g 1701 1701 1701 s 1601 1601 1601 s 0 0 0 u 0 c
run one g 0 0 0 s 0 0 0 u 1601 c f
run two g 1701 1701 1701 s 1601 1602 1603 r -1 1603 c r -1 1601 c
run both g 1701 1701 1701 s 0 0 0 r 1601 1602 c
run thread g 0 0 0 s 1601 1602 1603 t c f s 1603 1603 1603 c
run exec g 1701 1702 1701 s 1601 1601 1601 x c f
run unsure s 1601 1602 1603 g 0 0 0 u 1603 c
run orphan g 0 0 0 s 0 0 0 o c
run names g 0 0 0 s 0 0 0 n c f
"$work/who" mapped g 0 0 0 s 1605 1605 1605 m s 0 0 0 c >>"$work/said"
mapped=$?
run apart g 0 0 0 s 1611 0 0 p f
kill -CONT $(daemon_pids)
for d in "$all" "$track" "$filter"; do
	echo stop >"$d/control"
	cat "$d/text" >"$work/${d##*/}"
done

# compare NAME: which contexts of the program's calls are unknown in the trace. A PID namespace has
# other numbers than the records.
compare() {
	awk -v want="$1" '
	FILENAME == ARGV[1] {
		if (!/ syscall_entry_getppid: / || !match($0, /[{] tid = [^}]*/))
			next
		n = split(substr($0, RSTART + 2, RLENGTH - 2), f, /, | = /)
		tid = f[2]
		id = tid " " ++seen[tid]
		for (i = 3; i < n; i += 2)
			is[id, f[i]] = f[i + 1] + 0
		next
	}
	{
		id = $2 " " ++said[$2]
		# It ran before the start.
		if ($1 == "before" && !skipped++) { said[$2]--; next }
		if ($1 != want)
			next
		for (i = 3; i < NF; i += 2) {
			if (!((id, $i) in is)) { print "no event of thread " id; exit }
			v = is[id, $i]
			# 65534: the program itself does not see it, in a user namespace.
			if (v == $(i + 1) || $(i + 1) == 65534)
				continue
			if (v == ($i == "uts_ns" ? 0 : $i ~ /^vp/ ? -1 : 4294967295))
				unknown[$i] = 1
			else
				print id " has " $i " " $(i + 1) ", not " v
		}
	}
	END { for (i = split("'"$names"'", f, " "); i; i--) if (f[i] in unknown) print f[i] }
	' "$work/a$mark" "$work/said" | sort | tr "\n" " "
}
# Effective and saved ones are unknown after a new program, which may have the set-uid mode.
is "unknown: before" "" "$(compare before)"
for n in set earlier many refused one two both thread; do
	is "unknown: $n" "" "$(compare $n)"
done
is "unknown: exec" "egid euid sgid suid " "$(compare exec)"
is "unknown: unsure" "uid " "$(compare unsure)"
# It may still end, as a zombie, when the daemon reads.
is "unknown: orphan, but for vppid" "" "$(compare orphan | sed 's/vppid //')"
is "unknown: names" "uts_ns " "$(compare names)"
[ $mapped = 77 ] || is "unknown: mapped" "euid suid uid " "$(compare mapped)"
is "a PID namespace" 1 "$(grep -c ', vpid = -1, vppid = 0, uid = 1611, ' "$work/a$mark")"

# The set and the filter have those whose user is known to be this one.
calls=$(awk '$1 != "unsure" && $7 == "uid" && $8 == 1601' "$work/said" | wc -l)
calls=$((calls - 1))    # before the start
is "the set" "$calls" "$(grep -c getppid: "$work/t$mark")"
is "the filter" "$calls" "$(grep -c getppid: "$work/f$mark")"
# The set may have lost the others whose user is unknown: they are counted.
unknown=$(grep -c 'getppid:.* uid = 4294967295,' "$work/a$mark")
[ "$unknown" -gt 0 ] || fail "no event of an unknown user"
is "lost to the set" "$unknown" "$(key events_discarded "$track/status")"
is "lost to the set, and unfiltered" "$unknown" "$(key events_unfiltered "$track/status")"

# The next daemon knows those that live, and their children.
rm "$work/go"
: >"$work/said"
"$work/who" next s 1601 1602 1603 c w "$work/go" c f >>"$work/said" &
next=$!
within 60 [ -s "$work/said" ] || fail "no program"
echo start >"$track/control"
kill -9 $(daemon_pids)
within 60 daemon_ended
umount -l "$MNT"
mount_tree
cat "$track/status" >/dev/null
kill -STOP $(daemon_pids)
touch "$work/go"
wait $next
kill -CONT $(daemon_pids)
echo stop >"$track/control"
is "the set of the next daemon" $((calls + 2)) "$(grep -c getppid: "$track/text")"
rmdir "$all" "$track" "$filter"
echo "$checks checks"
