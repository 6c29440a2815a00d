// SPDX-License-Identifier: MIT
/*
 * State words as the library writes them: its own values TRAIL_WORD_ASKING and TRAIL_WORD_UNKNOWN,
 * and what takes their place. The daemon writes the words, too; its value stays. And the words
 * that the library has seen. Caller holds the registration lock.
 */
#include "ustlib/words.h"

void words_fill(uint32_t *words, uint32_t count, unsigned int lanes)
{
	uint32_t mask = 0;

	for (unsigned int lane = 0; lane < LANES; lane++)
		mask |= lanes & 1u << lane ? 255u << trail_lane_shift(lane) : 0;
	for (uint32_t e = 0; e < count; e++)
		words[e] = (words[e] & ~mask) | (TRAIL_WORD_ASKING * 0x01010101u & mask);
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

typedef uint64_t __attribute__((may_alias, aligned(8))) two_words;

/* The pair without the library's own values in the lane at this bit. */
static uint64_t resolved(uint64_t pair, unsigned int shift)
{
	for (unsigned int at = shift; at < 64; at += 32)
		if ((pair >> at & 255) >= TRAIL_WORD_ASKING)
			pair &= ~(UINT64_C(255) << at);
	return pair;
}

/*
 * Two words at a time, which halves the locked instructions. If the daemon writes one of them
 * meanwhile, each is done by itself.
 */
static void resolve_pair(struct object *o, uint32_t e, unsigned int lane)
{
	two_words *at = (two_words *)(void *)lane_byte(o, e, 0);
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	uint64_t new = resolved(old, trail_lane_shift(lane));

	if (new == old || __atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_RELAXED,
						      __ATOMIC_RELAXED))
		return;
	words_store(o, e, lane, 0);
	words_store(o, e + 1, lane, 0);
}

void words_resolve(struct object *o, unsigned int lane)
{
	uint32_t e = 0;

	if (o->map && o->unknown & 1u << lane) {
		/* The words of the file are an array, and begin at a multiple of 8 bytes. */
		for (; e + 2 <= o->event_count; e += 2)
			resolve_pair(o, e, lane);
		if (e < o->event_count)
			words_store(o, e, lane, 0);
	}
	o->unknown &= (uint8_t) ~(1u << lane);
}

/* ---- tracepoints that are on but have no place ---- */

/* Under the registration lock: the last tracepoint that asked is on and got no place. */
static bool refused[LANES];
static bool prepared[LANES];            /* the words are kept for the question that is open */

static bool has_place(const struct trail__tp *tp, unsigned int lane)
{
	const struct slots *slots = slots_of(tp);

	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (slots->slot[i].lane == lane)
			return true;
	return false;
}

/* The objects of a question: the first that are registered. Begins with NULL. */
static struct object *next_asked(struct object *o, uint32_t *n)
{
	for (o = o ? o->next : objects; o && !o->map; o = o->next)
		;
	return (*n)++ < TRAIL_OBJECT_MAX ? o : NULL;
}

void words_keep(unsigned int lane)
{
	uint32_t n = 0;

	prepared[lane] = refused[lane];
	if (!refused[lane])
		return;
	for (struct object *o = next_asked(NULL, &n); o; o = next_asked(o, &n)) {
		if (!o->asked)
			o->asked = arena_alloc(o->capacity);
		for (uint32_t e = 0; o->asked && e < o->event_count; e++)
			o->asked[e] = (uint8_t)lane_of(word_of(o->tps[e]), lane);
	}
}

void words_settle(const struct trail__tp *tp, unsigned int lane)
{
	uint32_t word = lane_of(word_of(tp), lane), n = 0;

	refused[lane] = word && !has_place(tp, lane);
	if (!prepared[lane] || !refused[lane])
		return;
	for (struct object *o = next_asked(NULL, &n); o; o = next_asked(o, &n)) {
		for (uint32_t e = 0; o->asked && e < o->event_count; e++) {
			word = lane_of(word_of(o->tps[e]), lane);
			if (word && word < TRAIL_WORD_ASKING && word == o->asked[e] &&
			    !has_place(o->tps[e], lane))
				set_seen(o->tps[e], lane, word);
		}
	}
}
