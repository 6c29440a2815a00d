/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * cut COUNT NOISE: COUNT begins on one CPU, their ends on another one, and there NOISE events,
 * which overwrite the ends. Then, on both, slices that are whole.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include <trail/trail.h>

/* Moves to the CPU number n of those that are allowed. */
static int move(const cpu_set_t *all, int n)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && n-- == 0)
			CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1, noise = argc > 2 ? atoi(argv[2]) : 1;
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return 77;
	if (move(&all, 0))
		return 1;
	for (int n = 0; n < count; n++)
		TRAIL(cut, request_begin, n);
	if (move(&all, 1))
		return 1;
	for (int n = count; n-- > 0;)
		TRAIL(cut, request_end, n);
	for (int n = 0; n < noise; n++)
		TRAIL(cut, noise, n);
	for (int cpu = 0; cpu < 2; cpu++) {
		if (move(&all, cpu))
			return 1;
		for (int n = 0; n < 5; n++) {
			TRAIL(cut, whole_begin, n);
			TRAIL(cut, inner_begin, n);
			TRAIL(cut, inner_end, n);
			TRAIL(cut, whole_end, n);
		}
	}
	return 0;
}
