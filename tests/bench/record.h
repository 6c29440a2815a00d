/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A load for recorders: PROGRAM RATE SECONDS: two threads on two CPUs, which together emit RATE
 * events per second, in bursts of half a millisecond, as shorter sleeps would take more CPU time
 * than the events. Prints `EVENTS RATE`: how many there were, and how many per second it came to.
 */
#ifndef RECORD_H
#define RECORD_H

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define RECORD_BATCH 256

static double record_rate, record_seconds;
static uint64_t record_events[2];

static void record_emit(int i);

static inline uint64_t record_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *record_thread(void *arg)
{
	long cpu = (long)(intptr_t)arg;
	uint64_t begin, now, end, n = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	begin = record_now();
	end = begin + (uint64_t)(record_seconds * 1e9);
	for (now = begin; now < end; now = record_now()) {
		uint64_t due = (uint64_t)((double)(now - begin) * record_rate / 2e9);

		/*
		 * Nothing is made up for beyond a hundredth of a second: it would be another load.
		 */
		if (due > n + (uint64_t)(record_rate / 200))
			due = n + RECORD_BATCH;
		if (due < n + RECORD_BATCH) {
			usleep(500);
			continue;
		}
		for (; n < due; n++)
			record_emit((int)n);
	}
	record_events[cpu] = n;
	return NULL;
}

static int record_main(int argc, char **argv)
{
	pthread_t ids[2];
	uint64_t begin, events;
	double seconds;

	record_rate = argc > 1 ? atof(argv[1]) : 1e6;
	record_seconds = argc > 2 ? atof(argv[2]) : 2;
	/*
	 * What it costs to begin is not meant here: attaching, and memory that is touched for the
	 * first time.
	 */
	for (int i = 0; i < 2; i++) {
		record_emit(i);
		usleep(50000);
	}
	begin = record_now();
	for (long i = 0; i < 2; i++)
		if (pthread_create(&ids[i], NULL, record_thread, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	seconds = (double)(record_now() - begin) / 1e9;
	events = record_events[0] + record_events[1];
	printf("%llu %.0f\n", (unsigned long long)events, (double)events / seconds);
	return 0;
}

#endif
