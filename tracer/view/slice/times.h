/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long slices of one name lasted, in ns. Count, total and maximum are exact; percentiles come
 * from a histogram whose intervals are a 32nd of the time. `stats` and the report use the same
 * functions, so that they have the same numbers. No lock: all of it belongs to its caller.
 */
#ifndef TRACER_VIEW_SLICE_TIMES_H
#define TRACER_VIEW_SLICE_TIMES_H

#include <stdint.h>

/* A histogram has 32 intervals of 1 ns, and 32 for each power of two from there to 2^48. */
#define TIMES_FINE 5
#define TIMES_INTERVALS ((48 - TIMES_FINE + 1) << TIMES_FINE)

struct slice_times {            /* ns */
	uint64_t count, total, max;
};

void times_add(struct slice_times *t, uint64_t ns);
/* The interval of a time, less than TIMES_INTERVALS. The last one has all longer times, too. */
uint32_t times_interval(uint64_t ns);
/*
 * A time that `permille` of the times do not exceed: at most a 32nd above the exact one. histogram:
 * of TIMES_INTERVALS numbers; NULL: the maximum.
 */
uint64_t times_percentile(const struct slice_times *t, const uint64_t *histogram,
			  unsigned int permille);

#endif
