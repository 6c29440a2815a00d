/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast triggers are, the same for every tracer. The tracer's program defines the functions
 * below and calls hits_main():
 *
 *	notify N PAUSE: N hits, PAUSE us apart. Prints `notify MEDIAN P99 MAX RECEIVED`:
 *		us from the event until the listener has the notification
 *	stop N: N times: starts the session, then a hit whose action stops it. Prints
 *		`stop MEDIAN P99 MAX N`: us until the program finds its event off
 *	The single values are added to the file SAMPLES, too.
 *	rate SECONDS NS: hits, one each NS ns. Prints `rate CPU_NS HITS`: the CPU time of a
 *		hit, the median of bursts, and how many hits there were
 */
#ifndef TRIGGER_HITS_H
#define TRIGGER_HITS_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HITS_MAX 20000
#define WAIT_NS 2000000000      /* for a notification, and for a session to start or stop */

static void hit(uint64_t number);               /* the event with the trigger */
static bool is_recorded(void);                  /* the session records its event */
static void start_session(void);
static void open_listener(void);
static bool next_notification(void);            /* waits; false: the end */

static uint64_t sent_at[HITS_MAX];
static double took_us[HITS_MAX];          /* of a rate: ns for each hit of a burst */
static _Atomic uint32_t received;

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void pause_us(unsigned int us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

static inline int compare_us(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void report_us(const char *what, uint32_t n)
{
	FILE *samples = getenv("SAMPLES") ? fopen(getenv("SAMPLES"), "a") : NULL;

	for (uint32_t i = 0; samples && i < n; i++)
		fprintf(samples, "%.1f\n", took_us[i]);
	if (samples)
		fclose(samples);
	qsort(took_us, n, sizeof(took_us[0]), compare_us);
	if (n)
		printf("%s %.1f %.1f %.1f %u\n", what, took_us[n / 2], took_us[n - 1 - n / 100],
		       took_us[n - 1], n);
	else
		printf("%s - - - 0\n", what);
}

static inline void *listen_to_hits(void *unused)
{
	while (next_notification()) {
		uint32_t i = atomic_load(&received);

		if (i >= HITS_MAX)
			break;
		took_us[i] = (double)(now_ns(CLOCK_MONOTONIC) - sent_at[i]) / 1e3;
		atomic_store(&received, i + 1);
	}
	return unused;
}

static inline bool wait_for(bool (*good)(uint32_t), uint32_t arg)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + WAIT_NS;

	while (!good(arg)) {
		if (now_ns(CLOCK_MONOTONIC) > until)
			return false;
		pause_us(100);
	}
	return true;
}

static inline bool has_received(uint32_t n)
{
	return atomic_load(&received) >= n;
}

static inline bool records(uint32_t unused)
{
	(void)unused;
	return is_recorded();
}

static inline int measure_notify(uint32_t n, unsigned int pause)
{
	pthread_t listener;

	open_listener();
	pthread_create(&listener, NULL, listen_to_hits, NULL);
	for (uint32_t i = 0; i < n; i++) {
		pause_us(pause);
		sent_at[i] = now_ns(CLOCK_MONOTONIC);
		hit(i);
		/* A lost notification would shift all that follow. */
		if (!wait_for(has_received, i + 1))
			break;
	}
	report_us("notify", atomic_load(&received));
	return 0;
}

static inline int measure_stop(uint32_t n)
{
	uint32_t done = 0;
	uint64_t began, now;

	while (done < n) {
		start_session();
		if (!wait_for(records, 0))
			break;
		pause_us(5000);
		began = now_ns(CLOCK_MONOTONIC);
		hit(done);
		while (is_recorded() && now_ns(CLOCK_MONOTONIC) - began < WAIT_NS)
			;
		now = now_ns(CLOCK_MONOTONIC);
		took_us[done++] = (double)(now - began) / 1e3;
	}
	report_us("stop", done);
	return 0;
}

/* Hits in bursts of 1 ms, so that the clock is not read for each. */
static inline int measure_rate(double seconds, uint64_t ns)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC), burst = ns ? 1000000 / ns : 1000, hits = 0, at;
	uint64_t end = begin + (uint64_t)(seconds * 1e9);
	uint32_t n = 0;

	while (now_ns(CLOCK_MONOTONIC) < end && n < HITS_MAX) {
		if (now_ns(CLOCK_MONOTONIC) < begin + hits * ns)
			continue;
		at = now_ns(CLOCK_THREAD_CPUTIME_ID);
		for (uint64_t i = 0; i < burst; i++)
			hit(hits + i);
		took_us[n++] = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - at) / (double)burst;
		hits += burst;
	}
	qsort(took_us, n, sizeof(took_us[0]), compare_us);
	printf("rate %.2f %llu\n", n ? took_us[n / 2] : 0, (unsigned long long)hits);
	return 0;
}

static inline int hits_main(int argc, char **argv)
{
	uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	n = n < HITS_MAX ? n : HITS_MAX;
	if (argc > 3 && !strcmp(argv[1], "notify"))
		return measure_notify(n, (unsigned int)strtoul(argv[3], NULL, 10));
	if (argc > 2 && !strcmp(argv[1], "stop"))
		return measure_stop(n);
	if (argc > 3 && !strcmp(argv[1], "rate"))
		return measure_rate(strtod(argv[2], NULL), strtoull(argv[3], NULL, 10));
	fprintf(stderr, "%s: notify N PAUSE_US | stop N | rate SECONDS NS\n", argv[0]);
	return 2;
}

#endif
