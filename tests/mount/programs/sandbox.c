/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * sandbox early|late|sealed|forked: 2000 events box:before { n }, then no system calls but read,
 * write and exit (early, late: others give EPERM; sealed: they kill), then 2000 events box:after {
 * n, text } and a line on standard output. late: no event before. forked: as sealed, but only
 * openat, flock and socket kill, and a child has the events after. When its standard input has a
 * byte it continues; it says so with a line of its own that it is ready.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static int enter(unsigned int otherwise)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int deny_files(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int say(const char *what)
{
	return write(1, what, strlen(what)) == (ssize_t)strlen(what) ? 0 : 3;
}

static int forked(void)
{
	int status = 1;
	char go;
	pid_t child;

	for (int n = 0; n < 2000; n++) {
		TRAIL(box, before, n);
		if (!n)
			TRAIL(box, child, n);
	}
	if (trail_seal())
		return 4;
	if (deny_files())
		return 77;
	if (say("ready\n") || read(0, &go, 1) != 1)
		return 3;
	child = fork();
	if (!child) {
		for (int n = 1; n < 2000; n++)
			TRAIL(box, child, n);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 6;
	return say("done\n");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char text[100], go;
	cpu_set_t here;

	if (!strcmp(how, "forked"))
		return forked();
	/*
	 * A ring whose memory is not present yet cannot be begun in there: stay with the one that
	 * is.
	 */
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	if (strcmp(how, "sealed") != 0)
		sched_setaffinity(0, sizeof(here), &here);
	memset(text, 't', sizeof(text));
	text[99] = 0;
	for (int n = 0; n < 2000 && strcmp(how, "late") != 0; n++)
		TRAIL(box, before, n);
	if (!strcmp(how, "sealed") && trail_seal())
		return 4;
	if (enter(!strcmp(how, "sealed") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM))
		return 77;
	if (say("ready\n") || read(0, &go, 1) != 1)
		return 3;
	for (int n = 0; n < 2000; n++) {
		TRAIL(box, after, n, text);
		TRAIL(box, other, n);
	}
	return say("done\n");
}
