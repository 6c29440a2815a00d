// SPDX-License-Identifier: MIT
/*
 * State words as the library writes them: its own values TRAIL_WORD_ASKING and TRAIL_WORD_UNKNOWN,
 * and what takes their place. The daemon writes the words, too; its value stays. Caller holds the
 * registration lock.
 */
#include "ustlib/lib.h"

void words_fill(uint32_t *words, uint32_t count, unsigned int lanes)
{
	uint32_t word = 0;

	for (unsigned int lane = 0; lane < LANES; lane++)
		word |= lanes & 1u << lane ? TRAIL_WORD_ASKING << (8 * lane) : 0;
	for (uint32_t e = 0; e < count; e++)
		words[e] = word;
}

static uint8_t *lane_byte(const struct object *o, uint32_t event, unsigned int lane)
{
	return (uint8_t *)o->tps[event]->state + lane;
}

static void replace_byte(uint8_t *byte, uint8_t from, uint8_t to)
{
	if (__atomic_load_n(byte, __ATOMIC_RELAXED) == from)
		__atomic_compare_exchange_n(byte, &from, to, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

void words_set_unknown(struct object *o, unsigned int lane)
{
	for (uint32_t e = 0; o->map && e < o->event_count; e++) {
		replace_byte(lane_byte(o, e, lane), 0, TRAIL_WORD_UNKNOWN);
		replace_byte(lane_byte(o, e, lane), TRAIL_WORD_ASKING, TRAIL_WORD_UNKNOWN);
	}
	o->unknown |= (uint8_t)(1u << lane);
}

void words_store(struct object *o, uint32_t event, unsigned int lane, uint8_t value)
{
	if (!(o->unknown & 1u << lane))
		return;
	replace_byte(lane_byte(o, event, lane), TRAIL_WORD_UNKNOWN, value);
	replace_byte(lane_byte(o, event, lane), TRAIL_WORD_ASKING, value);
}

void words_resolve(struct object *o, unsigned int lane)
{
	for (uint32_t e = 0; o->map && o->unknown & 1u << lane && e < o->event_count; e++)
		words_store(o, e, lane, 0);
	o->unknown &= (uint8_t) ~(1u << lane);
}
