/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * What the kernel's tracing costs the traced: kernel_calls calls | switches | work | ticks [COUNT],
 * on CPU 0. ticks: as calls, in ticks of the TSC; work: functions that make no call. Prints
 * `CASE MIN MEDIAN`, ns per system call (thread CPU time), or per switch from one process to
 * another and back, divided by two (elapsed time: both stand still in turns). With a COUNT it does
 * that number of calls or switches, and prints nothing.
 */
#include "tests/bench/bench.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#define RUN 500         /* calls or switches that are timed together, */
#define PAUSE_US 2000   /* and time for who records to keep up */

static int there[2], back[2];
static double (*now)(void) = thread_ns;

static void calls(long n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
}

/* About 11 us at a depth of ten functions. */
__attribute__((noinline)) static unsigned int deep(int depth, unsigned int x)
{
	if (!depth)
		for (int i = 0; i < 10000; i++)
			x = x * 1664525 + 1013904223;
	else
		x = deep(depth - 1, x) + 1;
	__asm__ volatile("" : "+r"(x));
	return x;
}

static void work(long n)
{
	while (n-- > 0)
		deep(10, (unsigned int)n);
}

static double ticks(void)
{
	return (double)__builtin_ia32_rdtsc();
}

static void partner(void)
{
	char c;

	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	_exit(0);
}

static void switches(long n)
{
	char c = 0;

	for (n /= 2; n > 0; n--)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			exit(1);
}

int main(int argc, char **argv)
{
	bool switching = argc > 1 && !strcmp(argv[1], "switches");
	bool working = argc > 1 && !strcmp(argv[1], "work");
	void (*body)(long) = switching ? switches : working ? work : calls;
	double begin;

	if (switching)
		now = wall_ns;
	else if (argc > 1 && !strcmp(argv[1], "ticks"))
		now = ticks;

	bench_pin();
	if (switching) {
		if (pipe(there) || pipe(back))
			return 1;
		if (!fork()) {
			close(there[1]);
			partner();
		}
		close(there[0]);
	}
	if (argc > 2) {
		body(atol(argv[2]));
		return 0;
	}
	body(RUN);
	for (int b = 0; b < BATCHES; b++) {
		begin = now();
		body(RUN);
		batch_ns[b] = (now() - begin) / RUN;
		usleep(PAUSE_US);
	}
	qsort(batch_ns, BATCHES, sizeof(batch_ns[0]), compare);
	printf("%s %.2f %.2f\n", argc > 1 ? argv[1] : "calls", batch_ns[0],
	       batch_ns[BATCHES / 2]);
	return 0;
}
