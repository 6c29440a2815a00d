/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a snapshot: a memfd with its files. snapshot_fill writes it; snapshot_map reads
 * what an earlier daemon wrote. A moment that is not published yet belongs to one thread: nothing
 * here takes a lock.
 */
#ifndef TRACER_SNAPSHOT_SNAPSHOT_MEMORY_H
#define TRACER_SNAPSHOT_SNAPSHOT_MEMORY_H

#include "tracer/snapshot/snapshot.h"

/*
 * Leaves out the oldest packets, so that the stream files have no more than max bytes together. 0
 * or -ENOMEM.
 */
int snapshot_limit(struct trace_image *m, uint64_t max);
/* Counts bytes, besides those of the streams and their indexes, as frozen. 0 or -EDQUOT. */
int snapshot_account(struct trace_image *m, uint64_t bytes);
/*
 * Copies all streams from the rings into the memfd m->fd, writes the other files behind them, and
 * maps it. 0 or -errno.
 */
int snapshot_fill(struct trace_image *m, struct snapshot *sn);
/*
 * Maps the memfd m->fd of an earlier daemon and lists its files. -EBADMSG: it contradicts itself.
 */
int snapshot_map(struct trace_image *m);

#endif
