/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * hits FILE PLACE COUNT [THREADS]: hits shop:cart, shop:pay and web:page in turn, COUNT times in
 * each thread; COUNT 0: until it is killed. FILE has two numbers for each thread, from PLACE on:
 * hits that began, and hits that ended.
 * hits arrays: shop:list five times, with an array and a text as an array.
 * hits spoil: hits once, then writes ones over the counters that it has mapped.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <trail/trail.h>

static uint64_t count;

struct numbers { uint64_t begun, ended; };
static struct numbers *numbers;

static void hit(uint64_t n)
{
	switch (n % 3) {
	case 0:
		TRAIL(shop, cart, n);
		break;
	case 1:
		TRAIL(shop, pay, n);
		break;
	default:
		TRAIL(web, page, n, TRAIL_FIELD(even, n % 2));
	}
}

static void *run(void *arg)
{
	struct numbers *own = arg;

	for (uint64_t n = 0; !count || n < count; n++) {
		__atomic_store_n(&own->begun, n + 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		hit(n);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		__atomic_store_n(&own->ended, n + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Writes over what it may write to of its regions. */
static void spoil(void)
{
	char line[512];
	unsigned long from, to;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "rw-s") && strstr(line, "trail-region") &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2) {
			/* The first counters of each ring: others may have no memory. */
			for (unsigned long at = from; at < to; at += 8)
				if (*(volatile uint64_t *)at)
					memset((void *)(at & ~4095ul), 0xff, 4096);
		}
	if (f)
		fclose(f);
}

static void hit_arrays(void)
{
	char texts[4] = "x";
	int a[3] = { 0, 7, -9 };

	for (int i = 0; i < 5; i++) {
		a[0] = i < 2 ? 0 : 1;
		TRAIL(shop, list, a, texts);
	}
}

static int map_numbers(const char *path, long place)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -1;
	numbers = (struct numbers *)at + place;
	return 0;
}

int main(int argc, char **argv)
{
	int threads = argc > 4 ? atoi(argv[4]) : 1;
	pthread_t ids[8];

	if (argc > 1 && !strcmp(argv[1], "spoil")) {
		hit(0);
		spoil();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "arrays")) {
		hit_arrays();
		return 0;
	}
	if (argc < 4 || map_numbers(argv[1], atol(argv[2])))
		return 2;
	count = strtoull(argv[3], NULL, 10);
	for (int i = 1; i < threads && i < 8; i++)
		pthread_create(&ids[i], NULL, run, numbers + i);
	run(numbers);
	for (int i = 1; i < threads && i < 8; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
