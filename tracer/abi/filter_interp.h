/* SPDX-License-Identifier: MIT */
/*
 * The interpreter of filter programs; abi/filter_bytecode.h has their format and filter_verify. It
 * runs before each event, in the application or in the kernel (kmod/filter.c). Depends only on
 * string.h and stdint.h; no allocation, no lock, no call but to read a context: async-signal-safe.
 * Needs about 1 KiB of stack.
 *
 * Guarantees, also for bytes that change while the program runs (it is read in place, from memory
 * that may be reused):
 *   - Each word is copied into a local variable before it is used. Then its operands are checked:
 *     places against the length of the payload, literals against the program's size, registers and
 *     anchors against those that this run has set.
 *   - The position in the program only grows, so a run ends after at most as many words as the
 *     program has. A word reads a text a fixed number of times; a search is linear in text and
 *     literal.
 *   - Nothing outside program[0..size) and payload[0..len) is read. On any error the result is
 *     false.
 * filter_verify checks once, when a program is taken over, whether it is valid.
 */
#ifndef TRACER_ABI_FILTER_INTERP_H
#define TRACER_ABI_FILTER_INTERP_H

#include "tracer/abi/filter_load.h"

static inline enum filter_outcome filter_range64(const void *program, size_t size, uint32_t literal,
						 uint64_t x)
{
	uint64_t range[2];

	if (!filter_fits(size, 0, literal, sizeof(range)))
		return FILTER_BAD;
	memcpy(range, (const uint8_t *)program + literal, sizeof(range));
	return x - range[0] <= range[1];
}

/* base: the place of the anchor, not beyond the payload's end. */
FILTER_INLINE enum filter_outcome filter_range(const void *program, size_t size,
					       struct filter_word w, const struct filter_input *in,
					       size_t base)
{
	const uint8_t *p = in->payload;
	uint64_t room, place = (uint64_t)base + w.at;
	uint32_t x;

	if (place >= in->len)
		return FILTER_BAD;
	room = in->len - place;
	p += place;
	switch (w.op) {
#define FILTER_CASE(op, bytes, value) \
	case op: \
		if (__builtin_expect(room < (bytes), 0)) \
			return FILTER_BAD; \
		x = (uint32_t)(value); \
		break
	FILTER_CASE(FILTER_RANGE_S8, 1, (int8_t)*p);
	FILTER_CASE(FILTER_RANGE_U8, 1, *p);
	FILTER_CASE(FILTER_RANGE_S16, 2, (int16_t)filter_load16(p, false));
	FILTER_CASE(FILTER_RANGE_U16, 2, filter_load16(p, false));
	FILTER_CASE(FILTER_RANGE_32, 4, filter_load32(p, false));
	FILTER_CASE(FILTER_RANGE_S16_BE, 2, (int16_t)filter_load16(p, true));
	FILTER_CASE(FILTER_RANGE_U16_BE, 2, filter_load16(p, true));
	FILTER_CASE(FILTER_RANGE_32_BE, 4, filter_load32(p, true));
#undef FILTER_CASE
	case FILTER_RANGE_64:
		if (room < 8)
			return FILTER_BAD;
		return filter_range64(program, size, w.a, filter_load64(p, false));
	case FILTER_RANGE_64_BE:
		if (room < 8)
			return FILTER_BAD;
		return filter_range64(program, size, w.a, filter_load64(p, true));
	default:
		return FILTER_BAD;
	}
	return x - w.a <= w.b;
}

/* Checks that the literal of TEST_STRING or MATCH is inside the program. */
FILTER_INLINE bool filter_match_literal(size_t size, struct filter_word w)
{
	uint32_t n = w.b & 0xffff, how = w.b >> 16;

	return how <= FILTER_MATCH_FIND &&
	       filter_fits(size, 0, w.a, how == FILTER_MATCH_FIND ? 3 * n : n + 1);
}

FILTER_INLINE enum filter_outcome filter_string(const struct filter_machine *m,
						struct filter_word w)
{
	uint32_t n = w.b & 0xffff, how = w.b >> 16;
	const uint8_t *literal;
	struct filter_value v;
	size_t place, room;

	if (!filter_place(m, w.flag & ~FILTER_SENSE, w.at, &place) ||
	    !filter_match_literal(m->size, w))
		return FILTER_BAD;
	literal = m->program + w.a;
	room = m->in->len - place;
	/* Literals contain no NUL, so a text that matches is long enough. */
	if (how == FILTER_MATCH_WHOLE)
		return n < room && !memcmp(m->in->payload + place, literal, n + 1)
			       ? FILTER_HOLDS : FILTER_HOLDS_NOT;
	if (how == FILTER_MATCH_PREFIX)
		return n < room && !memcmp(m->in->payload + place, literal, n)
			       ? FILTER_HOLDS : FILTER_HOLDS_NOT;
	if (how != FILTER_MATCH_SUFFIX || !filter_length(m, place, &room))
		return FILTER_BAD;
	filter_load_text(m, place, room, &v);
	return filter_match(literal, n, how, &v);
}

/* The words that use only registers. */
FILTER_INLINE enum filter_outcome filter_step_registers(struct filter_machine *m,
							struct filter_word w)
{
	uint32_t r = w.flag & ~FILTER_SENSE;
	struct filter_value number, *v;

	switch (w.op) {
	case FILTER_COMPARE:
		if (w.a >= m->top || w.b >= m->top)
			return FILTER_BAD;
		return filter_compare(&m->registers[w.a], &m->registers[w.b], w.at);
	case FILTER_COMPARE_WITH:
		if (r >= m->top)
			return FILTER_BAD;
		number = (struct filter_value){ .u = (uint64_t)w.b << 32 | w.a };
		number.type = w.at >> 8 == FILTER_SIGNED ? FILTER_SIGNED
			    : w.at >> 8 == FILTER_UNSIGNED ? FILTER_UNSIGNED : FILTER_FLOAT;
		return filter_compare(&m->registers[r], &number, w.at & 255);
	case FILTER_TRUTH:
		return r < m->top ? filter_truth(&m->registers[r]) : FILTER_BAD;
	case FILTER_MATCH:
		if (r >= m->top || !filter_match_literal(m->size, w))
			return FILTER_BAD;
		if (m->registers[r].type != FILTER_STRING)
			return FILTER_FAILS;
		return filter_match(m->program + w.a, w.b & 0xffff, w.b >> 16, &m->registers[r]);
	case FILTER_LOAD_BITS:
		v = filter_result(m, w.flag);
		return v ? filter_load_bit_field(m, w, v) : FILTER_BAD;
	case FILTER_OPTION:
		return filter_take_option(m, w);
	default:
		if (w.a >= m->top || w.b >= m->top)
			return FILTER_BAD;
		v = filter_result(m, w.flag);
		if (!v)
			return FILTER_BAD;
		return filter_operate(w.op, &m->registers[w.a], &m->registers[w.b], v)
			       ? FILTER_NEXT : FILTER_FAILS;
	}
}

FILTER_INLINE enum filter_outcome filter_step(struct filter_machine *m, struct filter_word w)
{
	uint32_t anchor = w.flag & ~FILTER_SENSE;

	if (w.op >= FILTER_LOAD_INT && w.op <= FILTER_CONTEXT)
		return filter_load_any(m, w);
	if (w.op >= FILTER_NEGATE && w.op < FILTER_OPS)
		return filter_step_registers(m, w);
	switch (w.op) {
	case FILTER_TEST_STRING:
		return filter_string(m, w);
	case FILTER_WALK:
		return filter_walk(m, w);
	case FILTER_JUMP:
		return w.flag >> 7 ? FILTER_HOLDS : FILTER_HOLDS_NOT;
	default:
		if (anchor >= m->anchor_count)
			return FILTER_BAD;
		return filter_range(m->program, m->size, w, m->in, m->anchors[anchor]);
	}
}

/* The whole interpreter, from a word on. */
static __attribute__((__noinline__, unused)) bool
filter_run_from(const void *program, size_t size, const struct filter_input *in, size_t at)
{
	struct filter_machine m FILTER_UNSET;

	if (in->len > UINT32_MAX)
		return false;
	m.program = (const uint8_t *)program;
	m.size = size;
	m.in = in;
	m.begin = 0;
	m.anchor_count = 1;
	m.anchors[0] = 0;
	m.top = 0;
	for (; at < size / FILTER_WORD; at++) {
		struct filter_word w = filter_word(program, at);
		enum filter_outcome outcome;

		if (w.op == FILTER_RETURN)
			return w.at == 1;
		if (w.op == FILTER_BEGIN) {
			m.begin = at + 1 + w.jump;
			continue;
		}
		outcome = filter_step(&m, w);
		if (outcome == FILTER_BAD)
			return false;
		if (outcome == FILTER_FAILS) {
			if (m.begin <= at)
				return false;
			at = m.begin - 1;
		} else if (outcome != FILTER_NEXT &&
			   outcome == (enum filter_outcome)(w.flag >> 7)) {
			if (w.jump >= FILTER_JUMP_FALSE)
				return w.jump & 1;
			at += w.jump;
		}
	}
	return false;
}

/*
 * Runs tests of integers at constant places, which need no registers; another word goes to
 * filter_run_from.
 */
static __attribute__((__noinline__, unused)) bool
filter_run_ranges(const void *program, size_t size, const struct filter_input *in, size_t at)
{
	for (; at < size / FILTER_WORD; at++) {
		struct filter_word w = filter_word(program, at);
		enum filter_outcome outcome;

		if (w.op > FILTER_RANGE_64_BE || (w.flag & ~FILTER_SENSE))
			return filter_run_from(program, size, in, at);
		if (w.op == FILTER_RETURN)
			return w.at == 1;
		outcome = filter_range(program, size, w, in, 0);
		if (outcome == FILTER_BAD)
			return false;
		if (outcome == (enum filter_outcome)(w.flag >> 7)) {
			if (w.jump >= FILTER_JUMP_FALSE)
				return w.jump & 1;
			at += w.jump;
		}
	}
	return false;
}

/*
 * True: record the event. payload may be NULL if len is 0. Most filters begin with a test of a
 * 32-bit integer at a constant place; this small loop decides those with few registers.
 */
static inline bool filter_run(const void *program, size_t size, const struct filter_input *in)
{
	size_t at, words = size / FILTER_WORD;

	for (at = 1; at < words; at++) {
		const volatile filter_half *p = (const volatile filter_half *)program + 2 * at;
		uint64_t low = p[0], high = p[1];
		uint32_t jump = (uint32_t)low >> 16, value;

		if (((uint32_t)low & 0x7fff) != FILTER_RANGE_32) {
			if ((low & 0xff) == FILTER_RETURN)
				return low >> 32 == 1;
			return filter_run_ranges(program, size, in, at);
		}
		if ((low >> 32) + 4 > in->len)
			return false;
		value = filter_load32(in->payload + (low >> 32), false);
		if ((value - (uint32_t)high <= high >> 32) == !!(low & 0x8000)) {
			if (jump >= FILTER_JUMP_FALSE)
				return jump & 1;
			at += jump;
		}
	}
	return false;
}

#endif
