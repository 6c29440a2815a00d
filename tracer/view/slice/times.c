/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/times.h"

#include <stddef.h>

void times_add(struct slice_times *t, uint64_t ns)
{
	t->count++;
	if (__builtin_add_overflow(t->total, ns, &t->total))
		t->total = UINT64_MAX;
	if (ns > t->max)
		t->max = ns;
}

uint32_t times_interval(uint64_t ns)
{
	unsigned int power;

	if (ns < 1u << TIMES_FINE)
		return (uint32_t)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns) - TIMES_FINE;
	if (power > 48 - TIMES_FINE - 1)
		return TIMES_INTERVALS - 1;
	return (uint32_t)(((power + 1) << TIMES_FINE) + ((ns >> power) & ((1u << TIMES_FINE) - 1)));
}

/* The longest time of the interval. */
static uint64_t interval_end(uint32_t i)
{
	unsigned int power = i >> TIMES_FINE;
	uint64_t fine = i & ((1u << TIMES_FINE) - 1);

	if (!power)
		return fine;
	return ((((uint64_t)1 << TIMES_FINE) + fine + 1) << (power - 1)) - 1;
}

uint64_t times_percentile(const struct slice_times *t, const uint64_t *histogram,
			  unsigned int permille)
{
	/* The rank is rounded up. Counts are far below 2^54. */
	uint64_t rank = (t->count * permille + 999) / 1000, sum = 0, end;

	for (uint32_t i = 0; i < TIMES_INTERVALS - 1 && histogram; i++) {
		sum += histogram[i];
		if (sum >= rank && sum) {
			end = interval_end(i);
			return end < t->max ? end : t->max;
		}
	}
	return t->max;
}
