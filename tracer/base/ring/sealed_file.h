/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a stream file of an output whose packets are sealed (seal.h) as if they were not: with the
 * headers and the contents that a plain file would have. Offsets are those of the plain file. Its
 * packets are found by the index of the file, which may grow.
 *
 * One thread at a time uses a struct sealed_file. The owner of the files may have changed them.
 */
#ifndef TRACER_RING_SEALED_FILE_H
#define TRACER_RING_SEALED_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tracer/base/ring/seal.h"

struct sealed_file;

/* Takes both descriptors over, also if it fails. NULL: no memory. */
struct sealed_file *sealed_file_open(int fd, int index_fd);
void sealed_file_close(struct sealed_file *f);  /* NULL is allowed */
/*
 * Reads n bytes; fewer at the end of the file. Returns their number; -EBADMSG: one of their
 * packets is not valid, or does not have its checksum; another -errno.
 */
ssize_t sealed_file_read(struct sealed_file *f, void *buf, size_t n, uint64_t offset);
/* Where the packet with this byte begins and ends. False: there is none. */
bool sealed_file_packet(struct sealed_file *f, uint64_t offset, uint64_t *begin, uint64_t *end);
/* Appends the index of the plain file, of `size` bytes of the index. 0 or -errno. */
int sealed_file_index(struct sealed_file *f, uint64_t size, struct md_buf *out);
/* The bytes of the plain file up to `size` bytes of the index. */
uint64_t sealed_plain_size(int index_fd, uint64_t size);

#endif
