// SPDX-License-Identifier: GPL-2.0-or-later
/* The counters of a region with TRAIL_MODE_COUNT: their memory, their sums, and their clear. */
#include <errno.h>
#include <fcntl.h>

#include "tracer/base/ring/reader.h"

static uint64_t place_of(const struct region *r, uint32_t ring, uint32_t id)
{
	return r->ring_offset + ring * r->ring_stride + r->data_offset +
	       id * sizeof(struct trail_counter);
}

static struct trail_counter *counter(const struct region *r, uint32_t ring, uint32_t id)
{
	return (struct trail_counter *)(void *)(r->map + place_of(r, ring, id));
}

int region_counter_room(struct region *r, uint32_t id)
{
	const uint32_t in_page = TRAIL_PAGE / sizeof(struct trail_counter);
	uint32_t page = id - id % in_page;

	if (id >= r->geo.switch_count)
		return -EINVAL;
	if (id < r->counters)
		return 0;
	for (uint32_t i = 0; i < r->geo.ring_count && r->fd >= 0; i++)
		if (posix_fallocate(r->fd, (off_t)place_of(r, i, page), TRAIL_PAGE))
			return -ENOSPC;
	/* Ids are assigned in their order: the pages before this one have memory. */
	r->counters = page + in_page;
	return 0;
}

static uint64_t total(const struct trail_counter *c)
{
	return add_saturated(__atomic_load_n(&c->hits, __ATOMIC_RELAXED),
			     __atomic_load_n(&c->added, __ATOMIC_RELAXED));
}

uint64_t region_count(const struct region *r, uint32_t id, bool *spoiled)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->geo.ring_count && id < r->geo.switch_count; i++) {
		const struct trail_counter *c = counter(r, i, id);
		uint64_t n = total(c), cleared = __atomic_load_n(&c->cleared, __ATOMIC_RELAXED);

		if (cleared <= n && ring_count_is_possible(r, n))
			sum = add_saturated(sum, n - cleared);
		else
			*spoiled = true;
	}
	return sum;
}

void region_count_add(const struct region *r, uint32_t id, uint64_t n)
{
	if (id < r->geo.switch_count)
		__atomic_fetch_add(&counter(r, 0, id)->added, n, __ATOMIC_RELAXED);
}

void region_counts_clear(const struct region *r, uint32_t ids)
{
	for (uint32_t i = 0; i < r->geo.ring_count; i++)
		for (uint32_t id = 0; id < ids && id < r->geo.switch_count; id++) {
			struct trail_counter *c = counter(r, i, id);
			uint64_t n = total(c);

			/* Later hits could not be told from it. */
			if (!ring_count_is_possible(r, n)) {
				__atomic_store_n(&c->hits, 0, __ATOMIC_RELAXED);
				__atomic_store_n(&c->added, 0, __ATOMIC_RELAXED);
				n = 0;
			}
			__atomic_store_n(&c->cleared, n, __ATOMIC_RELAXED);
		}
}
