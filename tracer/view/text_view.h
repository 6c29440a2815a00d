/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An open of the text, private to the two files that serve it: text_view.c, which decides where it
 * reads, and text_window.c, which has what is formatted.
 */
#ifndef TRACER_VIEW_TEXT_VIEW_H
#define TRACER_VIEW_TEXT_VIEW_H

#include "tracer/view/text_window.h"
#include "tracer/view/views.h"

struct text_view {
	struct session *s;              /* referenced */
	struct text_engine *e;
	uint32_t generation;
	uint64_t era;                   /* of the engine at this generation */
	bool imported;                  /* at the open, the session had an input */
	bool replaced;                  /* it has another input now: reads fail with ESTALE */
	bool exact;
	uint64_t shift;
	struct merge *m;                /* the run; NULL: none */
	struct md_text text;
	uint64_t limit;                 /* the run's marks include all events up to this time */
	uint64_t missed;
	uint64_t note;                  /* where the window gets the engine's next note */
	uint64_t served;                /* offset of the end of the last read */
	/* bytes after `served` to format ahead; 0: the last read did not continue the one before */
	size_t ahead;
	int failed;                     /* -errno of text_ahead, for the next read */
	/*
	 * The end of the text for this open: where the engine's text ended then. A read at the
	 * end returns 0, also if events were recorded since; the read after that sets a new end. So
	 * `cat` ends even if events are recorded faster than it reads, and `tail -f` follows. A
	 * reader whose text was overwritten before its first read gets a new end at once. mark
	 * is an offset in the engine's text, mark_limit the time of its last event.
	 */
	uint64_t mark, mark_limit;
	uint64_t floor;                 /* of the engine at the open: offset in its text */
	bool ended;                     /* the last read returned 0 */
	bool cut;                       /* buffers were removed before it had read them */
	struct text_window window;      /* what the run formatted */
	struct text_stripes stripes;    /* formatted beside the run */
};

/*
 * Whether offset a is before b. A run may begin before offset 0 of an open with a shift; that
 * offset is just below 2^64.
 */
static inline bool is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* Offsets mean what they mean to a new open. Caller holds the engine's lock. */
void text_begin(struct text_view *v);
/* Of a new open: its offsets count from the beginning of the engine's text. */
void text_rewind(struct text_view *v);
/*
 * Of a new open: its offsets count from the oldest event of the archives. Its run becomes exact at
 * the end of the engine's text.
 */
int text_rewind_older(struct text_view *v);
/* What was at offset `to` is at `offset` from now on, which the reader has read up to. */
void text_move(struct text_view *v, uint64_t offset, uint64_t to);
/* Where a run is that has all events up to the engine's limit: before the note at the end. */
uint64_t text_place_of_run(const struct text_engine *e);
/*
 * An exact run: puts the engine's note into the window, if one is here; else sets where the next
 * one is. True: it was put. Caller holds the engine's lock.
 */
bool text_put_note(struct text_view *v);
/* How many of `size` bytes at this offset are before the mark. The limit ends a floating run. */
size_t text_clip(const struct text_view *v, uint64_t offset, size_t size);
/* Finds text that is formatted, in the window or a stripe; as text_stripes_find. */
size_t text_find_formatted(struct text_view *v, uint64_t offset, size_t size, const char **p);
/* Whether the reader reads on. Then other threads may format stripes for it. */
bool text_reads_on(struct text_view *v, uint64_t offset);

#endif
