/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * Prints how many thousand times a second this machine's TSC ticks; nothing, status 1, without a
 * TSC. tests/vm/boot tells it to its guest, whose TSC is this one.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

#define TRIES 1000
#define APART 100000000         /* ns between the two moments */

struct moment {
	uint64_t ns, ticks;
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Of many tries the one in which the thread was interrupted least. */
static struct moment take_moment(void)
{
	struct moment best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_ns(), ticks = __rdtsc(), after = clock_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		best = (struct moment){ before + least / 2, ticks };
	}
	return best;
}

int main(void)
{
	struct moment a = take_moment(), b;

	do
		b = take_moment();
	while (b.ns - a.ns < APART);
	printf("%" PRIu64 "\n", (b.ticks - a.ticks) * 1000000 / (b.ns - a.ns));
	return 0;
}
#else
int main(void)
{
	return 1;
}
#endif
