/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an event's cost is measured, the same for every tracer: thread CPU time of many short
 * batches, less that of an empty loop; the least and the median of all batches. Prints `CASE MIN
 * MEDIAN`, in ns.
 */
#ifndef BENCH_H
#define BENCH_H

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 400
#define BATCH 20000

static double batch_ns[BATCHES];
static double empty_loop;

static inline double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * BENCH_ONCE in the environment: each statement ten times, nothing is measured; run looks whether
 * their events are recorded.
 */
static inline bool bench_once(void)
{
	return getenv("BENCH_ONCE") != NULL;
}

static inline void bench_report(const char *name)
{
	qsort(batch_ns, BATCHES, sizeof(batch_ns[0]), compare);
	if (!empty_loop)
		empty_loop = batch_ns[BATCHES / 2];
	else
		printf("%s %.3f %.3f\n", name, batch_ns[0] - empty_loop,
		       batch_ns[BATCHES / 2] - empty_loop);
}

/*
 * The first one measures the empty loop. `i` is what the statement may use; the compiler does not
 * know its value.
 */
#define BENCH(name, statement) \
	do { \
		const int bench_end = bench_once() ? -19 : BATCHES; \
		const int bench_count = bench_once() ? 10 : BATCH; \
		for (int bench_b = -20; bench_b < bench_end; bench_b++) { \
			double bench_begin = thread_ns(); \
			for (int i = 0; i < bench_count; i++) { \
				__asm__ volatile("" : "+r"(i)); \
				statement; \
			} \
			if (bench_b >= 0) \
				batch_ns[bench_b] = (thread_ns() - bench_begin) / BATCH; \
		} \
		if (!bench_once()) \
			bench_report(name); \
	} while (0)

/*
 * Threads: what an event costs when several record at once, in wall time of all of them: prints
 * `threadsN NS NS`, the least and the median of some runs, elapsed time / events of all threads.
 */
#define BENCH_THREAD_EVENTS 1000000
#define BENCH_THREAD_RUNS 7

static pthread_barrier_t bench_gate;
static void (*bench_thread_body)(int events);

static inline void *bench_thread(void *arg)
{
	pthread_barrier_wait(&bench_gate);
	bench_thread_body(BENCH_THREAD_EVENTS);
	return arg;
}

static inline double wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void bench_threads(int threads, void (*body)(int events))
{
	double runs[BENCH_THREAD_RUNS], begin;
	pthread_t ids[64];

	if (bench_once())
		return;
	bench_thread_body = body;
	for (int r = 0; r < BENCH_THREAD_RUNS; r++) {
		pthread_barrier_init(&bench_gate, NULL, (unsigned int)threads + 1);
		for (int i = 0; i < threads; i++)
			if (pthread_create(&ids[i], NULL, bench_thread, NULL))
				exit(1);
		pthread_barrier_wait(&bench_gate);
		begin = wall_ns();
		for (int i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
		runs[r] = (wall_ns() - begin) / ((double)threads * BENCH_THREAD_EVENTS);
		pthread_barrier_destroy(&bench_gate);
	}
	qsort(runs, BENCH_THREAD_RUNS, sizeof(runs[0]), compare);
	printf("threads%d %.3f %.3f\n", threads, runs[0], runs[BENCH_THREAD_RUNS / 2]);
}

static inline void bench_pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

#endif
