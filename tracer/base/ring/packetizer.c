/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/ring/packetizer.h"

#define MISSED_MAX (UINT64_C(1) << 48)  /* a larger gap between two counts of events is not valid */

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void packet_set_empty(struct packet *p, const struct stream *s, uint64_t ts, uint64_t lost)
{
	*p = (struct packet){ 0 };
	packet_init(&p->header, s, ts);
	p->header.events_discarded = lost;
}

void packetizer_add(struct packetizer *p, uint64_t begin, uint64_t end, uint64_t lost, uint64_t len,
		    struct packet *out)
{
	struct packet_position *at = &p->at;

	at->begin = most(begin, at->ts);
	at->ts = most(at->begin, end);
	at->lost = most(at->lost, lost);
	packet_set_empty(out, p->stream, at->begin, at->lost);
	out->len = len;
	out->header.timestamp_end = at->ts;
	out->header.content_size = out->header.packet_size = 8 * packet_size(out);
	out->header.packet_seq_num = at->seq++;
}

/* Events in the ring up to the end of sub-buffer k, which is closed. */
static uint64_t events_end(const struct stream *s, uint64_t k)
{
	const struct trail_subbuf *side = region_ring(s->region, s->ring)->side;

	return __atomic_load_n(&side[k & (2 * s->region->geo.subbuf_count - 1)].end_events,
			       __ATOMIC_RELAXED);
}

/* Counts what was overwritten between p->at and the piece of sub-buffer k. */
static void count_missed(struct packetizer *p, uint64_t k, const struct ring_piece *piece)
{
	uint64_t size = p->stream->region->geo.subbuf_size, next = most(p->at.pos / size, 1);

	if (k <= next)
		return;
	p->at.pos = k * size;
	if (piece->begin_events <= p->at.events || piece->begin_events - p->at.events > MISSED_MAX)
		return;
	p->missed += piece->begin_events - p->at.events;
	p->at.seq += k - next;
}

/* Moves p->at to the end of the piece of sub-buffer k. False: all of it is in earlier packets. */
static bool add_piece(struct packetizer *p, uint64_t k, const struct ring_piece *piece,
		      struct packet *out)
{
	uint64_t size = p->stream->region->geo.subbuf_size, from = most(piece->begin, p->at.pos),
		 begin, lost;
	bool open = k == p->mark.head / size;

	p->at.pos = open ? most(piece->end, p->at.pos) : (k + 1) * size;
	p->at.events = open ? p->mark.events : events_end(p->stream, k);
	if (piece->end <= from)
		return false;
	begin = ring_first_ts(p->stream, from, piece, p->at.ts);
	lost = piece->end_lost > p->base ? piece->end_lost - p->base : 0;
	packetizer_add(p, begin < p->max_ts ? begin : p->at.ts, least(piece->end_ts, p->max_ts),
		       add_saturated(p->at.lost_before, lost), piece->end - from, out);
	out->subbuf = k;
	out->pos = from;
	return true;
}

bool packetizer_next(struct packetizer *p, bool all, struct packet *out)
{
	const struct stream *s = p->stream;
	uint64_t size = s->region->geo.subbuf_size, last = p->mark.head / size;
	uint64_t oldest = ring_oldest(s, p->mark.head) / size;
	struct ring_piece piece;

	for (uint64_t k = most(most(p->at.pos / size, 1), oldest); k < last || (k == last && all);
	     k++) {
		bool valid = ring_piece(s, &p->mark, k, &piece);

		if (!ring_holds(s, k))
			continue;
		if (valid) {
			count_missed(p, k, &piece);
			if (add_piece(p, k, &piece, out))
				return true;
		} else if (k < last) {
			/* A valid writer never produces this side entry: skip the sub-buffer. */
			p->at.pos = (k + 1) * size;
		}
	}
	return false;
}

/*
 * The latest time of an empty packet after all events below the mark. A writer opens a sub-buffer
 * before its first event and at the same time: the packet of an open sub-buffer without events will
 * begin at the time of the mark, so an empty packet comes before it.
 */
static uint64_t empty_ts(const struct packetizer *p)
{
	uint64_t ts = least(p->mark.last_ts, p->max_ts);

	return p->mark.head & (p->stream->region->geo.subbuf_size - 1) ? ts : just_before(ts);
}

bool packetizer_lead(struct packetizer *p, struct packet *out)
{
	struct packetizer peek = *p;
	uint64_t ts = most(p->at.ts, empty_ts(p));

	if (packetizer_next(&peek, true, out))
		ts = just_before(out->header.timestamp_begin);
	else if (add_saturated(p->at.lost_before, p->mark.lost) > p->at.lost)
		/* A trailing packet comes next, which counts from this one, at empty_ts(). */
		ts = most(most(p->at.ts, p->at.begin + 1), just_before(empty_ts(p)));
	if (ts < p->at.ts || (p->at.begin && ts <= p->at.begin))
		return false;
	packetizer_add(p, ts, ts, p->at.lost, 0, out);
	return true;
}

bool packetizer_trail(struct packetizer *p, struct packet *out)
{
	uint64_t lost = add_saturated(p->at.lost_before, p->mark.lost);
	uint64_t ts = most(empty_ts(p), p->at.begin + 1);

	if (lost <= p->at.lost)
		return false;
	packetizer_add(p, ts, ts, lost, 0, out);
	return true;
}
