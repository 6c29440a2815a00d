/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/ring/losses.h"

#define GAP_MAX (UINT64_C(1) << 48)     /* a larger gap between two counts is not valid */

static uint64_t load(const trail_u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void lose(struct losses *l, struct md_loss loss)
{
	struct md_loss *to = &l->of[loss.kind];

	if (l->pending & 1u << loss.kind) {
		to->count = add_saturated(to->count, loss.count);
		to->to = loss.to;
	} else {
		*to = loss;
	}
	l->pending |= 1u << loss.kind;
}

uint64_t losses_begin(struct losses *l, const struct stream *s)
{
	const struct trail_ring *ring = region_ring(s->region, s->ring);
	uint64_t kept = load(&ring->cleared_events);

	*l = (struct losses){ .fresh = true };
	/* Files begin with a packet that has the counter as it was before them. */
	if (s->log)
		return 0;
	l->at.known = l->counting = true;
	if (!s->input)
		l->at.lost = ring_cleared_lost(s);
	/* What the relay has is not lost. */
	if (s->streamed && load(&ring->consumed_events) > kept)
		kept = load(&ring->consumed_events);
	return kept;
}

/*
 * Since when: the time of the event before, or of the packet, if that is not known. A cursor that
 * begins at the oldest event does not know it; one that begins at the place of the first event
 * does. Both have to print lines of one length.
 */
static uint64_t since(uint64_t ts, uint64_t begin_ts)
{
	return ts ? ts : begin_ts;
}

/* Events of the kernel that were overwritten before the oldest one of the ring. */
static uint64_t source_overwritten(const struct losses *l, const struct stream *s)
{
	uint64_t n = 0;

	if (l->fresh && s->trace->uid == KERNEL_UID)
		n = load(&region_ring(s->region, s->ring)->source_overwritten);
	return n > RING_LOST_MAX ? 0 : n;
}

static void find_discarded(struct losses *l, uint64_t lost, uint64_t from, uint64_t to)
{
	if (l->at.known && lost > l->at.lost)
		lose(l, (struct md_loss){ MD_LOSS_DISCARDED, lost - l->at.lost, from, to });
	if (!l->at.known || lost > l->at.lost)
		l->at.lost = lost;
	l->at.known = true;
}

uint64_t losses_piece(struct losses *l, const struct stream *s, uint64_t k,
		      const struct ring_piece *p, uint64_t read, uint64_t missed, uint64_t ts)
{
	uint64_t size = s->region->geo.subbuf_size, gap = 0, events = p->begin_events;
	uint64_t source = source_overwritten(l, s);

	ts = since(ts, p->begin_ts);
	/* A clear began the piece inside the sub-buffer. */
	if (p->begin != k * size)
		events = load(&region_ring(s->region, s->ring)->cleared_events);
	find_discarded(l, p->begin_lost, ts, p->begin_ts);
	if (l->counting && (l->fresh || missed != l->missed) && events > read)
		gap = events - read < GAP_MAX ? events - read : 0;
	gap += source;
	if (gap)
		lose(l, (struct md_loss){ MD_LOSS_OVERWRITTEN, gap, ts, p->begin_ts });
	l->counting = true;
	l->fresh = false;
	l->missed = missed;
	return events;
}

void losses_ahead(struct losses *l, const struct stream *s, const struct ring_piece *p,
		  uint64_t written, uint64_t before, uint64_t ts)
{
	uint64_t base = ring_cleared_lost(s), lost = p->begin_lost;

	ts = since(ts, p->begin_ts);
	if (!l->at.known)
		l->at.lost = written;
	l->at.known = true;
	find_discarded(l, add_saturated(before, lost > base ? lost - base : 0), ts, p->begin_ts);
}

void losses_packet(struct losses *l, const struct md_packet *h, uint64_t ts)
{
	uint64_t seq = h->packet_seq_num, gap = seq - l->at.packet - 1;
	bool numbered = l->at.numbered;

	ts = since(ts, h->timestamp_begin);
	/* After a smaller number, gaps are counted from it. */
	if (numbered && seq > l->at.packet && gap && gap < GAP_MAX)
		lose(l, (struct md_loss){ MD_LOSS_PACKETS, gap, ts, h->timestamp_begin });
	find_discarded(l, h->events_discarded, ts, h->timestamp_begin);
	l->at.numbered = true;
	l->at.packet = seq;
	l->fresh = false;
}

void losses_input(struct losses *l, const struct stream *s, const struct input_place *at, bool all)
{
	struct input_losses known = stream_losses(s);

	for (; l->at.lost < known.count; l->at.lost++) {
		const struct input_loss *loss = &known.list[l->at.lost];

		if (!all && loss->packet >= at->packet + (at->within != 0))
			break;
		lose(l, loss->loss);
		l->listed++;
	}
}

void losses_end(struct losses *l, const struct stream *s, const struct ring_mark *m,
		uint64_t before, uint64_t ts)
{
	uint64_t source = s->log ? 0 : source_overwritten(l, s);

	if (s->input)
		return;
	find_discarded(l, add_saturated(s->log ? before : ring_cleared_lost(s), m->lost), ts, ts);
	if (source)
		lose(l, (struct md_loss){ MD_LOSS_OVERWRITTEN, source, ts, ts });
	l->fresh = false;
}

bool losses_take(struct losses *l, struct md_loss *out)
{
	unsigned int kind = (unsigned int)__builtin_ctz(l->pending | 1u << MD_LOSS_KINDS);

	if (kind == MD_LOSS_KINDS)
		return false;
	l->pending &= ~(1u << kind);
	if (!l->pending)
		l->listed = 0;
	*out = l->of[kind];
	return true;
}

/* Limits the pending losses of this kind to `most`. */
static void keep(struct losses *l, enum md_loss_kind kind, uint64_t most)
{
	if (l->of[kind].count > most)
		l->of[kind].count = most;
	if (!most)
		l->pending &= ~(1u << kind);
}

void losses_pass(struct losses *l, const struct losses_place *told)
{
	/* The list of an imported trace does not grow: what remains is found again. */
	if (l->listed || !told->known || !l->at.known) {
		*l = (struct losses){ .at = *told };
		return;
	}
	l->pending &= ~(1u << MD_LOSS_OVERWRITTEN);
	if (l->at.lost < told->lost)
		l->at.lost = told->lost;
	keep(l, MD_LOSS_DISCARDED, l->at.lost - told->lost);
	if (!told->numbered)
		return;
	if (!l->at.numbered || l->at.packet <= told->packet) {
		l->at.numbered = true;
		l->at.packet = told->packet;
		keep(l, MD_LOSS_PACKETS, 0);
	} else {
		keep(l, MD_LOSS_PACKETS, l->at.packet - told->packet - 1);
	}
}

struct losses_place losses_place(const struct losses *l, bool again)
{
	struct losses_place at = l->at;

	if (l->listed)
		at.lost -= l->listed;
	else if (l->pending & 1u << MD_LOSS_DISCARDED)
		at.lost -= l->of[MD_LOSS_DISCARDED].count;
	if (l->pending & 1u << MD_LOSS_PACKETS)
		at.packet -= l->of[MD_LOSS_PACKETS].count;
	at.packet -= again;
	return at;
}
