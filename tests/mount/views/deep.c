// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep THREADS DEPTH: each thread, with a name of its own, enters DEPTH functions that it does not
 * leave, and has a short slice in each.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "ustlib/trail/trail.h"

static int depth;

static void *begin(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "deep%d", (int)(intptr_t)number);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < depth; i++) {
		unsigned long addr = 0x1000ul + (unsigned long)i;

		TRAIL(lttng_ust_cyg_profile, func_entry, addr);
		TRAIL(deep, work_begin, i);
		TRAIL(deep, work_end, i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 1;
	pthread_t t;

	depth = argc > 2 ? atoi(argv[2]) : 1;
	for (intptr_t i = 0; i < threads; i++)
		if (pthread_create(&t, NULL, begin, (void *)i) || pthread_join(t, NULL))
			return 1;
	return 0;
}
