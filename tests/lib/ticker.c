/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * ticker COUNT MICROSECONDS [THREADS [fork]]: that many events tick:tock { thread, n } in each
 * thread, and in a forked child. COUNT 0: until SIGTERM, then prints how many it were.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static long count, pause_us, total;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void *tick(void *arg)
{
	int thread = (int)(intptr_t)arg;
	long n;

	for (n = 0; count ? n < count : !stop; n++) {
		TRAIL(tick, tock, thread, n);
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	__atomic_fetch_add(&total, n, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t ids[64];
	pid_t child = -1;

	count = argc > 1 ? atol(argv[1]) : 1;
	pause_us = argc > 2 ? atol(argv[2]) : 0;
	if (!count)
		signal(SIGTERM, on_signal);
	if (argc > 4) {
		tick((void *)100);
		child = fork();
	}
	if (child == 0) {
		tick((void *)101);
		return 0;
	}
	for (intptr_t i = 1; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, tick, (void *)i);
	tick((void *)0);
	for (int i = 1; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	if (!count)
		printf("%ld\n", total);
	return child > 0 && waitpid(child, NULL, 0) != child;
}
