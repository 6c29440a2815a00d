/* SPDX-License-Identifier: MIT */
/*
 * words.c: tracepoints that are on but have no place, as in a channel that has no ids left. The
 * first that is hit asks the daemon; the second asks for all. Without this each of thousands would
 * ask at its first hit. All with the registration lock held.
 */
#ifndef USTLIB_WORDS_H
#define USTLIB_WORDS_H

#include "ustlib/lib.h"

/* Before a question of the lane: keeps the words that the answer is for. */
void TRAIL_HIDDEN words_keep(unsigned int lane);
/*
 * After an answer to the question of tp: what is on and has no place would get none if it asked. It
 * does not ask before its word changes.
 */
void TRAIL_HIDDEN words_settle(const struct trail__tp *tp, unsigned int lane);

/* The lane's byte of a state word. */
static inline uint32_t lane_of(uint32_t word, unsigned int lane)
{
	return word >> trail_lane_shift(lane) & 255;
}

static inline uint32_t word_of(const struct trail__tp *tp)
{
	return __atomic_load_n(tp->state, __ATOMIC_RELAXED);
}

/* From now on tp is set up for this value of the lane. */
static inline void set_seen(struct trail__tp *tp, unsigned int lane, uint32_t value)
{
	unsigned int shift = trail_lane_shift(lane);
	uint32_t seen = (tp->seen & ~(255u << shift)) | (value & 255) << shift;

	/*
	 * Pairs with the acquire loads at the call site and in trail__ready: the slots were stored
	 * before.
	 */
	__atomic_store_n(&tp->seen, seen, __ATOMIC_RELEASE);
}

#endif
