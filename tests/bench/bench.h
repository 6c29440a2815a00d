/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an event's cost is measured, the same for every tracer: thread CPU time of many short batches, less that of an empty
 * loop; the least and the median of all batches. Prints `CASE MIN MEDIAN`, in ns.
 */
#ifndef BENCH_H
#define BENCH_H

#define _GNU_SOURCE
#include <sched.h>
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

static inline void bench_report(const char *name)
{
	qsort(batch_ns, BATCHES, sizeof(batch_ns[0]), compare);
	if (!empty_loop)
		empty_loop = batch_ns[BATCHES / 2];
	else
		printf("%s %.3f %.3f\n", name, batch_ns[0] - empty_loop, batch_ns[BATCHES / 2] - empty_loop);
}

/* The first one measures the empty loop. `i` is what the statement may use; the compiler does not know its value. */
#define BENCH(name, statement) \
	do { \
		for (int bench_b = -20; bench_b < BATCHES; bench_b++) { \
			double bench_begin = thread_ns(); \
			for (int i = 0; i < BATCH; i++) { \
				__asm__ volatile("" : "+r"(i)); \
				statement; \
			} \
			if (bench_b >= 0) \
				batch_ns[bench_b] = (thread_ns() - bench_begin) / BATCH; \
		} \
		bench_report(name); \
	} while (0)

static inline void bench_pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

#endif
