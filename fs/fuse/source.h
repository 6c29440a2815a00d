/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One open of a view (fs/tree/tree.h): what reads of it get, with what a poll has read ahead. It
 * notes in the hand-over what its reader was given. An open that an earlier daemon had is moved to
 * the place of its reader before the first read; if the view cannot continue there exactly, all
 * reads fail with ESTALE.
 *
 * One caller at a time.
 */
#ifndef FS_FUSE_SOURCE_H
#define FS_FUSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "fs/tree/tree.h"

struct handover_file;

struct source {
	const struct view *view;
	void *state;
	struct handover_file *kept;     /* NULL: it is not handed over */
	bool recalled;                  /* an earlier daemon had it, and it was not moved yet */
	int failed;                     /* -errno of all reads */
	uint64_t given;                 /* bytes, of a stream */
	/* What a poll read, for the next reads. */
	char *ahead;
	size_t ahead_at, ahead_len;
	bool ahead_end;
};

int source_open(struct source *s, const struct node *n, struct handover_file *kept, bool recalled);
void source_close(struct source *s);
/*
 * Data for a read of that request, which are noted as given: a number of parts, valid until the
 * next call; 0: call source_read.
 */
int source_peek(struct source *s, uint64_t unique, uint64_t offset, size_t size,
		struct iovec parts[VIEW_PARTS]);
/* The same, copied. As struct view's read. */
ssize_t source_read(struct source *s, uint64_t unique, uint64_t offset, void *buf, size_t size);
/* Reads ahead to find out whether a read would get something, or the end. */
bool source_ready(struct source *s);

#endif
