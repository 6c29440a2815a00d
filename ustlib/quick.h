/* SPDX-License-Identifier: MIT */
/* The first test of a slot's filter, which rejects most hits: see lib.h. */
#ifndef USTLIB_QUICK_H
#define USTLIB_QUICK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A test of up to 8 bytes of the payload: (bytes - low) & mask <= span. A range of integers, a
 * string's beginning. All begin as in memory: of fewer than 8 bytes, big-endian hosts have them
 * in the upper part of each number, and zeros below.
 */
struct quick {
	uint32_t at, end;               /* in the payload; end is after the last byte tested */
	uint64_t mask, low, span;
};

/* The same of `bytes` bytes of memory, at most 8: low and span are as these are in memory. */
static inline struct quick quick_of(uint32_t at, uint32_t bytes, const void *low, const void *span)
{
	struct quick q = { .at = at, .end = at + bytes };

	memset(&q.mask, 255, bytes);
	memcpy(&q.low, low, bytes);
	memcpy(&q.span, span, bytes);
	return q;
}

enum quick_outcome { QUICK_CANNOT, QUICK_REJECTS, QUICK_PASSES };

/* Loads the place once: another thread may refill the slot between the check and the use. */
static inline __attribute__((always_inline)) enum quick_outcome
quick_test(const struct quick *q, const void *data, size_t len)
{
	uint32_t at = __atomic_load_n(&q->at, __ATOMIC_RELAXED);
	uint64_t v;

	if (at > len || q->end > len)
		return QUICK_CANNOT;
	/* the bytes after the payload are readable: TRAIL__SPARE */
	memcpy(&v, (const uint8_t *)data + at, sizeof(v));
	return ((v - q->low) & q->mask) > q->span ? QUICK_REJECTS : QUICK_PASSES;
}

#endif
