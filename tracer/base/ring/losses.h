/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The losses of one stream, as its reader finds them: it says what it reads of the ring, of files
 * or of an imported trace, in this order, and takes what is lost before the next event.
 *
 * A loss is known from the counter of discarded events, from the count of events before a
 * sub-buffer, and from gaps of sequence numbers of packets. The ring may be hostile: a loss is then
 * wrong, but bounded.
 */
#ifndef TRACER_RING_LOSSES_H
#define TRACER_RING_LOSSES_H

#include "metadata/ctf.h"
#include "metadata/loss.h"
#include "tracer/base/ring/reader.h"

/*
 * Up to where losses are known: a reader that begins there finds the same ones again. Of an
 * imported trace, `lost` is how many of its list were found.
 */
struct losses_place {
	bool known;             /* else what comes first is the base of the counters */
	bool numbered;          /* `packet` is known */
	uint64_t lost;          /* the counter of discarded events */
	uint64_t packet;        /* sequence number */
};

struct losses {
	struct losses_place at;
	unsigned int pending;           /* kinds of losses that were not taken, as bits */
	struct md_loss of[MD_LOSS_KINDS];
	uint64_t listed;        /* how many of the list of an imported trace are pending */
	bool counting;          /* the reader counts events as the ring does */
	bool fresh;             /* nothing was read: the reader begins at the oldest event */
	uint64_t missed;        /* as of losses_piece */
};

/* The reader begins at the oldest event held. Returns how many events of the ring count as read. */
uint64_t losses_begin(struct losses *l, const struct stream *s);
/*
 * The reader is at the beginning of the piece of sub-buffer k, of a ring. read: events below, as it
 * has counted them, or as losses_begin said; it counts on from what is returned. missed: how often
 * sub-buffers were overwritten before it had read them. ts: of its last event.
 */
uint64_t losses_piece(struct losses *l, const struct stream *s, uint64_t k,
		      const struct ring_piece *p, uint64_t read, uint64_t missed, uint64_t ts);
/*
 * The reader of files is at the beginning of a piece that they do not have yet. written: the
 * counter of their last packet, which has `before` of earlier regions.
 */
void losses_ahead(struct losses *l, const struct stream *s, const struct ring_piece *p,
		  uint64_t written, uint64_t before, uint64_t ts);
/* The reader is at this packet of a file. */
void losses_packet(struct losses *l, const struct md_packet *h, uint64_t ts);
/* The reader has all events of an imported trace up to this place, or all of them. */
void losses_input(struct losses *l, const struct stream *s, const struct input_place *at,
		  bool all);
/*
 * The reader is at the mark of a ring: what was discarded after its last event, whose time is ts.
 * before: as of losses_ahead.
 */
void losses_end(struct losses *l, const struct stream *s, const struct ring_mark *m,
		uint64_t before, uint64_t ts);
/* Takes the next pending loss. False: there is none. */
bool losses_take(struct losses *l, struct md_loss *out);
/*
 * The losses up to this place were told, by lines that the reader has passed. What it has found
 * beyond, of the packet that it has begun, remains pending.
 */
void losses_pass(struct losses *l, const struct losses_place *told);
/* Where pending losses will be found again. again: a reader there reads the last header again. */
struct losses_place losses_place(const struct losses *l, bool again);

#endif
