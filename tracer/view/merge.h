/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of many rings as one sequence, ordered by time; at equal times by (trace uuid, trace
 * path, stream class id, instance id), and within a stream as they lie in the ring. That is the
 * order of babeltrace2 2.0's muxer: it compares the current messages of all streams by time, then
 * by these four, and only then by the kind of message (muxer.c,
 * muxer_msg_iter_youngest_upstream_msg_iter; muxing.c, common_muxing_compare_messages). Private to
 * tracer/.
 *
 * A merge looks at the session again and again; streams may come between looks. What is not later
 * than the look's time is complete: the events up to there have their final order. The rest waits
 * for the next look.
 */
#ifndef TRACER_VIEW_MERGE_H
#define TRACER_VIEW_MERGE_H

#include "metadata/text.h"
#include "tracer/view/cursor.h"
#include "tracer/session/streams.h"

/*
 * Where one stream of a merge stands. Regions are named by their keys, which are never used twice.
 */
struct merge_place {
	uint64_t key;
	uint32_t ring;
	struct ring_place at;
};

struct merge_entry {            /* of the heap */
	uint64_t ts;
	uint32_t rank;          /* place in `cursors` */
	struct cursor *c;
};

struct merge {
	struct cursor **cursors;        /* ordered; owned */
	size_t count;
	struct merge_entry *heap;       /* cursors that have an event, the first in order on top */
	size_t heap_count;
	bool looked;                    /* streams that come now are read from their beginning */
	bool uniform;                   /* all traces have the same host name */
	bool ahead;	/* where there is an output: goes on in the rings behind its files */
	bool dropped;	/* streams were removed from the session since they were last looked at */
};

/* NULL when memory ran out. The first look begins at the oldest events held. */
struct merge *merge_create(void);
/* As it stood at `places`; streams that are not named there begin where their rings do. */
struct merge *merge_create_at(const struct merge_place *places, size_t count,
			      const struct stream_set *set);
void merge_destroy(struct merge *m);    /* NULL is allowed */

/* Takes up new streams and marks how far each one goes now. 0 or -ENOMEM. */
int merge_look(struct merge *m, const struct stream_set *set, const struct clock *clock);
/* session_look and merge_look. *now: events up to there are complete. */
int merge_look_session(struct merge *m, struct session *s, uint64_t *now);

/* The cursor with the next event not later than limit, or NULL. */
static inline struct cursor *merge_top(const struct merge *m, uint64_t limit)
{
	return m->heap_count && m->heap[0].ts <= limit ? m->heap[0].c : NULL;
}

/* Steps over the event on top. */
void merge_next(struct merge *m);

/*
 * Formats events not later than limit until out has `want` bytes (then it stands at a line's end, a
 * little above), or `missed` of some cursor grew (then, too, all that was formatted belongs before
 * the gap). False: no such event is left.
 */
bool merge_text(struct merge *m, struct md_text *t, uint64_t limit, struct md_buf *out,
		size_t want);

/* Sub-buffers that were overwritten before they were read, so far. */
uint64_t merge_missed(const struct merge *m);
/* Fills m->count places. */
void merge_places(const struct merge *m, struct merge_place *places);
/* Gives back what the cursors hold in memory; a look must follow before the next event is taken. */
void merge_release(struct merge *m);

#endif
