/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a session as a whole: how long it is, and where in it one can begin to read. Shared
 * by the opens of `text`.
 *
 * The engine formats each event once, when it advances, to know what comes where; it keeps the last
 * piece of the text and a bounded number of checkpoints, from where a reader formats again what
 * stood there. The text up to `end` consists of the events not later than `limit` that were held
 * when the engine came to them. Private to tracer/.
 */
#ifndef TRACER_VIEW_TEXT_INDEX_H
#define TRACER_VIEW_TEXT_INDEX_H

#include <pthread.h>

#include "tracer/view/merge.h"

#define TEXT_CHECKPOINTS 64
#define TEXT_TAIL_HALF (512u << 10)

struct text_checkpoint {
	uint64_t offset;
	struct md_text text;
	struct merge_place *places;     /* owned */
	size_t count;
};

struct text_engine {
	uint32_t wanted;                /* generation that reset asked for; atomic */
	/* guards shown, shown_generation; nothing is called under it */
	pthread_mutex_t shown_lock;
	uint64_t shown;
	uint32_t shown_generation;

	/* guards all below; session_look and session_streams are called under it */
	pthread_mutex_t lock;
	uint32_t generation;
	size_t views;
	struct merge *m;
	struct md_text text;
	uint64_t end;                   /* bytes of text so far */
	uint64_t limit;                 /* the text has all events up to this time */
	uint64_t chunk;	/* of the output, which was the current one at the last advance */
	/* before this offset there are events of archived chunks: no new open begins there */
	uint64_t floor;
	uint64_t looked;                /* CLOCK_MONOTONIC, ns: the last advance */
	struct md_buf tail[2];          /* the last bytes of the text: tail[!now], then tail[now] */
	unsigned int now;
	struct text_checkpoint checkpoints[TEXT_CHECKPOINTS];
	size_t checkpoint_count;
	uint64_t spacing;               /* bytes of text between checkpoints */
};

void text_engine_destroy(struct text_engine *e);       /* NULL is allowed */
/* After `clear` and at the first start: offsets begin at 0 again. Takes no lock. */
void text_engine_reset(struct text_engine **slot);      /* of a session; it may be empty */
/* The text of a session, as a part of it (session/part.h). */
extern const struct session_part text_part;

/* The session's engine, made if it is not there. NULL when memory ran out. */
struct text_engine *text_engine_of(struct session *s);

/* All of these: e->lock is held. */

/* Formats what is new. 0 or -errno. */
int text_engine_advance(struct text_engine *e, struct session *s);
/* Bytes of the tail at this offset, if it has them: returns how many, 0 if none. */
size_t text_engine_tail(const struct text_engine *e, uint64_t offset, void *buf, size_t size);
/* The last checkpoint not behind offset, or NULL. Valid until the lock is dropped. */
const struct text_checkpoint *text_engine_checkpoint(const struct text_engine *e, uint64_t offset);
/* The last open was closed: gives memory back. */
void text_engine_rest(struct text_engine *e);

#endif
