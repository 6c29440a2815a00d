/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/* names: events c:step { what } before and after what contexts tell has changed. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static int gate[2];

static void step(const char *what)
{
	TRAIL(c, step, what);
}

static void *other(void *arg)
{
	char go;

	step("thread");
	if (read(gate[0], &go, 1) == 1)
		step("thread-named");
	return arg;
}

int main(void)
{
	pthread_t t;
	pid_t child;

	step("begin");
	prctl(PR_SET_NAME, "first-name", 0, 0, 0);
	step("prctl");
	pthread_setname_np(pthread_self(), "second-name");
	step("setname");
	if (pipe(gate) || pthread_create(&t, NULL, other, NULL))
		return 1;
	pthread_setname_np(t, "of-the-thread");
	if (write(gate[1], "", 1) != 1 || pthread_join(t, NULL))
		return 1;
	child = fork();
	if (child == 0) {
		step("child");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("child %d\n", (int)child);
	/* Not by a function of libc */
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0) {
		step("raw");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("raw %d\n", (int)child);
	if (geteuid() == 0 && unshare(CLONE_NEWUTS) == 0) {
		step("unshared");
		if (seteuid(65534))
			return 1;
		step("nobody");
	}
	return 0;
}
