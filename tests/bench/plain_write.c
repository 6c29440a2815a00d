/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * plain_write DIRECTORY FILE_SIZE FILE_COUNT MEGABYTES: what a recording's bytes cost if they are
 * only written: from 64 MB of memory, in pieces of 512 KiB, into a circle of files that are there
 * already. Prints CPU time, ns per byte.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)512 << 10)
#define MEMORY ((size_t)64 << 20)
#define FILES_MAX 64u

static int files[FILES_MAX];

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Writes that number of bytes, around and around */
static int fill(const char *memory, size_t bytes, size_t file_size, unsigned int count)
{
	size_t pieces = file_size / PIECE;

	for (size_t i = 0; i < bytes / PIECE; i++)
		if (pwrite(files[i / pieces % count], memory + i * PIECE % MEMORY, PIECE,
			   (off_t)(i % pieces * PIECE)) != (ssize_t)PIECE)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	size_t file_size = argc > 4 ? strtoul(argv[2], NULL, 0) : 0,
	       bytes = argc > 4 ? strtoul(argv[4], NULL, 0) << 20 : 0;
	unsigned int count = argc > 4 ? (unsigned int)strtoul(argv[3], NULL, 0) : 0;
	char *memory = malloc(MEMORY), path[300];
	double before;

	if (!memory || count < 1 || count > FILES_MAX || file_size < PIECE || !bytes)
		return 2;
	memset(memory, 1, MEMORY);
	for (unsigned int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/plain_write.%u", argv[1], i);
		files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (files[i] < 0 || unlink(path))
			return 1;
	}
	if (fill(memory, file_size * count, file_size, count))
		return 1;
	before = cpu_ns();
	if (fill(memory, bytes, file_size, count))
		return 1;
	printf("%.4f\n", (cpu_ns() - before) / (double)bytes);
	return 0;
}
