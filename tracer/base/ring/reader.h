/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the rings that writers are filling. It modifies nothing of the writer and does not ask the
 * writer to finish a packet: a packet may end wherever head is.
 *
 * A mark is a frozen view of one ring: its head, its time and its losses. All functions accept
 * hostile contents: they clamp positions and ends to the geometry.
 */
#ifndef TRACER_RING_READER_H
#define TRACER_RING_READER_H

#include "tracer/base/ring/input.h"
#include "tracer/base/ring/stream.h"

struct ring_mark {
	uint64_t head;          /* position */
	uint64_t last_ts;       /* no later event has an earlier time */
	uint64_t lost;          /* since the last clear */
	uint64_t events;        /* committed up to head since the ring began */
	uint64_t tally;         /* the same as the ring says it: events, if that can be true */
};

/*
 * Reads {head, last_ts, lost, tally} until they are consistent (a bounded number of tries; then it
 * keeps the last values).
 */
void ring_mark(const struct stream *s, struct ring_mark *m);

/*
 * Where the oldest event begins (0 … head): the start of a sub-buffer, or the position of the last
 * clear.
 */
uint64_t ring_oldest(const struct stream *s, uint64_t head);
/*
 * Whether a program has stored counters in the ring that cannot be true. Such a tally counts as
 * what the ring can hold, such a number of losses as none.
 */
bool ring_spoiled(const struct stream *s);
/*
 * Whether a ring of the region has a position, a tally or losses with which no later event could be
 * recorded or counted. Never true of rings that no program wrote over.
 */
bool region_unusable(const struct region *r);
/* Bytes that were ever written; of a head that cannot be true, what the ring can hold. */
uint64_t ring_written(const struct stream *s, uint64_t head);
/* Bytes that the ring holds and its output has not written, or its relay has not confirmed. */
uint64_t ring_unconsumed(const struct stream *s);

/*
 * unfiltered: how many of discarded and overwritten a filter might have rejected. source: how many
 * of recorded and overwritten were never in the ring, because they were overwritten in the buffer
 * that it is filled from.
 */
struct ring_counts { uint64_t recorded, discarded, overwritten, unfiltered, source, bytes; };
/* The numbers of `status`, since the last clear; bytes: held now. */
void ring_counts(const struct stream *s, struct ring_counts *c);

/* Of a stream of an imported trace; nothing of another. */
struct input_losses stream_losses(const struct stream *s);

/* Events committed to the ring up to the mark since the last clear. */
uint64_t ring_recorded(const struct stream *s, const struct ring_mark *m);

/*
 * A sub-buffer as the side entry and the mark describe it; checked: begin <= end, both inside it.
 */
struct ring_piece {
	uint64_t begin, end;            /* positions of the events that views show */
	uint64_t begin_ts, end_ts;
	uint64_t begin_events;          /* committed before it since the ring began */
	uint64_t begin_lost, end_lost;  /* as counted in the ring, not since the last clear */
};

/*
 * Describes sub-buffer k, which must not be after m->head. False: the side entry belongs to another
 * sub-buffer or contradicts itself, because k was overwritten or the writer is hostile. The
 * description may be torn: use it only if ring_holds(s, k) returns true afterwards.
 */
bool ring_piece(const struct stream *s, const struct ring_mark *m, uint64_t k,
		struct ring_piece *p);
/*
 * The only reader of the ring has taken all up to the mark: writers may use the space again, and
 * the mark's losses are not counted any more.
 */
void ring_pass(const struct stream *s, const struct ring_mark *m);
/*
 * Whether the bytes of sub-buffer k and its side entry, read before this call, were neither
 * overwritten nor freed.
 */
bool ring_holds(const struct stream *s, uint64_t k);
/*
 * The time of the event at position `from` of the piece. A packet begins with it, so that no two
 * packets of a stream begin at the same time. after: no event of the packet is earlier. The result
 * is between `after` and the end of the piece even if the writer stored another time.
 */
uint64_t ring_first_ts(const struct stream *s, uint64_t from, const struct ring_piece *p,
		       uint64_t after);
/*
 * Gives back the memory of sub-buffers that a reader has consumed or that were cleared. If `older`
 * is not 0, it takes only sub-buffers whose events are all older than that time (ns), and in a
 * flight recorder also sub-buffers that no reader has read: their events count as overwritten. Two
 * sub-buffers stay, and a quarter of the ring unless it is idle.
 * Writers may record meanwhile. Without locks: it takes 1 ms for some MiB.
 */
void ring_reclaim(const struct stream *s, uint64_t older, bool idle);
bool ring_is_idle(const struct stream *s, uint64_t now);
uint64_t ring_resident(const struct stream *s); /* bytes of the ring that are in memory */

/* Whether writers can have counted that many hits of an event in one ring of the region. */
bool ring_count_is_possible(const struct region *r, uint64_t n);
/* `lost` since the ring was created; 0 if it cannot be true. */
uint64_t ring_lost_total(const struct stream *s);
uint64_t ring_cleared_lost(const struct stream *s);
uint64_t ring_cleared_ts(const struct stream *s);

#define RING_LOST_MAX (UINT64_C(1) << 62)       /* more is never true */

/* For counters that applications can write: a sum that does not fit is UINT64_MAX. */
static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Adds the counts of one ring to the sum over several. */
void ring_counts_add(struct ring_counts *sum, const struct ring_counts *c);

#endif
