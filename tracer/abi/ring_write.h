/* SPDX-License-Identifier: MIT */
/*
 * The portable writer, for rings that one thread owns (TRAIL_RINGS_THREAD): the protocol of ring.h
 * without restartable sequences. The daemon writes its own events with it, the library those of
 * processes without rseq.
 *
 * A ring has one writer. The commit is a compare-and-exchange on head, which has a generation in
 * its upper 16 bits: a barrier changes the generation, so an event that read the clock or the
 * switch byte before the barrier cannot be committed after it. A signal handler that interrupts the
 * writer must not write to the same ring (the caller keeps a flag).
 */
#ifndef TRACER_ABI_RING_WRITE_H
#define TRACER_ABI_RING_WRITE_H

#include <stdbool.h>
#include <string.h>

#include "tracer/abi/ring.h"

struct ring_writer {
	struct trail_ring *ring;
	uint8_t *data;
	uint64_t subbuf_size;           /* power of two */
	uint32_t subbuf_count;          /* power of two */
	enum trail_mode mode;
	uint64_t (*clock)(void *arg);
	/*
	 * Makes the memory of a sub-buffer present before its first use. False: there is none. May
	 * be NULL.
	 */
	bool (*populate)(void *arg, uint64_t subbuf);
	/* There is no room. True: there may be now. False: the event is lost. May be NULL. */
	bool (*wait)(void *arg);
	void *arg;
	/*
	 * An earlier writer may have stopped between last_ts and head, so last_ts may be later than
	 * the last event: the next event has the whole time.
	 */
	bool whole_time;
	/* The region is TRAIL_REGION_PAIRS, whatever this processor can store. */
	bool pairs;
};

static inline void ring_lost(struct trail_ring *ring, uint64_t n)
{
	__atomic_fetch_add(&ring->lost, n, __ATOMIC_RELAXED);
}

/* id: at most 65535. Returns the bytes of the header, at most TRAIL_HEADER_EXTENDED. */
static inline uint32_t ring_put_header(uint8_t *at, uint32_t id, uint64_t ts, bool extended)
{
	if (!extended) {
		bool wide = id >= TRAIL_ID_WIDE;
		uint32_t word = TRAIL_HEADER_WORD(wide ? TRAIL_ID_WIDE : id, ts);
		uint16_t whole = (uint16_t)id;

		memcpy(at, &word, sizeof(word));
		if (wide)
			memcpy(at + sizeof(word), &whole, sizeof(whole));
		return wide ? TRAIL_HEADER_WIDE : TRAIL_HEADER_COMPACT;
	}
	at[0] = TRAIL_BYTE_EXTENDED;
	memcpy(at + 1, &id, sizeof(id));
	memcpy(at + 5, &ts, sizeof(ts));
	return TRAIL_HEADER_EXTENDED;
}

/*
 * Stores both halves with one instruction, so that a killed writer cannot leave only one of them.
 * Readers load each half atomically. ThreadSanitizer has no atomic store of 16 bytes and reports a
 * race: builds with it store each half atomically.
 */
static inline void ring_put_tally(struct trail_ring *ring, uint64_t head, uint64_t commits,
				  bool pairs)
{
#ifdef TRAIL_STORES_WORDS
	if (!pairs) {
		__atomic_store_n(&ring->tally.commits, commits, __ATOMIC_RELAXED);
		__atomic_store_n(&ring->tally.head, head << 32 | (uint32_t)commits,
				 __ATOMIC_RELAXED);
		return;
	}
#endif
	(void)pairs;
#ifdef __SANITIZE_THREAD__
	__atomic_store_n(&ring->tally.head, head, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->tally.commits, commits, __ATOMIC_RELEASE);
#else
	typedef uint64_t pair __attribute__((vector_size(16), may_alias));

	*(volatile pair *)&ring->tally = (pair){ head, commits };
#endif
}

static inline bool ring_commit(struct trail_ring *ring, uint64_t head, uint64_t at, uint64_t ts,
			       uint64_t commits, bool pairs)
{
	uint64_t before = ring->last_ts;

	ring_put_tally(ring, at, commits + 1, pairs);
	__atomic_store_n(&ring->last_ts, ts, __ATOMIC_RELEASE);
	if (__atomic_compare_exchange_n(&ring->head, &head, (head & ~TRAIL_HEAD_MASK) | at, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	/*
	 * The next try decides on its header by the time of the last committed event (guarantee
	 * G3).
	 */
	__atomic_store_n(&ring->last_ts, before, __ATOMIC_RELAXED);
	return false;
}

/* Number of the last sub-buffer that the writer may open now. */
static inline uint64_t ring_limit(const struct trail_ring *ring, enum trail_mode mode,
				  uint64_t subbuf_size, uint32_t subbuf_count)
{
	/* Acquire: when the fence is gone, its memory has been freed and `reclaims` changed. */
	uint64_t fence = __atomic_load_n(&ring->fence, __ATOMIC_ACQUIRE) - 1, oldest, most;

	if (mode == TRAIL_MODE_OVERWRITE)
		return fence;   /* 0 - 1: no limit */
	oldest = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) / subbuf_size;
	most = (oldest ? oldest : 1) + subbuf_count - 1;
	return most < fence ? most : fence;
}

/*
 * Fills the side entries for a switch from pos to the next sub-buffer. They are valid once head is
 * there: readers load head with acquire, then these.
 */
static inline void ring_put_side(struct trail_ring *ring, uint64_t subbuf_size,
				 uint32_t subbuf_count, uint64_t pos, uint64_t ts, uint64_t commits)
{
	uint64_t k = pos / subbuf_size, events = commits - k;
	uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
	struct trail_subbuf *side = &ring->side[k & (2 * subbuf_count - 1)];

	__atomic_store_n(&side->end, pos, __ATOMIC_RELAXED);
	__atomic_store_n(&side->end_ts, ring->last_ts, __ATOMIC_RELAXED);
	__atomic_store_n(&side->end_events, events, __ATOMIC_RELAXED);
	__atomic_store_n(&side->end_lost, lost, __ATOMIC_RELAXED);
	side = &ring->side[(k + 1) & (2 * subbuf_count - 1)];
	__atomic_store_n(&side->seq, k + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&side->begin_ts, ts, __ATOMIC_RELAXED);
	__atomic_store_n(&side->begin_events, events, __ATOMIC_RELAXED);
	__atomic_store_n(&side->begin_lost, lost, __ATOMIC_RELAXED);
}

/*
 * Records one event. *on is the event's switch byte, value its value while the event is enabled.
 * Returns true if the event was recorded; false if the byte differs or the event was counted as
 * lost.
 */
static inline bool ring_write(const struct ring_writer *w, const uint8_t *on, uint8_t value,
			      uint32_t id, const void *payload, uint64_t len)
{
	struct trail_ring *ring = w->ring;
	uint64_t mask = w->subbuf_size * w->subbuf_count - 1;

	for (int tries = 0; tries < 200; tries++) {
		uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		uint64_t pos = head & TRAIL_HEAD_MASK, commits;
		uint64_t used = pos & (w->subbuf_size - 1), next = pos / w->subbuf_size + 1, ts;
		uint32_t header;
		uint8_t *to;

		commits = trail_commits(ring, pos, w->pairs);
		/*
		 * Who sees one of the stores below sees this head, or a later one: tally has at
		 * most one that is not committed (G5), and bytes of a sub-buffer change after head
		 * has entered it (G2). Pairs with the acquire fences of the reader.
		 */
		__atomic_thread_fence(__ATOMIC_RELEASE);
		if (__atomic_load_n(on, __ATOMIC_ACQUIRE) != value)
			return false;
		ts = w->clock(w->arg);
		if (ts < ring->last_ts)
			ts = ring->last_ts;
		if (!pos || used + TRAIL_HEADER_EXTENDED + len + TRAIL_SLACK > w->subbuf_size) {
			if (TRAIL_HEADER_EXTENDED + len + TRAIL_SLACK > w->subbuf_size)
				break;
			if (next > ring_limit(ring, w->mode, w->subbuf_size, w->subbuf_count)) {
				if (!w->wait || !w->wait(w->arg))
					break;
				tries--;
				continue;
			}
			if (w->populate && !w->populate(w->arg, next))
				break;
			ring_put_side(ring, w->subbuf_size, w->subbuf_count, pos, ts, commits);
			ring_commit(ring, head, next * w->subbuf_size, ts, commits, w->pairs);
			continue;
		}
		to = w->data + (pos & mask);
		header = ring_put_header(to, id, ts, w->whole_time ||
					 ts >> TRAIL_EPOCH_SHIFT !=
					 ring->last_ts >> TRAIL_EPOCH_SHIFT);
		memcpy(to + header, payload, len);
		if (ring_commit(ring, head, pos + header + len, ts, commits, w->pairs))
			return true;
	}
	ring_lost(ring, 1);
	return false;
}

#endif
