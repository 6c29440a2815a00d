/* SPDX-License-Identifier: MIT */
/*
 * The state of a running filter program, and the words that load fields, constants and contexts
 * into registers. A part of the interpreter, abi/filter_interp.h.
 */
#ifndef TRACER_ABI_FILTER_LOAD_H
#define TRACER_ABI_FILTER_LOAD_H

#include "tracer/abi/filter_ops.h"

struct filter_input {
	/*
	 * The recorded fields, then those with TRAIL_FIELD_NOWRITE, packed as the application
	 * serializes them.
	 */
	const uint8_t *payload;
	size_t len;
	/*
	 * Reads a context; kind is of enum trail_context. name: "provider:name" for
	 * TRAIL_CONTEXT_APP, "TYPE:CONFIG" (hexadecimal, of perf_event_attr) for
	 * TRAIL_CONTEXT_PERF, else NULL. False, or a value of type FILTER_NONE: the context has no
	 * value. A string must remain valid until filter_run returns, so it may not be in a buffer
	 * that the next call uses. NULL: there are no contexts.
	 */
	bool (*context)(void *arg, uint32_t kind, const char *name, struct filter_value *out);
	void *arg;
};

/*
 * All steps are inlined into one function: a word that is passed by value makes compilers assemble
 * and disassemble it at each call, which takes longer than the step.
 */
#define FILTER_INLINE static inline __attribute__((__always_inline__))

/*
 * Some kernels are compiled to zero stack variables, which would take longer than most programs
 * run.
 */
#ifdef __KERNEL__
#define FILTER_UNSET __uninitialized
#else
#define FILTER_UNSET
#endif

struct filter_machine {
	const uint8_t *program;
	size_t size;
	const struct filter_input *in;
	size_t begin;                   /* where to continue after a failure */
	uint32_t anchor_count;          /* anchors[0 … anchor_count) are set, each <= in->len */
	uint32_t top;                   /* registers[0 … top) are set */
	uint32_t anchors[TRAIL_EVENT_FIELDS_MAX + 1];
	struct filter_value registers[FILTER_REGISTERS];
};

/* The place of a field. False: it is beyond the payload's end, or its anchor is not set. */
FILTER_INLINE bool filter_place(const struct filter_machine *m, uint32_t anchor, uint32_t at,
				size_t *place)
{
	uint64_t p;

	if (anchor >= m->anchor_count)
		return false;
	p = (uint64_t)m->anchors[anchor] + at;
	*place = (size_t)p;
	return p <= m->in->len;
}

/* Length of a string in the payload, without its NUL. False: it has no NUL. */
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

/* As filter_sequence, for a length of enum filter_located. */
static inline bool filter_find_located(const struct filter_input *in, uint32_t size,
				       uint32_t length, size_t *place, uint64_t *n)
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

/*
 * Moves *place to the first element of a sequence, sets *n, and checks that the payload has all of
 * it.
 */
FILTER_INLINE bool filter_sequence(const struct filter_machine *m, uint32_t descriptor,
				   size_t *place, uint64_t *n)
{
	uint32_t size = descriptor & 255, length = descriptor >> 24;

	if (filter_is_size(size) && filter_is_located(length))
		return filter_find_located(m->in, size, length, place, n);
	if (!filter_is_size(size) || !filter_is_size(length) || length > m->in->len - *place)
		return false;
	*n = filter_load(m->in->payload + *place, length, false, false);
	*place += length;
	/* Payloads are smaller than 2^32, so the product does not overflow. */
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

/* Register r, to be set. NULL: there is no such register, or the one before it is not set. */
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

FILTER_INLINE enum filter_outcome filter_load_text(const struct filter_machine *m, size_t place,
						   uint64_t n, struct filter_value *v)
{
	const char *p = n ? (const char *)m->in->payload + place : "";
	const char *nul = n ? (const char *)memchr(p, 0, (size_t)n) : NULL;

	v->type = FILTER_STRING;
	v->s = p;
	v->len = nul ? (size_t)(nul - p) : (size_t)n;
	return FILTER_NEXT;
}

FILTER_INLINE enum filter_outcome filter_load_number(const struct filter_machine *m,
						     struct filter_word w, size_t place,
						     struct filter_value *v)
{
	uint32_t size = w.a & 255, flags = w.a >> 8 & 255;
	uint64_t bits;
	bool is_signed = flags & TRAIL_FIELD_SIGNED;

	if (!filter_is_size(size) || size > m->in->len - place)
		return FILTER_BAD;
	if (w.op == FILTER_LOAD_FLOAT || (FILTER_FLOATS && flags & TRAIL_FIELD_FLOAT)) {
		bits = filter_load(m->in->payload + place, size, flags & TRAIL_FIELD_BIG_ENDIAN,
				   false);
		return filter_load_float(bits, size, v);
	}
	v->type = is_signed ? FILTER_SIGNED : FILTER_UNSIGNED;
	v->u = filter_load(m->in->payload + place, size, flags & TRAIL_FIELD_BIG_ENDIAN, is_signed);
	return FILTER_NEXT;
}

/* LOAD_INT … LOAD_ELEMENT. */
FILTER_INLINE enum filter_outcome filter_load_field(const struct filter_machine *m,
						    struct filter_word w, struct filter_value *v)
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

/* LOAD_BITS */
static __attribute__((__noinline__, unused)) enum filter_outcome
filter_load_bit_field(const struct filter_machine *m, struct filter_word w, struct filter_value *v)
{
	uint32_t bits = w.a & 255, bytes = (w.b + bits + 7) / 8;
	bool is_signed = w.a >> 8 & TRAIL_FIELD_SIGNED;
	size_t place;

	if (!filter_is_bits(w) || !filter_place(m, w.a >> 16 & 255, w.at, &place) ||
	    bytes > m->in->len - place)
		return FILTER_BAD;
	v->type = is_signed ? FILTER_SIGNED : FILTER_UNSIGNED;
	v->u = filter_load_bits(m->in->payload + place, w.b, bits, bytes, is_signed);
	return FILTER_NEXT;
}

/* OPTION */
static __attribute__((__noinline__, unused)) enum filter_outcome
filter_take_option(struct filter_machine *m, struct filter_word w)
{
	uint32_t anchor = w.a >> 16 & 255;
	size_t place, n;

	if (w.b && anchor + 1 < m->anchor_count)
		return FILTER_NEXT;
	if (anchor >= TRAIL_EVENT_FIELDS_MAX || !filter_place(m, anchor, w.at, &place) ||
	    place >= m->in->len)
		return FILTER_BAD;
	if (m->in->payload[place] != w.flag)
		return w.b ? FILTER_NEXT : FILTER_FAILS;
	if (!w.b)
		return FILTER_NEXT;
	place++;
	if (w.b == 1 && !filter_length(m, place, &n))
		return FILTER_BAD;
	n = w.b == 1 ? n + 1 : w.b - 2;
	if (n > m->in->len - place)
		return FILTER_BAD;
	m->anchors[anchor + 1] = (uint32_t)(place + n);
	m->anchor_count = anchor + 2;
	return FILTER_NEXT;
}

/*
 * Copies the name, so that it ends with a NUL even if the program changes; APP and PERF always have
 * one.
 */
static __attribute__((__noinline__, unused)) enum filter_outcome
filter_load_context(const struct filter_machine *m, struct filter_word w, struct filter_value *v)
{
	char name[TRAIL_NAME_MAX + 1] FILTER_UNSET;
	struct filter_value got = { 0 };

	if (!filter_is_context(w) || !filter_fits(m->size, 0, w.a, w.b))
		return FILTER_BAD;
	memcpy(name, m->program + w.a, w.b);
	name[w.b] = '\0';
	if (!m->in->context || !m->in->context(m->in->arg, w.at, w.b ? name : NULL, &got) ||
	    got.type == FILTER_NONE || (got.type == FILTER_STRING && !got.s))
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
		v->type = w.at == FILTER_SIGNED     ? FILTER_SIGNED
			  : w.at == FILTER_UNSIGNED ? FILTER_UNSIGNED
						    : FILTER_FLOAT;
		return FILTER_NEXT;
	case FILTER_CONTEXT:
		return filter_load_context(m, w, v);
	default:
		return filter_load_field(m, w, v);
	}
}

#endif
