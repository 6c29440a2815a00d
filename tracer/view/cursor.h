/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor walks the events of one ring, from where it is put up to a mark. It copies a piece of
 * the ring, checks against head that the piece was whole, and decodes the copy: what it hands out
 * is neither torn nor changed behind its back.
 *
 * The ring may be hostile. What holds for every event a cursor hands out: it was decoded within the
 * copy, its time is not before that of the event before it, and not after the time the mark was
 * taken. A sub-buffer that breaks this is given up at that place, the next one is tried. Positions
 * only grow, at most as many sub-buffers as the ring has are looked at per mark: no contents make a
 * cursor loop. Private to tracer/.
 */
#ifndef TRACER_VIEW_CURSOR_H
#define TRACER_VIEW_CURSOR_H

#include "metadata/decode.h"
#include "metadata/text.h"
#include "tracer/ring/stream_files.h"
#include "tracer/ring/reader.h"

/* A place in a ring from where a cursor can go on: what checkpoints are made of. */
struct ring_place {
	uint64_t pos;           /* of an event's header; 0: where the ring begins */
	uint64_t ts;            /* decoder time before that event */
	/*
	 * where there is an output: serial of the file that pos is an offset in; 0: the first one
	 */
	uint64_t file;
	/*
	 * Where there is an output that could not be written: the cursor went on in the ring, and
	 * of what is behind pos in the files, by now or later, all was read that is earlier than
	 * that time, and so many events of that time. events 0: nothing was.
	 */
	struct beyond { uint64_t ts, events; } beyond;
};

struct cursor {
	/* what every event touches */
	struct md_decoder d;            /* over buf */
	uint64_t max_ts;                /* no event below the mark is later */
	const uint8_t *event;           /* start of `o` in buf */
	uint64_t event_ts;              /* decoder time before `o` */
	bool have;                      /* `o` is the current event */
	struct md_occurrence o;

	uint64_t pos;                   /* ring position behind the bytes in buf */
	/* where the sub-buffer of the bytes in buf ends, as known at the mark */
	uint64_t piece_end;
	uint8_t *buf;                   /* copy of [buf_pos, pos) */
	uint64_t buf_pos;
	size_t buf_size, chunk;
	struct ring_mark mark;
	uint64_t missed;	/* sub-buffers that were overwritten before they were read */
	uint64_t bad;                   /* sub-buffers given up */
	struct stream stream;           /* references are owned */
	/* Where there is an output (view/file_cursor.h); positions are offsets in the file then: */
	struct stream_file file;	/* as it was when it was opened; its place is referenced */
	uint64_t serial;                /* of the file that the cursor stands in */
	int fd;                         /* that file; -1: not open */
	struct outend last;             /* the mark */
	bool ahead;                     /* it may go on in the ring from there */
	bool in_ring;                   /* it does: positions are the ring's */
	struct ring_place left;         /* where it left the files */
	struct beyond beyond;           /* of `left`: what it has passed in the ring */
	/* what it has been told before: not handed out again; events 0: none */
	struct beyond skip;
	uint64_t skipped;               /* of skip.events, since it left the files */
	char host[MD_TEXT_HOSTNAME_MAX + 1];    /* what stands before its events in text */
};

/*
 * Takes references to the stream's trace and region. at: {0, 0} for the very beginning. NULL when
 * memory ran out.
 */
struct cursor *cursor_create(const struct stream *s, struct ring_place at, size_t chunk);
void cursor_destroy(struct cursor *c);          /* NULL is allowed */
/* The oldest event held now: to begin there without counting as missed what is gone. */
struct ring_place cursor_oldest(const struct stream *s);

/*
 * Sets how far the cursor may go: takes a mark. max_ts: a clock reading from after it (or
 * UINT64_MAX, see cursor_limit). ahead: where there is an output, not only through its files, but
 * also through what they do not have yet.
 */
void cursor_mark(struct cursor *c, bool ahead);
/* Everything up to the mark was handed out. */
bool cursor_at_mark(const struct cursor *c);
/* Whether what stands at the place can still be read. */
bool cursor_held(const struct stream *s, struct ring_place at);
/* A clock reading that was taken after the mark: later events are lies. */
static inline void cursor_limit(struct cursor *c, uint64_t max_ts)
{
	c->max_ts = max_ts;
}

/* Steps to the next event. 1: c->o is it; 0: the mark is reached (or memory ran out). */
int cursor_next(struct cursor *c);
/*
 * Like cursor_next, but takes all whole events of the copied piece at once: *p … *p + returned
 * bytes; 0: the mark is reached.
 */
size_t cursor_take(struct cursor *c, const uint8_t **p, uint64_t *begin_ts, uint64_t *end_ts);

/* Where the current event begins (or the next one, if there is none). */
struct ring_place cursor_place(const struct cursor *c);
/* Gives the copy back; the current event will be read again. */
void cursor_release(struct cursor *c);

#endif
