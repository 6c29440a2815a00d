/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * flight THREADS: that many threads record flight:work without a pause. For each line on stdin, the
 * main thread records some flight:work, then flight:error, and nothing more until the next line.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <trail/trail.h>

static void *work(void *arg)
{
	int thread = (int)(intptr_t)arg;

	for (long n = 0;; n++)
		TRAIL(flight, work, thread, n);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0, thread = 0;
	char line[64];
	pthread_t id;

	for (intptr_t i = 1; i <= threads; i++)
		if (pthread_create(&id, NULL, work, (void *)i))
			return 1;
	for (int round = 1; fgets(line, sizeof(line), stdin); round++) {
		for (long n = 0; n < 50; n++)
			TRAIL(flight, work, thread, n);
		TRAIL_LEVEL(ERR, flight, error, thread, round);
	}
	return 0;
}
