/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * slices COUNT: two threads, COUNT times each: slices in slices, instants and counters. Then an
 * end without a begin, slices that overlap, and a begin without an end. With `forget` as second
 * argument also begins that are forgotten, within slices and around them, and recursion.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <trail/trail.h>

static long count;
static int forgets;

static void recur(int depth)
{
	TRAIL(work, recur_begin, depth);
	if (depth)
		recur(depth - 1);
	TRAIL(work, recur_end, depth);
}

static void forget(void)
{
	for (int i = 0; i < 1500; i++) {
		TRAIL(work, forgotten_begin, i);
		TRAIL(work, inner_begin, i);
		if (i % 3 == 0)
			TRAIL(work, forgotten_begin, i);
		TRAIL(work, inner_end, i);
		if (i % 10 == 0)
			TRAIL(work, forgotten_end, i);
		if (i % 100 == 0)
			recur(3);
	}
}

static void *work(void *arg)
{
	int thread = (int)(intptr_t)arg;
	const char *text = "quotes \" and \\ and \303\251 \377\001";
	double ratio = 0.25;
	uint64_t big = UINT64_MAX;
	long value;

	for (long n = 0; n < count; n++) {
		TRAIL(work, begin, thread, n);
		TRAIL(work, load_entry, n);
		TRAIL(work, note, text, ratio, big);
		TRAIL(work, load_exit, n);
		for (int i = 0; i < 2; i++) {
			TRAIL(work, step_begin, i);
			TRAIL(work, step_end, i);
		}
		value = n - 2;
		TRAIL(work, queue, value);
		TRAIL(work, cache_counter, n, ratio, text);
		TRAIL(work, end);
	}
	if (forgets)
		forget();
	TRAIL(work, other_end);
	TRAIL(work, a_begin);
	TRAIL(work, b_begin);
	TRAIL(work, a_end);
	TRAIL(work, b_end);
	TRAIL(work, last_begin);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	count = argc > 1 ? atol(argv[1]) : 1;
	forgets = argc > 2;
	if (pthread_create(&other, NULL, work, (void *)1))
		return 1;
	work(NULL);
	pthread_join(other, NULL);
	return 0;
}
