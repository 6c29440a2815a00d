/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slots file: how many events each thread of each writer has emitted, in a file that survives a
 * kill -9. A writer counts an event when its arguments are evaluated, so at most one counted event
 * per killed thread may be missing in the trace.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOT_WRITERS 65536u
#define SLOT_THREADS 8u
#define SLOT_BYTES (SLOT_WRITERS * SLOT_THREADS * sizeof(uint64_t))

static inline uint64_t *slots_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *at;

	if (fd < 0 || ftruncate(fd, SLOT_BYTES)) {
		perror(path);
		exit(2);
	}
	at = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return at;
}

static inline uint64_t *slot_of(uint64_t *slots, unsigned int writer, unsigned int thread)
{
	return &slots[writer % SLOT_WRITERS * SLOT_THREADS + thread % SLOT_THREADS];
}

#endif
