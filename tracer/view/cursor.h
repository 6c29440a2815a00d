/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor walks the events of one ring, from a place up to a mark. It copies a piece of the ring,
 * checks against the head that no writer overwrote the piece, and decodes the copy. So the events
 * that it returns are complete and do not change.
 *
 * The ring may be hostile. Each event that a cursor returns was decoded within the copy; its time
 * is neither before that of the event before it nor after the time of the mark. At the first event
 * that breaks this, the cursor gives the sub-buffer up and tries the next one. Positions only grow,
 * and at most as many sub-buffers as the ring has are read per mark, so no contents make a cursor
 * loop.
 *
 * In a session with an output, the cursor reads the files of its stream, one after the other, in
 * place of the ring. A position is then an offset in a file, and a place names the file, too. The
 * owner of the files may have changed them: the cursor checks headers, clamps what they say to the
 * file, and gives up a file that is not valid for the next one.
 *
 * In a session with an input, the cursor reads the stream of the imported trace. A place is then
 * a struct input_place in pos, file and ts, and in beyond.events a number of bytes.
 */
#ifndef TRACER_VIEW_CURSOR_H
#define TRACER_VIEW_CURSOR_H

#include "metadata/decode.h"
#include "metadata/text.h"
#include "tracer/base/ring/input.h"
#include "tracer/base/ring/losses.h"
#include "tracer/base/ring/sealed_file.h"
#include "tracer/base/ring/stream_files.h"
#include "tracer/base/ring/reader.h"

struct outage;                  /* view/slice/outages.h */

/* A place from which a cursor can continue. */
struct ring_place {
	uint64_t pos;           /* of an event's header; 0: the beginning of the ring */
	uint64_t ts;            /* decoder time before that event, ns */
	/* With an output: serial of the file that pos is an offset in; 0: the first file. */
	uint64_t file;
	/*
	 * With an output that could not be written: the cursor continued in the ring. Of the events
	 * after pos in the files, now or later, it has read those earlier than ts and the first
	 * `events` with the time ts. events 0: none.
	 */
	struct beyond { uint64_t ts, events; } beyond;
	struct losses_place losses;
	/* Of a ring: `events` are below pos, so a cursor there finds what is overwritten since. */
	bool counted;
	uint64_t events;
};

struct cursor {
	/* used for every event */
	struct md_decoder d;            /* decodes buf */
	uint64_t max_ts;                /* events below the mark are not later */
	const uint8_t *event;           /* start of `o` in buf */
	uint64_t event_ts;              /* decoder time before `o` */
	bool have;                      /* `o` is the current event */
	/* Hz of the recorded times, if o.ts has to be made ns of them; else 0 */
	uint64_t freq;
	struct md_occurrence o;

	uint64_t pos;                   /* ring position of the end of buf */
	/* end of the sub-buffer in buf, as known at the mark */
	uint64_t piece_end;
	uint8_t *buf;                   /* copy of [buf_pos, pos) */
	uint64_t buf_pos;
	size_t buf_size, chunk;
	struct ring_mark mark;
	uint64_t missed;	/* sub-buffers that were overwritten before they were read */
	uint64_t bad;                   /* sub-buffers given up */
	struct losses losses;           /* the pending ones are before the current event */
	struct outage *outage;          /* of merge_watch (merge_losses.h); NULL: none */
	struct session *s;              /* of its merge, or NULL: its error tells of bad packets */
	struct stream stream;           /* its references are owned */
	/* With an output; positions are offsets in the file then. */
	struct stream_file file;	/* as it was at its open; its place is referenced */
	uint64_t serial;                /* of the file that is read */
	uint64_t content;               /* where the content of the packet begins that is read */
	int fd;                         /* of that file; -1: not open, or sealed is */
	struct sealed_file *sealed;     /* that file, if its packets are sealed; else NULL */
	struct outend last;             /* the mark */
	bool ahead;                     /* the cursor may continue in the ring after the files */
	bool in_ring;                   /* the cursor reads the ring: positions are the ring's */
	struct ring_place left;         /* the place where it left the files */
	struct beyond beyond;           /* in the ring since `left` */
	/* Events that were shown before and are skipped; events 0: none. */
	struct beyond skip;
	/* events of `skip` that were skipped since the cursor left the files */
	uint64_t skipped;
	char host[MD_TEXT_HOSTNAME_MAX + 1];    /* host column of its events in text */
	/* With an input (file_cursor.c) */
	struct md_buf piece;            /* the events between the next two; buf is its contents */
	struct input_place from, next;
	uint64_t offset;                /* bytes of the next piece to skip */
	bool ended;                     /* the end of the stream was reached */
	int failed;                     /* -errno: the trace cannot be read further */
};

/*
 * Takes references to the stream's trace and region. at: {0, 0} for the beginning. NULL: no memory.
 */
struct cursor *cursor_create(const struct stream *s, struct ring_place at, size_t chunk);
void cursor_destroy(struct cursor *c);          /* NULL is allowed */
/* The cursor was created to begin at the oldest event: what is not held any more is lost. */
static inline void cursor_begin(struct cursor *c)
{
	c->d.count = losses_begin(&c->losses, &c->stream);
}
/* The oldest event held now: a cursor that begins there does not count older ones as missed. */
struct ring_place cursor_oldest(const struct stream *s);

/*
 * Takes a mark: the cursor may go up to it. max_ts: a clock reading from after the mark, or
 * UINT64_MAX (cursor_limit follows). ahead: with an output, also through the part of the ring that
 * is not in files yet.
 */
void cursor_mark(struct cursor *c, bool ahead);
/* Whether all events up to the mark were returned. */
bool cursor_at_mark(const struct cursor *c);
/* Bytes of events before it, up to the mark; UINT64_MAX: not known, but another file, or all. */
uint64_t cursor_left(const struct cursor *c);
/* Whether the bytes at the place can still be read. */
bool cursor_held(const struct stream *s, struct ring_place at);
/* Sets a clock reading taken after the mark: a later event is not valid. */
static inline void cursor_limit(struct cursor *c, uint64_t max_ts)
{
	/* An imported trace was recorded with another clock. */
	c->max_ts = c->stream.input ? INT64_MAX : max_ts;
}

/* Steps to the next event. 1: c->o is it; 0: the mark is reached (or memory ran out). */
int cursor_next(struct cursor *c);
/*
 * Like cursor_next, but takes all whole events of the copied piece at once: *p … *p + returned
 * bytes; 0: the mark is reached.
 */
size_t cursor_take(struct cursor *c, const uint8_t **p, uint64_t *begin_ts, uint64_t *end_ts);

/* Takes a loss before the current event; times are as of events. False: there is none. */
bool cursor_loss(struct cursor *c, struct md_loss *out);
/*
 * At the mark, without a current event: finds what was discarded after the last one. When that
 * ended is not known, and it counts as one moment: another reader gets the same text later.
 */
static inline void cursor_end_losses(struct cursor *c)
{
	if (!c->have && (!c->stream.log || c->in_ring || c->last.pos >= c->mark.head))
		losses_end(&c->losses, &c->stream, &c->mark, c->last.lost_before, c->mark.last_ts);
}

/* Whether events before the current one are lost because newer ones took their place. */
static inline bool cursor_is_cut(const struct cursor *c)
{
	return c->have &&
	       c->losses.pending & (1u << MD_LOSS_OVERWRITTEN | 1u << MD_LOSS_PACKETS);
}

/* The place of the current event; of the next one if there is none. */
struct ring_place cursor_place(const struct cursor *c);
/* Whether two places of a stream are before the same event, and lead to the same events. */
bool cursor_same_place(const struct stream *s, const struct ring_place *a,
		       const struct ring_place *b);
/* Frees the copy; the current event will be read again. */
void cursor_release(struct cursor *c);

/* ---- file_cursor.c: the files of a stream in a session with an output ---- */

/*
 * Takes a mark: the end of what is written now. If the cursor was in the ring and its place has
 * come into a file since, it continues in the file.
 */
void filecursor_mark(struct cursor *c);
/* At the mark: continues in the ring if the cursor may. False: it may not. */
bool filecursor_leave(struct cursor *c);
/* As fill_buffer in cursor.c: copies the next bytes. 1; 0: at the mark; -ENOMEM. */
int filecursor_fill(struct cursor *c, size_t need);
void filecursor_close(struct cursor *c);
bool filecursor_at_mark(const struct cursor *c);

/* ---- file_cursor.c: a stream of an imported trace ---- */

void inputcursor_set(struct cursor *c, struct ring_place at);
/* Part of cursor_mark(), of any stream. */
void inputcursor_look(struct cursor *c);
/* Reads the next piece. 1; 0: the end, or c->failed. */
int inputcursor_fill(struct cursor *c);
/* The event at c->event is not valid: the next look reads it again. */
void inputcursor_refuse(struct cursor *c);
struct ring_place inputcursor_place(const struct cursor *c);
void inputcursor_release(struct cursor *c);

#endif
