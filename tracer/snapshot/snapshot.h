/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace images and snapshots. A trace image shows all streams and metadata of a session at one
 * moment: the files of trace/ and archives/. A snapshot is a trace image that lasts: its bytes are
 * copied when it is made, from the rings into a memfd that the keeper also holds. So it survives a
 * kill of the daemon and does not change when rings are overwritten.
 *
 *	image.c             a trace image: take, read, references
 *	image_files.c       … its list of files
 *	image_source.c      … its streams, copied from the rings at the first read
 *	image_output.c      … of a session with an output: the files of the current chunk
 *	image_check.c       … checks packets of an earlier daemon's snapshot at the first read
 *	image_save.c        … writes its files into a directory
 *	archives.c          archives/ of an output
 *	snapshot.c          the snapshots of a session: make, list, remove; the session's part
 *	snapshot_memory.c   … copies the streams into the memfd
 *	snapshot_copy.c     … copies snapshots to the output
 *
 * The sub-buffers of a ring are copied from the newest to the oldest. Copying ends at the first one
 * that a writer overwrote meanwhile, so a snapshot's stream has no hole.
 *
 * Locks: tracer.lock guards a session's list of snapshots. output.lock guards the queue of copies
 * to the output. source.lock (image.h) is held while a stream is copied.
 */
#ifndef TRACER_SNAPSHOT_SNAPSHOT_H
#define TRACER_SNAPSHOT_SNAPSHOT_H

#include <urcu/list.h>

#include "tracer/tracer.h"

#define SNAPSHOT_COPY_MAX (SNAPSHOT_NAME_MAX + 32)

struct output;

/*
 * Guarded by tracer.lock, except where a line says otherwise.
 *
 * References: the session's list holds one until the snapshot is removed. snapshot_create holds one
 * while it copies, because an rmdir of the session can remove the snapshot meanwhile; `removed`
 * says so. A reader (snapshot_get), a copy to the output (snapshot_copy.c) and a slot of the tree
 * (fs/tree/tracedir.c) do not hold the snapshot: each holds its image.
 */
struct snapshot {
	struct cds_list_head node;      /* in the session's list */
	int refs;
	bool removed;                   /* it is in no session's list any more */
	char name[SNAPSHOT_NAME_MAX + 1];
	int64_t created;                /* ns since the epoch */
	uint64_t key;                   /* of the memfd */
	struct trace_image *image;      /* referenced, set once; NULL: copying is not complete */
	uint64_t done, total;           /* bytes copied and to copy; atomic */
	bool unnamed;                   /* the daemon chose the name */
	char copy[SNAPSHOT_COPY_MAX + 1];       /* name in the output until it is there; else "" */
};

/* As snapshot_create, with at most `max` bytes of stream files; 0: what the session has. */
int snapshot_create_limited(struct session *s, const char *name, uint64_t max,
			    struct tr_err *err);

/* The snapshots of a session, as a part of it (session/part.h). */
extern const struct session_part snapshot_part;

/* ---- snapshot_memory.c ---- */

/* Leaves out the oldest packets, so that all stream files together have at most max bytes. */
int snapshot_limit(struct trace_image *m, uint64_t max);        /* 0 or -ENOMEM */
/* Counts bytes as frozen, besides those of the streams and their indexes. 0 or -EDQUOT. */
int snapshot_account(struct trace_image *m, uint64_t bytes);
/*
 * Copies all streams from the rings into the memfd m->fd, appends the other files, and maps it. 0
 * or -errno.
 */
int snapshot_fill(struct trace_image *m, struct snapshot *sn);
/* Maps the memfd m->fd of an earlier daemon and lists its files. -EBADMSG: it is inconsistent. */
int snapshot_map(struct trace_image *m);

/* ---- snapshot_copy.c: each snapshot goes to snapshots/NAME-DATE-TIME-N of the output ---- */

/*
 * Queues a copy and names it (sn->copy) if it has no name. A copy is made even if the snapshot is
 * removed meanwhile. Does nothing without an output. Caller holds tracer.lock.
 */
void snapshot_copy_add(struct session *s, struct snapshot *sn);
/* Queues the copies that an earlier daemon did not complete. Caller holds tracer.lock. */
void snapshot_copies_resume(struct session *s);
/* Waits until all copies are made, at most ms. Caller does not hold tracer.lock. */
void snapshot_copies_finish(struct session *s, unsigned int ms);
/* Lines of `status`. Caller holds tracer.lock. */
void snapshot_copies_status(struct output *o, struct md_buf *out);

#endif
