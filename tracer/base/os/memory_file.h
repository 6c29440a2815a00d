/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that are written once, in order, and read at any place: a file in memory of this process.
 * Unlike a memfd it has large pages, where the system has them, and is written without system
 * calls, which takes far less time.
 *
 * No locks: a file belongs to one thread at a time.
 */
#ifndef TRACER_OS_MEMORY_FILE_H
#define TRACER_OS_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

/* All zero at first. */
struct memory_file {
	char **pieces;          /* mappings; owned */
	size_t count;
	uint64_t size;          /* bytes that were written */
};

/* Appends. 0 or -ENOMEM: it may have a part of the bytes then. */
int memory_file_add(struct memory_file *f, const void *data, size_t n);
/* Copies up to n bytes from this offset on. Returns how many; 0: the end. */
size_t memory_file_read(const struct memory_file *f, uint64_t offset, void *buf, size_t n);
void memory_file_deinit(struct memory_file *f);

#endif
