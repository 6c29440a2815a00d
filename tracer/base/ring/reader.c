/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/ring/reader.h"

#include <string.h>
#include <time.h>

#define MARK_TRIES 100
/*
 * What is beyond any writer, in a ns: a CPU records or loses an event in several ns, and stores
 * less than a cache line.
 */
#define EVENTS_PER_NS 1u
#define BYTES_PER_NS 64u
#define LOST_IN_A_SECOND (UINT64_C(1000000000) * EVENTS_PER_NS)
#define CLOCK_STEP UINT64_C(20000000)   /* ns: how late the coarse clock may be */

/* Reads a shared word once, whole; the acquire loads and fences around it give the order. */
static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static const struct trail_ring *ring_of(const struct stream *s)
{
	return region_ring(s->region, s->ring);
}

static uint64_t since(uint64_t total, uint64_t base)
{
	return total > base ? total - base : 0;
}

/* ---- what a writer can have stored ---- */

/* ns since then, at most; then: CLOCK_MONOTONIC, or 0 for the start of the system. */
static uint64_t time_since(uint64_t then)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec + CLOCK_STEP;
	return now > then ? now - then : UINT64_MAX;    /* of another start of the system */
}

static uint64_t capacity(const struct region_geometry *g)
{
	return g->subbuf_size * g->subbuf_count;
}

/* Hits may have been missed before the region was made, but not before the system started. */
static bool lost_is_possible(const struct region *r, uint64_t lost)
{
	return lost < LOST_IN_A_SECOND ||
	       (lost <= RING_LOST_MAX &&
		lost / r->geo.ring_count / EVENTS_PER_NS <= time_since(0));
}

bool ring_count_is_possible(const struct region *r, uint64_t n)
{
	/* Some may be hits of before the region was made. */
	return n < LOST_IN_A_SECOND ||
	       (n - LOST_IN_A_SECOND) / EVENTS_PER_NS <= time_since(r->created);
}

static uint64_t possible_lost(const struct region *r, uint64_t lost)
{
	return lost_is_possible(r, lost) ? lost : 0;
}

uint64_t ring_written(const struct stream *s, uint64_t head)
{
	const struct region *r = s->region;
	uint64_t bytes = head > r->geo.subbuf_size ? head - r->geo.subbuf_size : 0;

	if (bytes > capacity(&r->geo) && bytes / BYTES_PER_NS > time_since(r->created))
		return capacity(&r->geo);
	return bytes;
}

/* The number of events while head is there, if that can be true; else the most that can be. */
static uint64_t possible_events(const struct stream *s, uint64_t head, uint64_t events)
{
	const struct region *r = s->region;
	uint64_t most = ring_written(s, head) / TRAIL_HEADER_COMPACT;
	uint64_t held = capacity(&r->geo) / TRAIL_HEADER_COMPACT;

	if (events > most)
		events = most;
	if (events > held && events / EVENTS_PER_NS > time_since(r->created))
		events = held;
	return events;
}

static uint64_t tallied(const struct stream *s, uint64_t head)
{
	return since(trail_commits(ring_of(s), head, false), head / s->region->geo.subbuf_size);
}

static bool head_is_possible(const struct stream *s, uint64_t head)
{
	return ring_written(s, head) + s->region->geo.subbuf_size >= head;
}

bool ring_spoiled(const struct stream *s)
{
	struct ring_mark m;

	ring_mark(s, &m);
	/* Half: the mark of a busy ring may have a tally that is a little newer than its head. */
	return !head_is_possible(s, m.head) ||
	       m.events < m.tally / 2 ||
	       !lost_is_possible(s->region, load(&ring_of(s)->lost));
}

bool region_unusable(const struct region *r)
{
	uint64_t held = capacity(&r->geo) + 2 * r->geo.subbuf_size;

	for (uint32_t i = 0; i < r->geo.ring_count; i++) {
		const struct stream s = { .region = (struct region *)r, .ring = i };
		const struct trail_ring *ring = region_ring(r, i);
		/* The head first: what is consumed only grows, and then the difference shrinks. */
		uint64_t head =
			__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) & TRAIL_HEAD_MASK;
		uint64_t tally = tallied(&s, head);
		uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);

		if (!head_is_possible(&s, head) ||
		    (r->geo.mode == TRAIL_MODE_DISCARD && head > held &&
		     head - held > consumed) ||
		    tally > (head + held) / TRAIL_HEADER_COMPACT ||
		    !lost_is_possible(r, load(&ring->lost)))
			return true;
	}
	return false;
}

void ring_mark(const struct stream *s, struct ring_mark *m)
{
	const struct trail_ring *ring = ring_of(s);
	uint64_t head, again;

	for (int i = 0; i < MARK_TRIES; i++) {
		/* Pairs with the writer's release of head: everything below it is visible. */
		head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		m->head = head & TRAIL_HEAD_MASK;
		m->last_ts = load(&ring->last_ts) & ~TRAIL_TS_OPEN;
		m->lost = since(ring_lost_total(s), ring_cleared_lost(s));
		m->tally = tallied(s, m->head);
		/*
		 * The loads above come before this one: if head has not moved, they belong to it.
		 */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		again = load(&ring->head);
		if (again == head)
			break;
	}
	m->events = possible_events(s, m->head, m->tally);
}

/* First position of the oldest sub-buffer that is not overwritten while head stays here. */
static uint64_t oldest_subbuf(const struct stream *s, uint64_t head)
{
	uint64_t k = head / s->region->geo.subbuf_size, n = s->region->geo.subbuf_count;

	return (k >= n ? k - n + 1 : 1) * s->region->geo.subbuf_size;
}

/* The position below which memory was freed; 0: none, or not a valid value. */
static uint64_t reclaimed_of(const struct stream *s, uint64_t head)
{
	/* Acquire: pairs with the store that comes before the memory is freed. */
	uint64_t pos = __atomic_load_n(&ring_of(s)->reclaimed, __ATOMIC_ACQUIRE);

	return pos <= head ? pos : 0;
}

uint64_t ring_oldest(const struct stream *s, uint64_t head)
{
	/*
	 * Acquire: pairs with the release by which clear publishes the cleared_* words before it.
	 */
	uint64_t cleared =
		__atomic_load_n(&ring_of(s)->cleared, __ATOMIC_ACQUIRE) & TRAIL_HEAD_MASK;
	uint64_t oldest = oldest_subbuf(s, head), reclaimed = reclaimed_of(s, head);

	if (reclaimed > oldest)
		oldest = reclaimed;
	if (head < oldest)
		return head;    /* no sub-buffer yet */
	if (cleared > head)
		return oldest;  /* not a valid value */
	return cleared > oldest ? cleared : oldest;
}

bool ring_holds(const struct stream *s, uint64_t k)
{
	uint64_t head;

	/*
	 * Pairs with the writer's release of head when it enters a sub-buffer: it stores nothing
	 * there before (G2).
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (region_retired(s->region))
		return false;
	head = load(&ring_of(s)->head) & TRAIL_HEAD_MASK;
	if (k * s->region->geo.subbuf_size < reclaimed_of(s, head))
		return false;
	return head / s->region->geo.subbuf_size < k + s->region->geo.subbuf_count;
}

bool ring_piece(const struct stream *s, const struct ring_mark *m, uint64_t k, struct ring_piece *p)
{
	const struct trail_ring *ring = ring_of(s);
	const struct region_geometry *g = &s->region->geo;
	const struct trail_subbuf *side = &ring->side[k & (2 * g->subbuf_count - 1)];
	uint64_t begin = k * g->subbuf_size, cleared;

	if (!k || load(&side->seq) != k || m->head < begin)
		return false;
	p->begin = begin;
	p->begin_ts = load(&side->begin_ts);
	p->begin_events = load(&side->begin_events);
	p->begin_lost = load(&side->begin_lost);
	if (k == m->head / g->subbuf_size) {
		p->end = m->head;
		p->end_ts = m->last_ts;
		p->end_lost = p->begin_lost;
	} else {
		p->end = load(&side->end);
		p->end_ts = load(&side->end_ts);
		p->end_lost = load(&side->end_lost);
	}
	if (p->end < begin || p->end - begin > g->subbuf_size)
		return false;
	p->begin_lost = possible_lost(s->region, p->begin_lost);
	p->end_lost = possible_lost(s->region, p->end_lost);
	/* Acquire: as in ring_oldest. */
	cleared = __atomic_load_n(&ring->cleared, __ATOMIC_ACQUIRE) & TRAIL_HEAD_MASK;
	if (cleared > begin && cleared <= p->end) {
		uint64_t ts = load(&ring->cleared_ts);

		p->begin = cleared;
		if (ts > p->begin_ts)
			p->begin_ts = ts;
	}
	return true;
}

uint64_t ring_first_ts(const struct stream *s, uint64_t from, const struct ring_piece *p,
		       uint64_t after)
{
	const struct region_geometry *g = &s->region->geo;
	const uint8_t *at =
		region_data(s->region, s->ring) + (from & (g->subbuf_size * g->subbuf_count - 1));
	uint64_t ts = after, epoch = UINT64_C(1) << TRAIL_EPOCH_SHIFT;
	uint32_t word;

	if (!(from & (g->subbuf_size - 1)))
		return p->begin_ts;
	/*
	 * After a clear the piece begins inside a sub-buffer: begin_ts is then the time of the
	 * clear.
	 */
	if (from == p->begin && after < p->begin_ts)
		ts = after = p->begin_ts;
	if (p->end - from >= TRAIL_HEADER_EXTENDED && at[0] == TRAIL_BYTE_EXTENDED) {
		memcpy(&ts, at + 5, sizeof(ts));
	} else if (p->end - from >= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		ts = (after & ~(epoch - 1)) | TRAIL_HEADER_STAMP(word);
		ts += ts < after ? epoch : 0;
	}
	return ts >= after && ts <= p->end_ts ? ts : after;
}

void ring_pass(const struct stream *s, const struct ring_mark *m)
{
	struct trail_ring *ring = region_ring(s->region, s->ring);

	__atomic_store_n(&ring->cleared_events, m->events, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_lost, ring_cleared_lost(s) + m->lost, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_ts, m->last_ts, __ATOMIC_RELAXED);
	/* Pairs with the acquire in ring_oldest. */
	__atomic_store_n(&ring->cleared, m->head, __ATOMIC_RELEASE);
	/* Pairs with the writers' acquire load before they use a sub-buffer again. */
	__atomic_store_n(&ring->consumed, m->head, __ATOMIC_RELEASE);
}

uint64_t ring_unconsumed(const struct stream *s)
{
	uint64_t head = region_head(s->region, s->ring), from = ring_oldest(s, head);
	uint64_t consumed = load(&ring_of(s)->consumed);

	/* Another value is not valid: applications can write to the ring. */
	if (consumed > from && consumed <= head)
		from = consumed;
	return head - from;
}

uint64_t ring_lost_total(const struct stream *s)
{
	return possible_lost(s->region, load(&ring_of(s)->lost));
}

uint64_t ring_cleared_lost(const struct stream *s)
{
	return load(&ring_of(s)->cleared_lost);
}

uint64_t ring_cleared_ts(const struct stream *s)
{
	return load(&ring_of(s)->cleared_ts);
}

/*
 * Adds the losses in the source buffers; those that left a gap between events are in `lost`, too.
 */
static void add_source(const struct trail_ring *ring, struct ring_counts *c)
{
	uint64_t gone = load(&ring->source_overwritten), gaps = load(&ring->source_gaps);
	uint64_t unfiltered = load(&ring->source_unfiltered);

	if (gone > RING_LOST_MAX)
		gone = 0;       /* not a valid value */
	if (gaps > c->discarded)
		gaps = c->discarded;
	c->discarded -= gaps;
	c->source = gone + gaps;
	c->recorded += gone + gaps;
	c->overwritten += gone + gaps;
	c->unfiltered =
		unfiltered < c->discarded + gone + gaps ? unfiltered : c->discarded + gone + gaps;
}

struct input_losses stream_losses(const struct stream *s)
{
	struct input_losses l = { .lines = "" };

	if (s->input && s->input->losses)
		s->input->losses(s->input, &l);
	return l;
}

uint64_t ring_recorded(const struct stream *s, const struct ring_mark *m)
{
	return since(m->events, load(&ring_of(s)->cleared_events));
}

void ring_counts(const struct stream *s, struct ring_counts *c)
{
	const struct region_geometry *g = &s->region->geo;
	const struct trail_ring *ring = ring_of(s);
	uint64_t kept = load(&ring->cleared_events), first;
	struct ring_mark m;
	struct ring_piece p;

	/* What the relay has is not lost. */
	if (s->streamed && load(&ring->consumed_events) > kept)
		kept = load(&ring->consumed_events);
	ring_mark(s, &m);
	*c = (struct ring_counts){ .recorded = ring_recorded(s, &m), .discarded = m.lost };
	first = ring_oldest(s, m.head) / g->subbuf_size;
	for (uint64_t k = first; k && k <= m.head / g->subbuf_size; k++) {
		if (!ring_piece(s, &m, k, &p))
			continue;
		if (k == first && p.begin == k * g->subbuf_size &&
		    g->mode == TRAIL_MODE_OVERWRITE && !s->log)
			c->overwritten = since(p.begin_events, kept);
		c->bytes += p.end - p.begin;
	}
	if (s->log)
		c->overwritten = load(&ring->unwritten);
	else if (s->streamed)
		c->overwritten = add_saturated(c->overwritten, load(&ring->unwritten));
	if (c->overwritten > c->recorded)
		c->overwritten = c->recorded;
	/* Applications can write to other rings, which have no source. */
	if (s->input)
		c->discarded = stream_losses(s).events;
	else if (s->trace->uid == KERNEL_UID)
		add_source(ring, c);
}

void ring_counts_add(struct ring_counts *sum, const struct ring_counts *c)
{
	sum->recorded = add_saturated(sum->recorded, c->recorded);
	sum->discarded = add_saturated(sum->discarded, c->discarded);
	sum->overwritten = add_saturated(sum->overwritten, c->overwritten);
	sum->unfiltered = add_saturated(sum->unfiltered, c->unfiltered);
	sum->source = add_saturated(sum->source, c->source);
	sum->bytes = add_saturated(sum->bytes, c->bytes);
}
