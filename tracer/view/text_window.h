/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that is formatted and that its reader did not read yet. Owned by one open of the text. */
#ifndef TRACER_VIEW_TEXT_WINDOW_H
#define TRACER_VIEW_TEXT_WINDOW_H

#include <pthread.h>

#include "tracer/view/divide.h"
#include "tracer/view/text_index.h"

#define WINDOW_HALF (256u << 10)

/* What the reader's run formats: the bytes [at, next), of half[!now] and then of half[now]. */
struct text_window {
	struct md_buf half[2];
	unsigned int now;
	uint64_t at, next;
};

/* The run continues at `at`. */
void text_window_clear(struct text_window *w, uint64_t at);
void text_window_deinit(struct text_window *w);
/* Where to append. The oldest bytes are dropped if there are two halves. */
struct md_buf *text_window_end(struct text_window *w);

/*
 * A reader of a long text formats one stripe of it, while other threads format the next ones. Each
 * thread ends with its stripe, so that a reader that stops keeps no thread. Owned by an open of the
 * text, which serializes the calls. Offsets are those of the engine's text.
 */
struct text_stripe {
	struct md_buf text;
	uint64_t begin, end;
	/* While a thread formats it: owned by that, but for `stop`. */
	struct merge *m;
	struct md_text state;
	uint64_t limit;                 /* the stripe's events are not later */
	pthread_t id;
	uint32_t stop;                  /* atomic: the thread shall end early */
};

struct text_stripes {
	struct text_stripe *ready;      /* for the reader; NULL: none; owned, as the next two */
	struct text_stripe *coming[DIVISION_MOST - 1];  /* with a thread each, in order */
	struct text_stripe *spare;      /* has memory for the next one; or NULL */
	size_t count;                   /* of `coming` */
	size_t slots;                   /* how many may be there, of STRIPED_MOST for all readers */
	size_t cpus;                    /* cpus_allowed() at the first stripe; 0: not asked yet */
	bool failed;                    /* a stripe was not whole: no other one begins */
};

/*
 * Begins stripes, one for each other CPU: after those that were begun, or else a little after
 * `offset`, where the reader is, and after the one that is ready. Does nothing if there is none
 * before `mark`, or another reader works with the engine. limit: time of the last event before the
 * mark. generation: the engine's, for which the other arguments are valid. Takes e->lock.
 */
void text_stripes_begin(struct text_stripes *t, struct text_engine *e, struct session *s,
			uint64_t offset, uint64_t mark, uint64_t limit, uint32_t generation);
/*
 * Finds bytes at this offset. Returns how many there are in one piece; 0: none. Waits for a stripe
 * that is being formatted.
 */
size_t text_stripes_find(struct text_stripes *t, uint64_t offset, const char **p);
/* Whether there is a stripe, or one is being formatted. */
bool text_stripes_have(const struct text_stripes *t, uint64_t offset);
/* Forgets all stripes. It may wait until a piece is formatted. */
void text_stripes_end(struct text_stripes *t);

#endif
