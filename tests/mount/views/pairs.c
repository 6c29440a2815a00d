/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * pairs COUNT THREADS: each thread emits COUNT times work:outer_begin … work:outer_end, with
 * work:inner_entry … work:inner_exit twice inside it, in each other; some ends and some begins are
 * missing. Every second thread has a name with a blank.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <trail/trail.h>

static int count;

static void spin(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

static void inner(int n, int depth)
{
	TRAIL(work, inner_entry, n, depth);
	spin(n % 50 * 10);
	if (depth < 2)
		inner(n, depth + 1);
	TRAIL(work, inner_exit, n, depth);
}

static void *work(void *arg)
{
	if ((intptr_t)arg % 2)
		prctl(PR_SET_NAME, "second one");
	for (int n = 0; n < count; n++) {
		if (n % 7)
			TRAIL(work, outer_begin, n);
		inner(n, 1);
		if (n % 11)
			TRAIL(work, outer_end, n);
	}
	TRAIL(work, lonely_begin, count);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t ids[16];

	count = argc > 1 ? atoi(argv[1]) : 1;
	for (intptr_t i = 1; i < threads && i < 16; i++)
		pthread_create(&ids[i], NULL, work, (void *)i);
	work(NULL);
	for (int i = 1; i < threads && i < 16; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
