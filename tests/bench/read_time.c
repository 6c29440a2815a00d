/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * read_time SECONDS FILE…: how long a read of each file takes, as cat(1) reads it: open, fstat,
 * read to the end, close. Reads the files in turns, with a pause of 2 ms after each. Prints `FILE
 * READS MEDIAN P99 MAX` for each, in microseconds. The exit status is 1 if a file cannot be read.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES 8
#define READS 100000

static uint32_t times[FILES][READS];
static size_t counts[FILES];

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static int read_all(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buf[131072];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = fstat(fd, &st) < 0 ? -1 : 1;
	while (n > 0)
		n = read(fd, buf, sizeof(buf));
	close(fd);
	return n < 0 ? -1 : 0;
}

static int shorter(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void print(const char *path, uint32_t *t, size_t n)
{
	qsort(t, n, sizeof(*t), shorter);
	printf("%s %zu %u %u %u\n", path, n, t[n / 2], t[n * 99 / 100], t[n - 1]);
}

int main(int argc, char **argv)
{
	struct timespec pause = { .tv_nsec = 2000000 };
	int64_t end;

	if (argc < 3 || argc > FILES + 2) {
		fprintf(stderr, "usage: read_time SECONDS FILE...\n");
		return 2;
	}
	end = now() + (int64_t)(atof(argv[1]) * 1e6);
	while (now() < end) {
		for (int i = 0; i < argc - 2; i++) {
			int64_t begin = now();

			if (read_all(argv[i + 2])) {
				perror(argv[i + 2]);
				return 1;
			}
			if (counts[i] < READS)
				times[i][counts[i]++] = (uint32_t)(now() - begin);
			nanosleep(&pause, NULL);
		}
	}
	for (int i = 0; i < argc - 2; i++)
		if (counts[i])
			print(argv[i + 2], times[i], counts[i]);
	return 0;
}
