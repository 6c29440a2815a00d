/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions as the daemon sees them: sealed memfds with the rings of one channel and one owner (tracer/abi/ring.h).
 *
 * An application that maps a region may write anything into it. So the geometry that the daemon works with is its own copy,
 * and whatever is read from the mapping (heads, side entries, events) is checked before it is used as a size or a place.
 */
#ifndef TRACER_RING_REGION_H
#define TRACER_RING_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/abi/ring.h"

struct region_geometry {
	enum trail_mode mode;
	enum trail_ring_kind kind;
	uint32_t ring_count;
	uint32_t subbuf_count;
	uint64_t subbuf_size;
	uint32_t switch_count;          /* event ids that fit */
	uint64_t clock_mult, clock_base;
};

struct region {
	int refs;                       /* atomic */
	bool retired;                   /* its buffer is gone; guarded by the tracer's lock */
	int fd;                         /* the memfd; -1 in tests */
	uint8_t *map;                   /* whole region, shared, writable */
	size_t size;
	uint64_t key;
	struct region_geometry geo;     /* the daemon's own copy; constant */
	uint64_t switch_offset, ring_offset, ring_stride, data_offset;
};

/* Bytes of such a region; 0: there is none. */
uint64_t region_size(const struct region_geometry *geo);
/* Whether a region begins with this: its size, or 0. */
uint64_t region_header(const struct trail_region *h);
/* A new memfd, sized, sealed against resizing, mapped. Returns 0 or -errno. The caller holds one reference. */
int region_create(const struct region_geometry *geo, uint64_t key, struct region **out);
/*
 * Takes over a memfd that an earlier daemon made (from the keeper): checks seals, size and that the header page agrees with
 * itself. On success the region owns fd, on failure the caller still does.
 */
int region_adopt(int fd, struct region **out);
struct region *region_get(struct region *r);
void region_put(struct region *r);              /* NULL is allowed; the last one unmaps and closes */
/*
 * In place of region_put where a buffer ends: gives the memory back though applications may still have it mapped; switches must be off
 * and a barrier passed. It takes the kernel long, so a thread does it.
 */
void region_retire(struct region *r);
void region_retire_finish(void);                /* waits for it, before the process ends */

static inline struct trail_ring *region_ring(const struct region *r, uint32_t i)
{
	return (struct trail_ring *)(r->map + r->ring_offset + i * r->ring_stride);
}

static inline const uint8_t *region_data(const struct region *r, uint32_t i)
{
	return r->map + r->ring_offset + i * r->ring_stride + r->data_offset;
}

/* Positions of ring i as the reader may rely on them. */
static inline uint64_t region_head(const struct region *r, uint32_t i)
{
	return __atomic_load_n(&region_ring(r, i)->head, __ATOMIC_ACQUIRE) & TRAIL_HEAD_MASK;
}

/* Before the writer uses a sub-buffer of a ring for the first time. False: there is no memory. */
bool region_populate(const struct region *r, uint32_t ring, uint64_t subbuf);
/* Sets the switch byte of an event id (0: off); does not wait (ring/barrier.h). */
void region_switch(struct region *r, uint32_t id, uint8_t value);
uint8_t region_switched(const struct region *r, uint32_t id);

#endif
