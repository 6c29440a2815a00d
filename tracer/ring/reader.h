/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packet reader: events out of a ring that writers are filling. Reading changes nothing of the writer's and asks nothing
 * of it: packets are cut here, wherever head happens to be.
 *
 * A mark is a frozen view of one ring: how far it went, when, and what was lost by then. A cursor walks the bytes from the
 * oldest held up to a mark, in pieces that were copied and then checked against head (overwrite mode), so that what it
 * hands out is never torn. All functions stand hostile ring contents: positions and ends are clamped to the geometry.
 */
#ifndef TRACER_RING_READER_H
#define TRACER_RING_READER_H

#include "tracer/ring/stream.h"

struct ring_mark {
	uint64_t head;          /* position */
	uint64_t last_ts;       /* no later event has an earlier time */
	uint64_t lost;          /* since the last clear */
	uint64_t events;        /* committed up to head since the ring began */
};

/* Reads {head, last_ts, lost, tally} until stable (a bounded number of tries, then the older values). */
void ring_mark(const struct stream *s, struct ring_mark *m);

/* Where the oldest event held begins (0 … head): the start of a sub-buffer, or where the last clear was. */
uint64_t ring_oldest(const struct stream *s, uint64_t head);

/* unfiltered: of discarded and overwritten, those that a filter might have rejected. */
struct ring_counts { uint64_t recorded, discarded, overwritten, unfiltered, bytes; };
/* As `status` shows them, since the last clear; bytes = held now. */
void ring_counts(const struct stream *s, struct ring_counts *c);

/* What the side table and the mark say of one sub-buffer, checked: begin <= end, both inside it. */
struct ring_piece {
	uint64_t begin, end;            /* positions: where the events that are shown begin and end */
	uint64_t begin_ts, end_ts;
	uint64_t begin_events;          /* committed before it since the ring began */
	uint64_t begin_lost, end_lost;  /* as counted in the ring, not since the last clear */
};

/*
 * Describes sub-buffer k, which must not be after m->head. False: the side entry belongs to another sub-buffer
 * or contradicts itself, because k was overwritten or the writer is hostile. The description may be torn: use it
 * only if ring_holds(s, k) returns true afterwards.
 */
bool ring_piece(const struct stream *s, const struct ring_mark *m, uint64_t k, struct ring_piece *p);
/* Whether the bytes of sub-buffer k and its side entry, read before this call, were not overwritten. */
bool ring_holds(const struct stream *s, uint64_t k);
/*
 * The time of the event at position `from` of the piece: a packet begins with it, so that no two packets of a
 * stream begin at the same time. after: no event of the packet is earlier. The writer may lie, but the result is
 * within these bounds.
 */
uint64_t ring_first_ts(const struct stream *s, uint64_t from, const struct ring_piece *p, uint64_t after);
/* `lost` as counted in the ring since it was made. Hostile values are clamped, so that sums do not wrap. */
uint64_t ring_lost_total(const struct stream *s);
uint64_t ring_cleared_lost(const struct stream *s);
uint64_t ring_cleared_ts(const struct stream *s);

#define RING_LOST_MAX (UINT64_C(1) << 62)

#endif
