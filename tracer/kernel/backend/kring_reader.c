// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/backend/kring_reader.h"

#include <errno.h>
#include <string.h>

#include "tracer/kernel/kevent/ring_page.h"

static uint64_t round_to_power_of_two(uint64_t n, uint64_t least, uint64_t most)
{
	uint64_t p = least;

	while (p < n && p < most)
		p *= 2;
	return p;
}

uint32_t kring_choose_sizes(uint64_t bytes, uint32_t *subbuf_size)
{
	*subbuf_size = (uint32_t)round_to_power_of_two(bytes / 16, 16384, 1u << 20);
	return (uint32_t)round_to_power_of_two(bytes / *subbuf_size, 2, KRING_SUBBUF_COUNT_MAX);
}

void kring_reader_begin(struct kring_reader *p)
{
	p->pos = p->ring->consumed;
	p->events = p->ring->consumed_events;
	p->overwritten = p->ring->overwritten;
}

/* Position of the first sub-buffer that no writer has begun to overwrite. */
static uint64_t oldest_position(const struct kring_shape *g, const struct kring *r)
{
	uint64_t claimed = kring_position(__atomic_load_n(&r->reserve, __ATOMIC_ACQUIRE));
	uint64_t end = (claimed + g->size - 1) & ~(g->size - 1);

	return end > g->total ? end - g->total : 0;
}

/*
 * Copies the ring from the reader's position to the end of the sub-buffer, at most to head. Returns
 * the number of bytes; 0: a writer overwrote them meanwhile.
 */
static size_t copy_subbuf(const struct kring_shape *g, const struct kring_reader *p,
			  uint64_t head)
{
	uint64_t end = (p->pos & ~(g->size - 1)) + g->size;
	size_t len = (size_t)((end < head ? end : head) - p->pos);

	if (p->pos < oldest_position(g, p->ring))
		return 0;
	memcpy(g->copy, p->data + (p->pos & (g->total - 1)), len);
	/*
	 * Pairs with the writer's fence after it claims space: a writer that overwrote bytes during
	 * the copy had claimed them, and the next check sees the claim.
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return p->pos < oldest_position(g, p->ring) ? 0 : len;
}

static void count_overwritten(struct kring_reader *p, uint64_t events,
			      const struct backend_sink *sink)
{
	if (events <= p->events)
		return;
	p->overwritten += events - p->events;
	if (sink)
		sink->missed(sink->arg, events - p->events);
	p->events = events;
}

/* A record with its context fields in front. */
static int process_contexts(const struct krec *rec, const uint8_t *at,
			    const struct backend_sink *sink)
{
	uint32_t size;
	size_t front;

	if (rec->len < sizeof(size))
		return -EBADMSG;
	memcpy(&size, at, sizeof(size));
	front = (sizeof(size) + (size_t)size + 7) & ~(size_t)7;
	if (rec->len < front + KRECORD_HEADER)
		return -EBADMSG;
	if (sink->contexts)
		sink->contexts(sink->arg, at + sizeof(size), size);
	sink->record(sink->arg, rec->ts, at + front, rec->len - front);
	return 0;
}

static int process_records(const struct kring_shape *g, struct kring_reader *p, size_t len,
		const struct backend_sink *sink)
{
	struct krec_begin r;
	size_t at, next;

	for (at = 0; len - at >= sizeof(r.rec); at = next) {
		memcpy(&r.rec, g->copy + at, sizeof(r.rec));
		if (r.rec.len > len - at - sizeof(r.rec))
			return -EBADMSG;
		next = at + sizeof(r.rec) + ((r.rec.len + 7u) & ~7u);
		next = next < len ? next : len;
		if (r.rec.kind == KREC_BEGIN && r.rec.len == sizeof(r.events)) {
			memcpy(&r.events, g->copy + at + sizeof(r.rec), sizeof(r.events));
			count_overwritten(p, r.events, sink);
		} else if (r.rec.kind == KREC_EVENT && r.rec.len >= KRECORD_HEADER) {
			sink->record(sink->arg, r.rec.ts, g->copy + at + sizeof(r.rec), r.rec.len);
			p->events++;
		} else if (r.rec.kind == KREC_CONTEXTS &&
			   !process_contexts(&r.rec, g->copy + at + sizeof(r.rec), sink)) {
			p->events++;
		} else if (r.rec.kind == KREC_LATE && sink->late && r.rec.len >= KRECORD_HEADER) {
			sink->late(sink->arg, g->copy + at + sizeof(r.rec), r.rec.len);
		} else if (r.rec.kind != KREC_PAD) {
			return -EBADMSG;
		}
	}
	return 0;
}

int kring_drain(const struct kring_shape *g, struct kring_reader *p, uint64_t head,
		const struct backend_sink *sink,
		int (*release)(void *arg, const struct kring_reader *p), void *arg)
{
	uint64_t from;
	size_t len;
	int ret = 0;

	while (p->pos < head && !ret) {
		len = copy_subbuf(g, p, head);
		if (!len) {
			from = oldest_position(g, p->ring);
			p->pos = from > p->pos ? from : p->pos;
			continue;
		}
		ret = process_records(g, p, len, sink);
		p->pos += len;
		if (!ret)
			ret = release(arg, p);
	}
	return ret;
}

void kring_lost(const struct kring_shape *g, const struct kring_reader *p,
		struct source_counts *losses)
{
	struct kring_reader now = *p;
	struct krec_begin first;
	uint64_t from;

	while (now.pos < (from = oldest_position(g, now.ring))) {
		memcpy(&first, now.data + (from & (g->total - 1)), sizeof(first));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (from >= oldest_position(g, now.ring)) {
			count_overwritten(&now, first.rec.kind == KREC_BEGIN ? first.events : 0,
					  NULL);
			break;
		}
	}
	losses->discarded = __atomic_load_n(&now.ring->lost, __ATOMIC_RELAXED);
	losses->overwritten = now.overwritten;
}
