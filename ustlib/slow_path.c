// SPDX-License-Identifier: MIT
/*
 * The slow path of an event: the clock's epoch changed, the sub-buffer is full, the event
 * needs a long header. C code works out what to store, and commits it in a short restartable
 * section (section.h), which checks that the ring and the CPU are still as they were.
 */
#include "ustlib/lib.h"

#ifdef HAVE_SECTIONS
#include "tracer/abi/ring_write.h"
#include "ustlib/section.h"

/* TRAIL_TS_OPEN if that is to be stored with last_ts (guarantee G3 of abi/ring.h) */
static uint64_t open_epoch(const struct commit *c)
{
	return (c->last_ts ^ c->ts) >> TRAIL_EPOCH_SHIFT ? TRAIL_TS_OPEN : 0;
}

/* An epoch that stays open, because the thread was interrupted, costs the next event 9 bytes. */
static enum section settle(struct rseq_area *rs, const struct commit *c, enum section r)
{
	if (r == SECTION_DONE && c->ts & TRAIL_TS_OPEN)
		section_settle(rs, c);
	return r;
}

static enum section commit_switch(struct rseq_area *rs, struct commit *c,
				  const struct mapped_region *m, uint64_t commits)
{
	struct trail_ring *ring = c->ring;
	uint64_t k = c->head / m->subbuf_size,
		 lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);

	c->close = &ring->side[k & (2 * m->subbuf_count - 1)];
	c->begin = &ring->side[(k + 1) & (2 * m->subbuf_count - 1)];
	c->close_facts[0] = c->head;
	c->close_facts[1] = c->last_ts & ~TRAIL_TS_OPEN;
	c->close_facts[2] = commits - k;
	c->close_facts[3] = lost;
	c->begin_facts[0] = k + 1;
	c->begin_facts[1] = c->ts;
	c->begin_facts[2] = commits - k;
	c->begin_facts[3] = lost;
	c->new_head = (k + 1) * m->subbuf_size;
	c->ts |= open_epoch(c);
	return settle(rs, c, section_commit_switch(rs, c));
}

static enum section commit_event(struct rseq_area *rs, struct commit *c, const struct slot *slot,
				 const void *data, size_t len)
{
	uint64_t other = c->last_ts ^ c->ts;    /* with TRAIL_TS_OPEN of last_ts */

	c->header_len = ring_put_header(c->header, slot->id, c->ts, other >> TRAIL_EPOCH_SHIFT);
	c->to = (uint8_t *)c->ring + slot->data_offset + (c->head & slot->data_mask);
	c->new_head = c->head + c->header_len + len;
	c->ts |= open_epoch(c);
	return settle(rs, c, section_commit_event(rs, c, data, len));
}

enum room { ROOM_HERE, ROOM_NEXT, ROOM_NONE };

/*
 * Says whether the event fits at head, after a switch of sub-buffers (whose memory is then
 * present), or not at all.
 */
static enum room room(const struct slot *slot, struct trail_ring *ring, uint32_t cpu, uint64_t head,
		      size_t len)
{
	struct mapped_region *m = slot->mapping;
	uint64_t need = TRAIL_HEADER_EXTENDED + len + TRAIL_SLACK, next = head / m->subbuf_size + 1;

	if (need > m->subbuf_size)
		return ROOM_NONE;
	if (head && (head & slot->subbuf_mask) + need <= m->subbuf_size)
		return ROOM_HERE;
	if (next > ring_limit(ring, m->mode, m->subbuf_size, m->subbuf_count))
		return ROOM_NONE;
	return mapping_populate(m, cpu, next) ? ROOM_NEXT : ROOM_NONE;
}

/* True if an event of that size fits into an empty sub-buffer. */
static bool fits_at_all(const struct slot *slot, size_t len)
{
	return TRAIL_HEADER_EXTENDED + (uint64_t)len + TRAIL_SLACK <= slot->mapping->subbuf_size;
}

static uint64_t time_after(const struct slot *slot, const uint64_t *own, uint64_t last)
{
	uint64_t ts = own ? *own : slot_clock(slot->clock_mult, slot->clock_base);

	ts &= ~TRAIL_TS_OPEN;
	last &= ~TRAIL_TS_OPEN;
	return ts < last ? last : ts;
}

__attribute__((cold)) bool slow_write(const struct slot *slot, const void *data, size_t len,
				      int tries)
{
	const struct mapped_region *m = slot->mapping;
	struct rseq_area *rs = rseq_real();
	struct commit c = { .on = slot->on, .on_value = slot->on_value };
	uint64_t began = 0;     /* of the wait for room */
	/* A plug-in is called once, before the first try: what it records would abort the try. */
	bool own_clock = !slot->clock_mult && slot->clock_base == TRAIL_CLOCK_PLUGIN;
	uint64_t own = own_clock ? slot_clock(0, TRAIL_CLOCK_PLUGIN) : 0;

	for (; tries < TRIES; tries++) {
		struct trail_ring *ring;
		enum section r;
		uint8_t on;

		c.cpu = __atomic_load_n(&rs->cpu_id, __ATOMIC_RELAXED);
		if (c.cpu >= m->ring_count) {
			if (!thread_rseq() ||
			    __atomic_load_n(&rs->cpu_id, __ATOMIC_RELAXED) >= m->ring_count)
				break;
			continue;
		}
		ring = (struct trail_ring *)(slot->rings + c.cpu * slot->ring_stride);
		c.ring = ring;
		c.head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
		c.last_ts = __atomic_load_n(&ring->last_ts, __ATOMIC_RELAXED);
		on = __atomic_load_n(slot->on, __ATOMIC_RELAXED);
		if (on != slot->on_value)
			return !on;
		switch (room(slot, ring, c.cpu, c.head, len)) {
		case ROOM_NONE:
			if (fits_at_all(slot, len) && slot_wait(slot, &began)) {
				tries--;
				continue;
			}
			slot_lost(slot, 1);
			return true;
		case ROOM_NEXT:
			c.ts = time_after(slot, own_clock ? &own : NULL, c.last_ts);
			r = commit_switch(rs, &c, m, trail_commits(ring, c.head, false));
			break;
		default:
			c.ts = time_after(slot, own_clock ? &own : NULL, c.last_ts);
			r = commit_event(rs, &c, slot, data, len);
			if (r == SECTION_DONE)
				return true;
		}
	}
	slot_lost(slot, 1);
	return true;
}
#endif
