// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives the memory of sub-buffers back while writers record. A writer may open the sub-buffer after
 * head at any moment, and no later one. So `fence` keeps it from opening the sub-buffers that lie
 * in the memory being freed; after a barrier, a writer that has not seen the fence can only open
 * the one after head. What is freed is at least two sub-buffers ahead of head.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "tracer/base/ring/reader.h"

#define PAGES 4096u                     /* in one look of mincore(2) */

/* One thread at a time sets fences. */
static pthread_mutex_t fences = PTHREAD_MUTEX_INITIALIZER;

/* What is freed is from sub-buffer `from` on, and before `end`. */
struct stretch { uint64_t from, end; };

static uint64_t head_of(const struct stream *s)
{
	return region_head(s->region, s->ring) / s->region->geo.subbuf_size;
}

/* The first sub-buffer of which a reader may still need something. */
static uint64_t first_needed(const struct stream *s, const struct ring_mark *m)
{
	const struct trail_ring *ring = region_ring(s->region, s->ring);
	uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);
	uint64_t cleared = __atomic_load_n(&ring->cleared, __ATOMIC_ACQUIRE) & TRAIL_HEAD_MASK;

	/* Other values are not valid: applications can write to the ring. */
	if (consumed > m->head)
		consumed = 0;
	if (cleared <= m->head && cleared > consumed)
		consumed = cleared;
	return consumed / s->region->geo.subbuf_size;
}

/* The first sub-buffer from k on, but before `end`, whose last event is not older. */
static uint64_t first_newer(const struct stream *s, const struct ring_mark *m, uint64_t k,
			    uint64_t end, uint64_t older)
{
	struct ring_piece p;

	while (k < end && ring_piece(s, m, k, &p) && p.end_ts < older)
		k++;
	return k;
}

static struct stretch choose(const struct stream *s, const struct ring_mark *m, uint64_t older,
			     bool idle)
{
	const struct region_geometry *g = &s->region->geo;
	uint64_t h = m->head / g->subbuf_size, n = g->subbuf_count;
	uint64_t needed = first_needed(s, m), oldest = h + 1 > n ? h + 1 - n : 1;
	struct stretch st;

	/* Only what a flight recorder holds is given up because it is old. */
	if (older && g->mode == TRAIL_MODE_OVERWRITE && !s->log && !s->streamed)
		st.end = first_newer(s, m, oldest, h, older);
	else if (older)
		st.end = first_newer(s, m, oldest, needed < h ? needed : h, older);
	else
		st.end = needed < h ? needed : h;
	/* A writer at work gets some room before it would meet the fence. */
	st.from = h + 2 + (idle ? 0 : n / 4);
	st.from = st.from > n ? st.from - n : 1;
	if (st.from < oldest)
		st.from = oldest;
	return st;
}

static bool some_resident(const struct stream *s, const struct stretch *st)
{
	const struct region_geometry *g = &s->region->geo;
	const uint8_t *data = region_data(s->region, s->ring);
	unsigned char seen[PAGES];

	for (uint64_t k = st->from; k < st->end; k++)
		for (uint64_t at = 0; at < g->subbuf_size; at += PAGES * TRAIL_PAGE) {
			uint64_t n = g->subbuf_size - at;

			n = n < PAGES * TRAIL_PAGE ? n : PAGES * TRAIL_PAGE;
			if (mincore((void *)(data + (k & (g->subbuf_count - 1)) * g->subbuf_size +
					     at), n, seen))
				return true;
			for (uint64_t i = 0; i < n / TRAIL_PAGE; i++)
				if (seen[i] & 1)
					return true;
		}
	return false;
}

static int punch(const struct stream *s, const struct stretch *st)
{
	const struct region *r = s->region;
	uint64_t size = r->geo.subbuf_size, n = r->geo.subbuf_count;
	uint64_t data = r->ring_offset + s->ring * r->ring_stride + r->data_offset;

	for (uint64_t k = st->from, to; k < st->end; k = to) {
		to = (k | (n - 1)) + 1;
		to = to < st->end ? to : st->end;
		if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)(data + (k & (n - 1)) * size), (off_t)((to - k) * size)))
			return -errno;
	}
	return 0;
}

/* Views begin later from now on: before the bytes go, pairs with ring_oldest and ring_holds. */
static void note_reclaimed(struct trail_ring *ring, uint64_t pos)
{
	uint64_t old = __atomic_load_n(&ring->reclaimed, __ATOMIC_RELAXED);

	if (old < pos || old > TRAIL_HEAD_MASK)
		__atomic_store_n(&ring->reclaimed, pos, __ATOMIC_SEQ_CST);
}

/*
 * Frees one stretch while a fence keeps writers out of it. It leaves the part that the head has
 * come too close to. False: that is all of the stretch.
 */
static bool free_stretch(const struct stream *s, struct stretch st)
{
	struct trail_ring *ring = region_ring(s->region, s->ring);
	uint64_t n = s->region->geo.subbuf_count, head;
	int ret;

	/* Pairs with the load in ring_limit(); the barrier orders it before the load of head. */
	__atomic_store_n(&ring->fence, st.from + n, __ATOMIC_SEQ_CST);
	barrier(&(struct region *){ s->region }, 1);
	head = head_of(s);
	if (head + 2 > st.from + n)
		st.from = head + 2 - n;
	ret = st.from < st.end ? 0 : -EAGAIN;
	if (!ret) {
		note_reclaimed(ring, st.end * s->region->geo.subbuf_size);
		ret = punch(s, &st);
		/* Before the fence goes: who opens the sub-buffer populates it again. */
		region_reclaimed(s->region);
	}
	/* Release: the memory is free before a writer opens the sub-buffer. */
	__atomic_store_n(&ring->fence, 0, __ATOMIC_RELEASE);
	return !ret;
}

void ring_reclaim(const struct stream *s, uint64_t older, bool idle)
{
	struct ring_mark m;
	struct stretch st, part;

	if (s->input || s->region->fd < 0 || s->region->preallocated ||
	    s->region->geo.mode == TRAIL_MODE_COUNT || !region_head(s->region, s->ring))
		return;
	pthread_mutex_lock(&fences);
	ring_mark(s, &m);
	st = choose(s, &m, older, idle);
	if (st.from < st.end && !some_resident(s, &st))
		st.end = st.from;
	/*
	 * The half that is farther from the head first: the fence is near the head only while
	 * little is freed.
	 */
	while (st.from < st.end && !region_retired(s->region)) {
		part = (struct stretch){ st.from + (st.end - st.from) / 2, st.end };
		if (!free_stretch(s, part))
			break;
		st.end = part.from;
	}
	pthread_mutex_unlock(&fences);
}

bool ring_is_idle(const struct stream *s, uint64_t now)
{
	const struct trail_ring *ring = region_ring(s->region, s->ring);
	uint64_t last = __atomic_load_n(&ring->last_ts, __ATOMIC_RELAXED) & ~TRAIL_TS_OPEN;

	return last < now && now - last > UINT64_C(50000000);
}

uint64_t ring_resident(const struct stream *s)
{
	const struct region *r = s->region;
	uint64_t bytes = 0, left = r->ring_stride;
	uint8_t *at = (uint8_t *)region_ring(r, s->ring);
	unsigned char seen[PAGES];

	while (left && !s->input) {
		uint64_t n = left < PAGES * TRAIL_PAGE ? left : PAGES * TRAIL_PAGE;

		if (mincore(at, n, seen))
			return bytes;
		for (uint64_t i = 0; i < n / TRAIL_PAGE; i++)
			bytes += seen[i] & 1 ? TRAIL_PAGE : 0;
		at += n;
		left -= n;
	}
	return bytes;
}
