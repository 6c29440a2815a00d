/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots on their way to the session's output: each is copied to snapshots/NAME-DATE-TIME-N
 * below it, with the owner's rights, by a thread that lives while there are any. It has another
 * name until it is whole. What was asked for is done, even if the snapshot is removed meanwhile;
 * its memory goes when it was copied.
 *
 * Locks: output.lock guards the list; the thread takes the tracer's lock when one is done. Private
 * to tracer/.
 */
#ifndef TRACER_SNAPSHOT_SNAPSHOT_COPY_H
#define TRACER_SNAPSHOT_SNAPSHOT_COPY_H

#include "metadata/buf.h"

struct output;
struct session;
struct snapshot;

/*
 * With the tracer's lock. Gives the copy its name (sn->copy) if it has none, and queues it; no
 * output: nothing is done.
 */
void snapshot_copy_add(struct session *s, struct snapshot *sn);
/* With the tracer's lock: those that an earlier daemon did not get done. */
void snapshot_copies_resume(struct session *s);
/* Without: all are done, or ms have passed. */
void snapshot_copies_finish(struct session *s, unsigned int ms);
/* With the tracer's lock: lines of `status`. */
void snapshot_copies_status(struct output *o, struct md_buf *out);

#endif
