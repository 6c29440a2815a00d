// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/ring/source.h"

#include "tracer/abi/ring_write.h"

static struct trail_ring *ring_of(const struct ring_source *s)
{
	return region_ring(s->region, s->ring);
}

static void count_unfiltered(const struct ring_source *s, uint64_t events)
{
	/* Some of them would have been rejected by filters. */
	if (__atomic_load_n(s->unfiltered, __ATOMIC_RELAXED))
		__atomic_fetch_add(&ring_of(s)->source_unfiltered, events, __ATOMIC_RELAXED);
}

void source_begin(struct ring_source *s, bool continues)
{
	struct trail_ring *ring = ring_of(s);
	uint64_t known = ring->source_read, lost;

	s->lost_before = ring->source_lost;
	if (continues && known && s->counts.read > known - 1) {
		lost = s->counts.read - (known - 1);
		count_unfiltered(s, lost);
		ring_lost(ring, lost);
	}
	ring->source_read = s->counts.read + 1;
}

void source_taken(const struct ring_source *s, uint64_t records)
{
	struct trail_ring *ring = ring_of(s);

	/* Release: a daemon that is killed has stored all records that it has noted. */
	__atomic_store_n(&ring->source_read, ring->source_read + records, __ATOMIC_RELEASE);
}

void source_passed_undecided(const struct ring_source *s)
{
	ring_of(s)->source_undecided++;
}

/* Events that the source counts as overwritten and the ring does not count yet. */
static uint64_t find_new_overwritten(const struct ring_source *s)
{
	uint64_t counted = ring_of(s)->source_lost - ring_of(s)->source_discarded;

	return s->counts.overwritten > counted ? s->counts.overwritten - counted : 0;
}

static void count_losses(const struct ring_source *s, uint64_t events)
{
	ring_of(s)->source_lost += events;
	count_unfiltered(s, events);
}

void source_missed(const struct ring_source *s, uint64_t events)
{
	uint64_t head = region_head(s->region, s->ring);
	struct trail_ring *ring = ring_of(s);

	if (!events)
		events = find_new_overwritten(s);
	events += !events;      /* the number is unknown: at least one */
	count_losses(s, events);
	if (s->overwrites &&
	    (!head || head == __atomic_load_n(&ring->cleared, __ATOMIC_ACQUIRE))) {
		__atomic_fetch_add(&ring->source_overwritten, events, __ATOMIC_RELAXED);
		return;
	}
	if (s->overwrites)
		__atomic_fetch_add(&ring->source_gaps, events, __ATOMIC_RELAXED);
	ring_lost(ring, events);
}

static void count_discarded(const struct ring_source *s)
{
	struct trail_ring *ring = ring_of(s);
	uint64_t counted = ring->source_discarded, rest;

	if (s->counts.discarded <= counted)
		return;
	rest = s->counts.discarded - counted;
	count_losses(s, rest);
	ring->source_discarded += rest;
	ring_lost(ring, rest);
}

/* What was not decided and did not come is among what was lost. */
static void count_undecided(const struct ring_source *s)
{
	struct trail_ring *ring = ring_of(s);
	uint64_t lost = ring->source_lost - s->lost_before, events;

	if (s->counts.undecided <= ring->source_undecided)
		return;
	events = s->counts.undecided - ring->source_undecided;
	events = events < lost ? events : lost;
	ring->source_undecided += events;
	/* (Else all losses are counted already.) */
	if (!__atomic_load_n(s->unfiltered, __ATOMIC_RELAXED))
		__atomic_fetch_add(&ring->source_unfiltered, events, __ATOMIC_RELAXED);
}

void source_end(const struct ring_source *s)
{
	uint64_t rest = find_new_overwritten(s);

	if (rest)
		source_missed(s, rest);
	count_discarded(s);
	count_undecided(s);
}
