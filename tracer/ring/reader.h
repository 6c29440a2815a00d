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

struct ring_counts { uint64_t recorded, discarded, overwritten, bytes; };
/* As `status` shows them, since the last clear; bytes = held now. */
void ring_counts(const struct stream *s, struct ring_counts *c);

#endif
