// SPDX-License-Identifier: GPL-2.0-or-later
/* The buffers of a session: what `clear` does to their rings, and the lists of the files that hold what they had. */
#include <stdlib.h>

#include "tracer/ring/reader.h"
#include "tracer/ring/stream_files.h"
#include "tracer/session/session.h"

struct stream_files *buffer_files(struct buffer *b, uint32_t ring)
{
	if (!b->logs)
		b->logs = calloc(b->region->geo.ring_count, sizeof(*b->logs));
	if (b->logs && !b->logs[ring])
		b->logs[ring] = stream_files_create(b->region->key, ring);
	return b->logs ? b->logs[ring] : NULL;
}

void buffer_forget_files(struct buffer *b)
{
	for (uint32_t i = 0; b->logs && i < b->region->geo.ring_count; i++)
		stream_files_put(b->logs[i]);
	free(b->logs);
	b->logs = NULL;
}

/* What is below the mark is not shown any more. Views read the ring meanwhile, without a lock. */
static void clear_ring(struct trail_ring *ring, const struct ring_mark *mark)
{
	uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);

	__atomic_store_n(&ring->cleared_events, mark->events, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_lost, lost, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_ts, mark->last_ts, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->source_overwritten, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->source_gaps, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->source_unfiltered, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->unwritten, 0, __ATOMIC_RELAXED);
	/* Pairs with the acquire loads of the views. */
	__atomic_store_n(&ring->cleared, mark->head, __ATOMIC_RELEASE);
	/* Pairs with the writers' acquire load before they use a sub-buffer again. */
	__atomic_store_n(&ring->consumed, mark->head, __ATOMIC_RELEASE);
}

/*
 * The barrier lets each event that a writer has begun finish first, so that none of them appears after `clear`.
 * Caller holds tracer.lock.
 */
void session_clear_rings(struct session *s)
{
	struct stream stream = { 0 };
	struct ring_mark mark;
	struct channel *c;
	struct stream_group *cl;
	struct buffer *b;

	cds_list_for_each_entry(c, &s->channels, node)
		cds_list_for_each_entry(cl, &c->groups, node)
			cds_list_for_each_entry(b, &cl->buffers, node) {
				barrier(&b->region, 1);
				for (uint32_t i = 0; i < b->region->geo.ring_count; i++) {
					stream.region = b->region;
					stream.ring = i;
					ring_mark(&stream, &mark);
					clear_ring(region_ring(b->region, i), &mark);
				}
			}
	session_clear_parts(s);
}
