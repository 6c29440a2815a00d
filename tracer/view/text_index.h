/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text engine of a session, one for each form, shared by all opens of it: how long the text is,
 * and where a reader can begin.
 *
 * The engine counts the text of each event once, when it advances, to learn the offsets; several
 * threads may do it (divide.c). The last piece of the text it formats and keeps. It has a bounded
 * number of checkpoints from which a reader can format the text again. The text up to `end`
 * consists of the events not later than `limit` that were held when the engine read them.
 */
#ifndef TRACER_VIEW_TEXT_INDEX_H
#define TRACER_VIEW_TEXT_INDEX_H

#include <pthread.h>

#include "tracer/base/lock_order.h"
#include "tracer/view/merge.h"
#include "tracer/view/views.h"

#define TEXT_CHECKPOINTS 256
#define TEXT_TAIL_HALF (512u << 10)

struct text_checkpoint {
	uint64_t offset;        /* first, for search_above */
	struct md_text text;
	struct merge_place *places;     /* owned */
	size_t count;
};

/*
 * Lines about losses that no event follows, or that cannot be found again: a reader puts them where
 * the engine did.
 */
struct text_note {
	uint64_t offset;
	char *text;                     /* of len bytes; owned */
	size_t len;
	struct merge_place *places;     /* after them; owned; NULL: they change none */
	size_t count;
};

#define TEXT_NOTES 256                  /* more losses have no lines */

struct text_engine {
	enum text_form form;            /* constant */
	uint32_t wanted;                /* atomic; generation that the last reset requested */
	/* guards shown and shown_generation; the innermost lock */
	pthread_mutex_t shown_lock;
	uint64_t shown;
	uint32_t shown_generation;

	/* guards the rest; session_look and session_streams are called under it */
	pthread_mutex_t lock;
	uint32_t generation;
	uint64_t era;                   /* session_clears() when the text began */
	size_t views;
	struct merge *m;
	/* If text_has_symbols(form), while there are views: each address keeps its name as long. */
	struct stacks *stacks;
	struct md_text text;
	uint64_t end;                   /* length of the text, bytes */
	/*
	 * Bytes of text before offset 0, which only an earlier daemon has counted: its readers know
	 * offsets that begin there, and opens have them.
	 */
	uint64_t base;
	uint64_t limit;                 /* the text has all events up to this time */
	int failed;	/* -errno: an imported trace cannot be read beyond the text */
	uint64_t chunk;	/* number of the output's chunk at the last advance */
	/* Before this offset are events of archived chunks: no new open begins there. */
	uint64_t floor;
	uint64_t looked;                /* time of the last advance, CLOCK_MONOTONIC, ns */
	struct md_buf tail[2];          /* the last bytes of the text: tail[!now], then tail[now] */
	unsigned int now;
	struct text_checkpoint checkpoints[TEXT_CHECKPOINTS];
	size_t checkpoint_count;
	struct text_note notes[TEXT_NOTES];
	size_t note_count;
	uint64_t spacing;               /* bytes of text between checkpoints */
};

void text_engine_destroy(struct text_engine *e);       /* NULL is allowed */
/* After `clear` and at the first start: offsets begin at 0 again. Takes no lock. */
void text_engine_reset(struct text_engine **slot);      /* the session's slot, which may be empty */
/* The session's engine, made if it is missing. NULL: no memory. */
struct text_engine *text_engine_of(struct session *s, enum text_form form);

/* Caller holds e->lock for all of these. */

/* Formats new events. 0 or -errno. */
int text_engine_advance(struct text_engine *e, struct session *s);
/* Finds the bytes at this offset in the tail. Returns their number, 0 if it has none. */
size_t text_engine_tail(const struct text_engine *e, uint64_t offset, void *buf, size_t size);
/* The offset at which the tail begins: the beginning of a line. */
uint64_t text_engine_tail_begin(const struct text_engine *e);
/* Adds the bytes at this offset in the tail up to the end of their line. */
void text_engine_line(const struct text_engine *e, uint64_t offset, struct md_buf *b);
/* The last checkpoint at or before offset, or NULL. Valid while the lock is held. */
const struct text_checkpoint *text_engine_checkpoint(const struct text_engine *e, uint64_t offset);
/* Marks how far a reader's merge may go now. 0 or -errno. */
int text_engine_mark(const struct text_engine *e, struct session *s, struct merge *m);
/*
 * A merge for a reader, from the checkpoint on; NULL: from the oldest events held on. Its marks are
 * those of now. 0 or -errno, then *m is NULL. older: p is NULL, and it begins with the archives.
 */
int text_engine_run(const struct text_engine *e, struct session *s,
		    const struct text_checkpoint *p, bool older, struct merge **m);
/* A reader of an earlier daemon knows this many bytes before offset 0. */
void text_engine_set_base(struct text_engine *e, uint64_t base);
/*
 * How the text of a reader ends. 0; -errno of an imported trace that cannot be read further; cut:
 * -ESTALE, if the session was removed. Takes e->lock.
 */
int text_engine_end(struct text_engine *e, struct session *s, bool cut);
/* The last open was closed: frees memory. */
void text_engine_rest(struct text_engine *e);

/*
 * Parts of an advance, for an engine with a merge that has looked. A thread may have an engine of
 * its own for them, which no other thread knows.
 */

/* Appends lines for what was overwritten before the text, if the form has them. */
void text_engine_note_gaps(struct text_engine *e);
/* Appends lines for what was lost after the last event. */
void text_engine_note_end(struct text_engine *e);
void text_engine_drop_notes(struct text_engine *e);

void text_engine_empty(struct text_engine *e);  /* Forgets the text and the merge. */
/* Counts the text of events up to the limit, but for the last `rest` bytes of events. */
void text_engine_count(struct text_engine *e, uint64_t limit, uint64_t rest);
/* Formats all events up to e->limit. 0 or -ENOMEM. */
int text_engine_format(struct text_engine *e);
void text_engine_add_checkpoint(struct text_engine *e);
void text_engine_thin(struct text_engine *e);   /* makes space in the table of checkpoints */
/*
 * Counts the text of the events up to e->limit by several threads, if they are many. Some or all
 * of it may be left for the caller to count.
 */
void text_engine_parts(struct text_engine *e, struct session *s);

#endif
