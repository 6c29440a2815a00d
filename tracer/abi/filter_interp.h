/* SPDX-License-Identifier: MIT */
/*
 * The interpreter of filter programs (tracer/abi/filter_bytecode.h has their format and filter_verify), which runs in the application, and in the
 * kernel (kmod/filter.c), before each event. No dependency but string.h and stdint.h; no allocation, no lock, no call out but for contexts:
 * async-signal-safe. Needs about 1 KiB of stack.
 *
 * Guarantees, also for bytes that change while the program runs (it is read in place, from memory that may be used
 * again for something else):
 *   - Every word is copied into a local before anything in it is looked at. What it names is checked then: places in the
 *     payload against its length, literals against the program's size, registers and anchors against those that were
 *     set in this run.
 *   - The place in the program only grows, so a run ends after as many words as the program has. A word looks at a text
 *     a fixed number of times: searching for a literal is linear in text and literal.
 *   - Nothing outside program[0..size) and payload[0..len) is read. Whatever is wrong, the result is false.
 * filter_verify tells once, when a program is taken over, whether it makes sense at all.
 */
#ifndef TRACER_FILTERRUN_H
#define TRACER_FILTERRUN_H

#include "tracer/abi/filter_ops.h"

struct filter_input {
	/* The written fields, then those with TRAIL_FIELD_NOWRITE, packed as the application serializes them. */
	const uint8_t *payload;
	size_t len;
	/*
	 * The value of a context: kind is of enum trail_context. name: "provider:name" of TRAIL_CONTEXT_APP, "TYPE:CONFIG" of
	 * TRAIL_CONTEXT_PERF (hexadecimal, as perf_event_attr wants them), else NULL. False, or a value of type FILTER_NONE: there is none. A
	 * string must stay until filter_run returns, so it may not be in a buffer that the next call uses. NULL: there
	 * are no contexts.
	 */
	bool (*context)(void *arg, uint32_t kind, const char *name, struct filter_value *out);
	void *arg;
};

/*
 * The steps are one function in the end: handing a word on to others by value makes compilers put it together from its
 * parts and take it apart again, which takes longer than the step.
 */
#define FILTER_INLINE static inline __attribute__((__always_inline__))

/* Kernels are compiled to zero what is on the stack, which would take longer than most programs run. */
#ifdef __KERNEL__
#define FILTER_UNSET __uninitialized
#else
#define FILTER_UNSET
#endif

struct filter_machine {
	const uint8_t *program;
	size_t size;
	const struct filter_input *in;
	size_t begin;                   /* the word to go on at after a failure */
	uint32_t anchor_count;          /* anchors[0 … anchor_count) are set, each <= in->len */
	uint32_t top;                   /* registers[0 … top) are set */
	uint32_t anchors[TRAIL_EVENT_FIELDS_MAX + 1];
	struct filter_value registers[FILTER_REGISTERS];
};

static inline enum filter_outcome filter_range64(const void *program, size_t size, uint32_t literal, uint64_t x)
{
	uint64_t range[2];

	if (!filter_fits(size, 0, literal, sizeof(range)))
		return FILTER_BAD;
	memcpy(range, (const uint8_t *)program + literal, sizeof(range));
	return x - range[0] <= range[1];
}

/* base: where the anchor is, not behind the payload's end. */
FILTER_INLINE enum filter_outcome filter_range(const void *program, size_t size, struct filter_word w,
					       const struct filter_input *in, size_t base)
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
		return room < 8 ? FILTER_BAD : filter_range64(program, size, w.a, filter_load64(p, false));
	case FILTER_RANGE_64_BE:
		return room < 8 ? FILTER_BAD : filter_range64(program, size, w.a, filter_load64(p, true));
	default:
		return FILTER_BAD;
	}
	return x - w.a <= w.b;
}

/* Where a field begins; false if that is behind the payload's end, or its anchor was not made. */
FILTER_INLINE bool filter_place(const struct filter_machine *m, uint32_t anchor, uint32_t at, size_t *place)
{
	uint64_t p;

	if (anchor >= m->anchor_count)
		return false;
	p = (uint64_t)m->anchors[anchor] + at;
	*place = (size_t)p;
	return p <= m->in->len;
}

/* Length of a string in the payload, without its NUL, which must be there; false if it is not. */
FILTER_INLINE bool filter_length(const struct filter_machine *m, size_t place, size_t *n)
{
	const uint8_t *p, *nul;

	if (place >= m->in->len)
		return false;
	p = m->in->payload + place;
	nul = (const uint8_t *)memchr(p, 0, m->in->len - place);
	*n = nul ? (size_t)(nul - p) : 0;
	return nul;
}

/* The same as filter_sequence, of enum filter_located. */
static inline bool filter_find_located(const struct filter_input *in, uint32_t size, uint32_t length, size_t *place, uint64_t *n)
{
	uint32_t word, from, bytes;

	if (length == FILTER_LENGTH_REST) {
		*n = (in->len - *place) >> __builtin_ctz(size);
		return true;
	}
	if (sizeof(word) > in->len - *place)
		return false;
	word = filter_load32(in->payload + *place, false);
	from = (word & 0xffff) + (length == FILTER_LENGTH_REL_LOC ? (uint32_t)*place + 4 : 0);
	bytes = word >> 16;
	if (from > in->len || bytes > in->len - from)
		from = bytes = 0;
	*place = from;
	*n = bytes >> __builtin_ctz(size);
	return true;
}

/* A sequence: makes *place its first element's, and checks that all of it is there. */
FILTER_INLINE bool filter_sequence(const struct filter_machine *m, uint32_t descriptor, size_t *place, uint64_t *n)
{
	uint32_t size = descriptor & 255, length = descriptor >> 24;

	if (filter_is_size(size) && filter_is_located(length))
		return filter_find_located(m->in, size, length, place, n);
	if (!filter_is_size(size) || !filter_is_size(length) || length > m->in->len - *place)
		return false;
	*n = filter_load(m->in->payload + *place, length, false, false);
	*place += length;
	/* Payloads are smaller than 2^32, so the product is right. */
	return *n <= m->in->len && *n * size <= m->in->len - *place;
}

FILTER_INLINE enum filter_outcome filter_walk(struct filter_machine *m, struct filter_word w)
{
	uint32_t anchor = w.a >> 16 & 255, size = w.a & 255;
	size_t place;
	uint64_t n;

	if (anchor + 1 < m->anchor_count)
		return FILTER_NEXT;
	if (anchor >= TRAIL_EVENT_FIELDS_MAX || !filter_place(m, anchor, w.at, &place))
		return FILTER_BAD;
	if (size ? !filter_sequence(m, w.a, &place, &n) : !filter_length(m, place, &place))
		return FILTER_BAD;
	if (size)
		m->anchors[anchor + 1] = (uint32_t)(place + n * size);
	else
		m->anchors[anchor + 1] = (uint32_t)(m->anchors[anchor] + w.at + place + 1);
	m->anchor_count = anchor + 2;
	return FILTER_NEXT;
}

/* Register r to be set; NULL if there is none of that number yet, or not even the one before it. */
FILTER_INLINE struct filter_value *filter_result(struct filter_machine *m, uint32_t r)
{
	if (r > m->top || r >= FILTER_REGISTERS)
		return NULL;
	if (r == m->top) {
		m->registers[r].type = FILTER_NONE;
		m->registers[r].u = 0;
		m->registers[r].len = 0;
		m->top++;
	}
	return &m->registers[r];
}

FILTER_INLINE enum filter_outcome filter_load_text(const struct filter_machine *m, size_t place, uint64_t n,
						   struct filter_value *v)
{
	const char *p = n ? (const char *)m->in->payload + place : "";
	const char *nul = n ? (const char *)memchr(p, 0, (size_t)n) : NULL;

	v->type = FILTER_STRING;
	v->s = p;
	v->len = nul ? (size_t)(nul - p) : (size_t)n;
	return FILTER_NEXT;
}

FILTER_INLINE enum filter_outcome filter_load_number(const struct filter_machine *m, struct filter_word w, size_t place,
						     struct filter_value *v)
{
	uint32_t size = w.a & 255, flags = w.a >> 8 & 255;
	uint64_t bits;
	bool is_signed = flags & TRAIL_FIELD_SIGNED;

	if (!filter_is_size(size) || size > m->in->len - place)
		return FILTER_BAD;
	if (w.op == FILTER_LOAD_FLOAT || (FILTER_FLOATS && flags & TRAIL_FIELD_FLOAT)) {
		bits = filter_load(m->in->payload + place, size, flags & TRAIL_FIELD_BIG_ENDIAN, false);
		return filter_load_float(bits, size, v);
	}
	v->type = is_signed ? FILTER_SIGNED : FILTER_UNSIGNED;
	v->u = filter_load(m->in->payload + place, size, flags & TRAIL_FIELD_BIG_ENDIAN, is_signed);
	return FILTER_NEXT;
}

/* What LOAD_INT … LOAD_ELEMENT do. */
FILTER_INLINE enum filter_outcome filter_load_field(const struct filter_machine *m, struct filter_word w,
						    struct filter_value *v)
{
	size_t place, n;
	uint64_t count;

	if (!filter_place(m, w.a >> 16 & 255, w.at, &place))
		return FILTER_BAD;
	switch (w.op) {
	case FILTER_LOAD_STRING:
		return filter_length(m, place, &n) ? filter_load_text(m, place, n, v) : FILTER_BAD;
	case FILTER_LOAD_TEXT:
		return w.b <= m->in->len - place ? filter_load_text(m, place, w.b, v) : FILTER_BAD;
	case FILTER_LOAD_SEQUENCE:
		if ((w.a & 255) != 1 || !filter_sequence(m, w.a, &place, &count))
			return FILTER_BAD;
		return filter_load_text(m, place, w.b && w.b < count ? w.b : count, v);
	case FILTER_LOAD_ELEMENT:
		if (!filter_sequence(m, w.a, &place, &count))
			return FILTER_BAD;
		if (w.b >= count)
			return FILTER_FAILS;
		return filter_load_number(m, w, place + (size_t)w.b * (w.a & 255), v);
	default:
		return filter_load_number(m, w, place, v);
	}
}

/* The name is copied, so that the callee's has an end whatever happens to the program; APP and PERF always have one. */
static __attribute__((__noinline__, unused)) enum filter_outcome
filter_load_context(const struct filter_machine *m, struct filter_word w, struct filter_value *v)
{
	char name[TRAIL_NAME_MAX + 1] FILTER_UNSET;
	struct filter_value got = { 0 };

	if (!filter_is_context(w) || !filter_fits(m->size, 0, w.a, w.b))
		return FILTER_BAD;
	memcpy(name, m->program + w.a, w.b);
	name[w.b] = '\0';
	if (!m->in->context || !m->in->context(m->in->arg, w.at, w.b ? name : NULL, &got) || got.type == FILTER_NONE ||
	    (got.type == FILTER_STRING && !got.s))
		return FILTER_FAILS;
	*v = got;
	return FILTER_NEXT;
}

FILTER_INLINE enum filter_outcome filter_load_any(struct filter_machine *m, struct filter_word w)
{
	struct filter_value *v = filter_result(m, w.flag);

	if (!v)
		return FILTER_BAD;
	switch (w.op) {
	case FILTER_CONSTANT:
		if (!filter_is_number(w.at))
			return FILTER_BAD;
		v->u = (uint64_t)w.b << 32 | w.a;
		v->type = w.at == FILTER_SIGNED ? FILTER_SIGNED : w.at == FILTER_UNSIGNED ? FILTER_UNSIGNED : FILTER_FLOAT;
		return FILTER_NEXT;
	case FILTER_CONTEXT:
		return filter_load_context(m, w, v);
	default:
		return filter_load_field(m, w, v);
	}
}

/* The literal of TEST_STRING and MATCH; false if it is outside. */
FILTER_INLINE bool filter_match_literal(size_t size, struct filter_word w)
{
	uint32_t n = w.b & 0xffff, how = w.b >> 16;

	return how <= FILTER_MATCH_FIND && filter_fits(size, 0, w.a, how == FILTER_MATCH_FIND ? 3 * n : n + 1);
}

FILTER_INLINE enum filter_outcome filter_string(const struct filter_machine *m, struct filter_word w)
{
	uint32_t n = w.b & 0xffff, how = w.b >> 16;
	const uint8_t *literal;
	struct filter_value v;
	size_t place, room;

	if (!filter_place(m, w.flag & ~FILTER_SENSE, w.at, &place) || !filter_match_literal(m->size, w))
		return FILTER_BAD;
	literal = m->program + w.a;
	room = m->in->len - place;
	/* There is no NUL in literals, so the text is as long as what is equal. */
	if (how == FILTER_MATCH_WHOLE)
		return n < room && !memcmp(m->in->payload + place, literal, n + 1) ? FILTER_HOLDS : FILTER_HOLDS_NOT;
	if (how == FILTER_MATCH_PREFIX)
		return n < room && !memcmp(m->in->payload + place, literal, n) ? FILTER_HOLDS : FILTER_HOLDS_NOT;
	if (how != FILTER_MATCH_SUFFIX || !filter_length(m, place, &room))
		return FILTER_BAD;
	filter_load_text(m, place, room, &v);
	return filter_match(literal, n, how, &v);
}

/* The words that only look at registers. */
FILTER_INLINE enum filter_outcome filter_step_registers(struct filter_machine *m, struct filter_word w)
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
	default:
		if (w.a >= m->top || w.b >= m->top)
			return FILTER_BAD;
		v = filter_result(m, w.flag);
		if (!v)
			return FILTER_BAD;
		return filter_operate(w.op, &m->registers[w.a], &m->registers[w.b], v) ? FILTER_NEXT : FILTER_FAILS;
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

/* The whole machine, from a word on. */
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
		} else if (outcome != FILTER_NEXT && outcome == (enum filter_outcome)(w.flag >> 7)) {
			if (w.jump >= FILTER_JUMP_FALSE)
				return w.jump & 1;
			at += w.jump;
		}
	}
	return false;
}

/* Integers at constant places against constants need no machine. */
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
 * True: record. payload may be NULL if len is 0. What most filters begin with is decided in this little loop, which keeps
 * to few registers: a test of an int or unsigned int at a constant place.
 */
static inline bool filter_run(const void *program, size_t size, const struct filter_input *in)
{
	size_t at, words = size / FILTER_WORD;

	for (at = 1; at < words; at++) {
		const volatile filter_half *p = (const volatile filter_half *)program + 2 * at;
		uint64_t low = p[0], high = p[1];
		uint32_t jump = (uint32_t)low >> 16;

		if (((uint32_t)low & 0x7fff) != FILTER_RANGE_32) {
			if ((low & 0xff) == FILTER_RETURN)
				return low >> 32 == 1;
			return filter_run_ranges(program, size, in, at);
		}
		if ((low >> 32) + 4 > in->len)
			return false;
		if ((filter_load32(in->payload + (low >> 32), false) - (uint32_t)high <= high >> 32) == !!(low & 0x8000)) {
			if (jump >= FILTER_JUMP_FALSE)
				return jump & 1;
			at += jump;
		}
	}
	return false;
}

#endif
