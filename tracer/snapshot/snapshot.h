/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots: moments that last. A snapshot copies its bytes when it is made, straight from the
 * rings into a memfd, which the keeper holds, too: so it is there after the daemon was killed,
 * whatever has been overwritten since.
 *
 * The sub-buffers of a ring are copied from the newest to the oldest, and copying ends at the first
 * that was overwritten meanwhile: what a snapshot has of a stream is without a hole.
 */
#ifndef TRACER_SNAPSHOT_SNAPSHOT_H
#define TRACER_SNAPSHOT_SNAPSHOT_H

#include <urcu/list.h>

#include "tracer/tracer.h"

#define SNAPSHOT_COPY_MAX (SNAPSHOT_NAME_MAX + 32)

/*
 * References: the session's list holds one until the snapshot is removed. snapshot_create holds one
 * while it copies, because an rmdir of the session can remove the snapshot meanwhile: `removed`
 * tells it so. A reader (snapshot_get), a copy to the output (snapshot_copy.c) and a slot of the
 * tree (fs/tree/tracedir.c) do not hold the snapshot: each holds its moment.
 */
struct snapshot {
	/* in the session's list; guarded by the tracer's lock, as all that has no sentence */
	struct cds_list_head node;
	int refs;
	bool removed;                   /* it is in no session's list any more */
	char name[SNAPSHOT_NAME_MAX + 1];
	int64_t created;                /* ns since the epoch */
	uint64_t key;                   /* of the memfd */
	/* referenced; set once, when all of it was copied; NULL: it is being made */
	struct trace_image *moment;
	uint64_t done, total;           /* bytes copied; atomic */
	bool unnamed;                   /* nobody gave it its name */
	/* what it is to be called in the output, until it is there; else "" */
	char copy[SNAPSHOT_COPY_MAX + 1];
};

/* As snapshot_create, with at most `max` bytes of stream files; 0: what the session has. */
int snapshot_create_limited(struct session *s, const char *name, uint64_t max,
			    struct tr_err *err);

/* The snapshots of a session, as a part of it (session/part.h). */
extern const struct session_part snapshot_part;

#endif
