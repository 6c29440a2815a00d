/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * seller COUNT [THREADS]: shop:open, a line on standard output, waits for a line if standard input
 * has one, and COUNT times in each thread: shop:serve_begin, shop:sale, shop:serve_end. In the
 * second round it sleeps for 2 ms before shop:sale.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <trail/trail.h>

static int count;

static void *sell(void *arg)
{
	static const char *const items[] = { "tea", "green tea", "m,3", "caf\303\251" };
	int thread = (int)(intptr_t)arg;

	for (int n = 0; n < count; n++) {
		const char *item = items[n % 4];
		int price = n * 7919 % 5000 - 100;
		double weight = n % 12 * 0.75;

		TRAIL(shop, serve_begin, thread, n);
		if (n == 1)
			usleep(2000);
		TRAIL(shop, sale, thread, n, item, price, weight);
		if (n % 9)
			TRAIL(shop, serve_end, thread, n);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t ids[8];

	count = argc > 1 ? atoi(argv[1]) : 1;
	TRAIL(shop, open, threads, TRAIL_FIELD(shelf, (const void *)0x1f00));
	puts("open");
	fflush(stdout);
	getchar();
	for (intptr_t i = 1; i < threads && i < 8; i++)
		pthread_create(&ids[i], NULL, sell, (void *)i);
	sell(NULL);
	for (int i = 1; i < threads && i < 8; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
