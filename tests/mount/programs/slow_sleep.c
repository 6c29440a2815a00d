/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * slow_sleep LIMIT: emits events tick:full until one had to wait for room, with a nanosleep(2) that
 * lasts at least 20 ms whatever it is asked for, as on a machine that is busy or wakes threads
 * late. Prints how many sleeps the first event that slept had. Exit status 1: LIMIT events came
 * without a wait.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <trail/trail.h>

static long sleeps;

/* On another CPU, after a sleep, the ring is empty and the event fits. */
static void stay_on_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Takes the place of libc's for the library, too. */
int nanosleep(const struct timespec *asked, struct timespec *rest)
{
	struct timespec slow = { .tv_nsec = 20000000 };

	(void)asked;
	sleeps++;
	return (int)syscall(SYS_nanosleep, &slow, rest);
}

int main(int argc, char **argv)
{
	long limit = argc > 1 ? atol(argv[1]) : 20000000;

	stay_on_cpu();
	for (long n = 0; n < limit && !sleeps; n++) {
		TRAIL(tick, full, n);
		/* Until the daemon has switched the tracepoint on there is nothing to wait for. */
		if (n % 1000 == 0)
			usleep(1000);
	}
	printf("%ld\n", sleeps);
	return !sleeps;
}
