/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * rude fsize|strict|tsc|jump: what a program may do to itself while it is traced. Exit status 0, or
 * 77 if it cannot be done here.
 *
 *	fsize	writes to a pipe; the caller set a limit of 0 on the size of files
 *	strict	100 events rude:before { n }, trail_seal(), SECCOMP_MODE_STRICT, 100 events
 *		rude:after { n }
 *	tsc	100 events rude:before, the TSC is forbidden, 100 events rude:after, some of them by
 *		a forked child; it is allowed, 100 events rude:last
 *	jump	a handler leaves an event rude:hit by siglongjmp(3), after its first instruction,
 *		its second, …; after each such event comes rude:after { n } from a frame above, and
 *		rude:deep { n } from one below. Prints how many
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static int strict(void)
{
	for (int n = 0; n < 100; n++)
		TRAIL(rude, before, n);
	if (trail_seal())
		return 4;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		return 77;
	for (int n = 0; n < 100; n++)
		TRAIL(rude, after, n);
	/* exit_group(2) is not allowed. */
	syscall(SYS_exit, 0);
	return 5;
}

static struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
static struct sock_fprog allow_all = { .len = 1, .filter = &allow };

static int tsc(void)
{
	int status = 0;
	pid_t child;

	for (int n = 0; n < 100; n++)
		TRAIL(rude, before, n);
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 77;
	/* Strict mode cannot follow a filter; to fail at that does not give the TSC back. */
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_all, 0, 0) &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		return 8;
	for (int n = 0; n < 50; n++)
		TRAIL(rude, after, n);
	child = fork();
	if (!child) {
		for (int n = 50; n < 100; n++)
			TRAIL(rude, after, n);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 6;
	if (prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0))
		return 7;
	for (int n = 0; n < 100; n++)
		TRAIL(rude, last, n);
	return 0;
}

#ifdef __x86_64__
static sigjmp_buf before_event;
static volatile int steps_left;

static void set_trap_flag(void)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

static void clear_trap_flag(void)
{
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

static void stepped(int sig)
{
	(void)sig;
	if (--steps_left == 0)
		siglongjmp(before_event, 1);
}

/* True: the event ended within this number of steps. */
static __attribute__((noinline)) bool hit(int steps)
{
	steps_left = steps;
	if (sigsetjmp(before_event, 1))
		return false;
	set_trap_flag();
	TRAIL(rude, hit, steps);
	clear_trap_flag();
	return true;
}

static __attribute__((noinline)) void deep(int n)
{
	volatile char room[20000];

	room[0] = 0;
	TRAIL(rude, deep, n);
	room[1] = room[0];
}

static int jump(void)
{
	int n = 0;

	TRAIL(rude, before, n);
	signal(SIGTRAP, stepped);
	while (n < 20000 && !hit(n + 1)) {
		deep(n);
		TRAIL(rude, after, n);
		n++;
	}
	printf("%d\n", n);
	return n < 20000 ? 0 : 8;
}
#else
static int jump(void)
{
	return 77;
}
#endif

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "strict"))
		return strict();
	if (!strcmp(how, "tsc"))
		return tsc();
	if (!strcmp(how, "jump"))
		return jump();
	TRAIL(rude, before, TRAIL_FIELD(n, 0));
	return puts("alive") < 0;
}
