/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers sort packets by the time at which they begin. A writer that has opened a sub-buffer and
 * not yet written its first event has already stored the time at which the next packet begins.
 */
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/base/ring/packetizer.h"

#define SIZE 4096u
#define OPENED 1000000u         /* ns */

static struct packetizer begin(struct session *s)
{
	const struct stream *st = &s->set.streams[0];
	struct packetizer p = { .stream = st, .max_ts = UINT64_MAX };
	struct trail_ring *ring = region_ring(st->region, st->ring);

	ring->side[1].seq = 1;
	ring->side[1].begin_ts = ring->last_ts = OPENED;
	ring->head = SIZE;
	ring_mark(st, &p.mark);
	return p;
}

/* A later event: the packet of the sub-buffer. */
static uint64_t begin_of_next(struct packetizer *p)
{
	struct trail_ring *ring = region_ring(p->stream->region, p->stream->ring);
	struct packet packet;

	ring->last_ts = OPENED + 10;
	ring->head = SIZE + 16;
	ring_mark(p->stream, &p->mark);
	CHECK(packetizer_next(p, true, &packet));
	return packet.header.timestamp_begin;
}

static void leading_packet(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, SIZE, 4);
	struct packetizer p = begin(s);
	struct packet packet;

	CHECK(packetizer_lead(&p, &packet) && packet.header.timestamp_begin < OPENED);
	CHECK(begin_of_next(&p) == OPENED);
	fake_session_destroy(s);
}

static void trailing_packet(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, SIZE, 4);
	struct packetizer p = begin(s);
	struct packet lead, trail;

	p.mark.lost = 3;
	CHECK(packetizer_lead(&p, &lead) && packetizer_trail(&p, &trail));
	CHECK(lead.header.timestamp_begin < trail.header.timestamp_begin);
	CHECK(trail.header.timestamp_begin < OPENED);
	CHECK(begin_of_next(&p) == OPENED);
	fake_session_destroy(s);
}

int main(void)
{
	CASE(leading_packet);
	CASE(trailing_packet);
	return test_summary();
}
