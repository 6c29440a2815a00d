/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * The program that `make demo` traces: four threads serve made-up requests until SIGTERM or SIGINT.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <trail/trail.h>

#define WORKERS 4

static volatile sig_atomic_t stopping;
static const char *const paths[] = {
	"/", "/index.html", "/login", "/search?q=ring", "/img/logo.png", "/api/v1/items"
};

static void on_signal(int sig)
{
	(void)sig;
	stopping = 1;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static double microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Pretends to work for as long as a request of this kind takes. */
static void serve(uint32_t *seed)
{
	uint32_t us = 20000 + next_random(seed) % 60000;
	struct timespec t = { 0, us * 1000L };

	if (next_random(seed) % 20 == 0)
		t.tv_nsec += 200000000;
	nanosleep(&t, NULL);
}

static void *work(void *arg)
{
	int worker = (int)(intptr_t)arg;
	uint32_t seed = 2463534242u + (uint32_t)worker;

	for (int id = worker; !stopping; id += WORKERS) {
		const char *path = paths[next_random(&seed) % (sizeof(paths) / sizeof(paths[0]))];
		double begin = microseconds(), elapsed;

		serve(&seed);
		elapsed = microseconds() - begin;
		TRAIL(demo, request, id, path, TRAIL_FIELD(ms, elapsed / 1e3));
		if (elapsed > 100e3)
			TRAIL_LEVEL(WARNING, demo, slow, id);
		TRAIL_LEVEL(DEBUG, demo, idle, worker);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	for (intptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i)) {
			fprintf(stderr, "demo_app: no thread\n");
			return 1;
		}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
