/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A merge returns the events of many rings as one sequence, ordered by time; at equal times by
 * trace uuid, trace path, stream class id and instance id; within a stream in the order of the
 * ring. That is the order of babeltrace2 2.0's muxer: it compares the current messages of all
 * streams by time, then by these four, and only then by the kind of message (muxer.c,
 * muxer_msg_iter_youngest_upstream_msg_iter; muxing.c, common_muxing_compare_messages).
 *
 * A merge looks at the session repeatedly; streams may appear between two looks. Events that are
 * not later than the time of a look have their final order. Later ones wait for the next look.
 */
#ifndef TRACER_VIEW_MERGE_H
#define TRACER_VIEW_MERGE_H

#include "metadata/text.h"
#include "tracer/session/forms.h"
#include "tracer/view/cursor.h"
#include "tracer/session/streams.h"

struct outages;                 /* view/slice/outages.h */
struct stacks;                  /* view/stack.h */

static inline bool text_is_json(enum text_form form)
{
	return form == TEXT_JSON || form == TEXT_JSON_SYMBOLS;
}

/* The place of one stream of a merge. Keys of regions are never used twice. */
struct merge_place {
	uint64_t key;
	uint32_t ring;
	bool fresh;             /* nothing is before it but what was overwritten */
	struct ring_place at;
};

struct merge_entry {            /* an element of the heap */
	uint64_t ts;
	uint32_t rank;          /* index in `cursors` */
	struct cursor *c;
};

struct merge {
	struct cursor **cursors;        /* ordered; owned */
	size_t count;
	/* cursors with a current event; the first in order on top */
	struct merge_entry *heap;
	size_t heap_count;
	bool looked;                    /* new streams are read from their beginning */
	bool uniform;                   /* all traces have the same host name */
	enum text_form form;            /* of the lines; set by the caller */
	struct session *s;              /* as of each cursor; set by the caller, or a look at it */
	struct stacks *stacks;          /* the caller's, if text_has_symbols(form) */
	bool ahead;	/* with an output: the cursors continue in the rings after the files */
	/* The text says which events were overwritten before it was read; set by the caller. */
	bool gaps;
	bool older;	/* the first look begins with the archived files that the lists have */
	bool dropped;	/* streams were removed from the session since the last look */
	struct outages *outages;        /* of merge_watch; NULL: they are not noted */
};

/* The first look begins at the oldest events held. NULL: no memory. */
struct merge *merge_create(void);
/* A merge that continues at `places`. A stream without a place begins at the start of its ring. */
struct merge *merge_create_at(const struct merge_place *places, size_t count,
			      const struct stream_set *set);
void merge_destroy(struct merge *m);    /* NULL is allowed */

/* Adds new streams and marks how far each one may go now. 0 or -ENOMEM. */
int merge_look(struct merge *m, const struct stream_set *set, const struct clock *clock);
/* session_look and merge_look. *now: events up to this time are complete. */
int merge_look_session(struct merge *m, struct session *s, uint64_t *now);

/* The cursor with the next event not later than limit, or NULL. */
static inline struct cursor *merge_top(const struct merge *m, uint64_t limit)
{
	return m->heap_count && m->heap[0].ts <= limit ? m->heap[0].c : NULL;
}

/*
 * Before the first event was taken: since when the streams have all their events, of which those
 * that are cut have lost older ones. 0: none is cut.
 */
static inline uint64_t merge_since(const struct merge *m)
{
	uint64_t since = 0;

	for (size_t i = 0; i < m->count; i++)
		if (cursor_is_cut(m->cursors[i]) && m->cursors[i]->o.ts > since)
			since = m->cursors[i]->o.ts;
	return since;
}

/* Moves past the event on top. */
void merge_next(struct merge *m);
/* The same without the losses before it. */
void merge_skip(struct merge *m);

/*
 * Formats events not later than limit until out has `want` bytes and a little more, up to the end
 * of a line, or until `missed` of a cursor grew: the text is then from before the gap. False: no
 * such event is left.
 */
bool merge_text(struct merge *m, struct md_text *t, uint64_t limit, struct md_buf *out,
		size_t want);

/*
 * Adds the length of such text to *length: as merge_text, but nothing is written, and it ends after
 * `want` bytes. Only of the form TEXT_PLAIN.
 */
bool merge_length(struct merge *m, struct md_text *t, uint64_t limit, uint64_t *length,
		  uint64_t want);
/*
 * How many bytes of events the cursors have before them, up to their marks; UINT64_MAX: it is not
 * known, but they are many.
 */
uint64_t merge_left(const struct merge *m);

/* -errno if an imported trace could not be read to its end; else 0. */
int merge_failed(const struct merge *m);
/* Buffers that it reads were removed: what was not copied before is missed. */
bool merge_retired(const struct merge *m);
/* Number of sub-buffers that were overwritten before they were read. */
uint64_t merge_missed(const struct merge *m);
/* Fills m->count elements. */
void merge_places(const struct merge *m, struct merge_place *places);
/* Frees the copies of the cursors; a look must follow before the next event. */
void merge_release(struct merge *m);

#endif
