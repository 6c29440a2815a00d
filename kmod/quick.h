/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a filter's program begins with, if it is a test that needs no interpreter and rejects: of an
 * integer or a text of the record, or of a context that is at hand. Most events fail there. Of a
 * verified program only: nothing is checked but places in the record. Includes nothing of the
 * kernel, so that tests can run it.
 */
#ifndef KMOD_QUICK_H
#define KMOD_QUICK_H

#include "tracer/abi/filter_interp.h"

struct quick_filter {
	/*
	 * what is tested: FILTER_RANGE_X, FILTER_LOAD_TEXT, FILTER_LOAD_SEQUENCE, FILTER_CONTEXT;
	 * 0: there is no such test
	 */
	uint8_t op;
	uint8_t how;            /* enum filter_match */
	uint8_t located;        /* enum filter_located */
	bool rejects;           /* the outcome that does; what is `whole` passes by the other one */
	bool whole;             /* there is nothing else in the program */
	bool begins;            /* a text fails that does not begin with `first` */
	char first;
	uint32_t at;            /* in the record, or the context */
	/* bytes of an integer, most of a text (0: all), or the literal's with a context */
	uint32_t size;
	uint32_t n;             /* of literal */
	union {
		struct {
			uint64_t low, span;     /* x - low <= span holds */
		};
		const char *literal;    /* in the program */
	};
};

/* ---- the test ---- */

static inline bool quick_number(const struct quick_filter *q, uint64_t x)
{
	return x - q->low <= q->span;
}

/* Of a text that ends with its first NUL, or after size bytes. There is none in the literal. */
static inline bool quick_text(const struct quick_filter *q, const char *s, uint32_t size)
{
	const char *literal = q->literal;
	uint32_t i, n = q->n;

	if (q->how == FILTER_MATCH_SUFFIX) {
		for (i = 0; i < size && s[i]; i++)
			;
		if (i < n)
			return false;
		s += i - n;
		size = n;
	}
	for (i = 0; i < n; i++)
		if (i == size || s[i] != literal[i])
			return false;
	return q->how != FILTER_MATCH_WHOLE || i == size || !s[i];
}

/* A text whose place the record says; what would lie outside is empty. */
static inline bool quick_located(const struct quick_filter *q, const uint8_t *record, uint32_t len)
{
	uint32_t word = filter_load32(record + q->at, false), from = word & 0xffff,
		 bytes = word >> 16;

	if (q->located == FILTER_LENGTH_REL_LOC)
		from += q->at + 4;
	if (from > len || bytes > len - from)
		from = bytes = 0;
	return quick_text(q, (const char *)record + from,
			  q->size && q->size < bytes ? q->size : bytes);
}

/* Of the record, whose first len bytes are there. */
static inline bool quick_holds(const struct quick_filter *q, const uint8_t *record, uint32_t len)
{
	const uint8_t *p = record + q->at;

	switch (q->op) {
	case FILTER_RANGE_32: return (uint32_t)(filter_load32(p, false) - q->low) <= q->span;
	case FILTER_RANGE_64: return quick_number(q, filter_load64(p, false));
	case FILTER_RANGE_S8: return (uint32_t)((int8_t)*p - q->low) <= q->span;
	case FILTER_RANGE_U8: return (uint32_t)(*p - q->low) <= q->span;
	case FILTER_RANGE_S16:
		return (uint32_t)((int16_t)filter_load16(p, false) - q->low) <= q->span;
	case FILTER_RANGE_U16: return (uint32_t)(filter_load16(p, false) - q->low) <= q->span;
	case FILTER_LOAD_TEXT: return quick_text(q, (const char *)p, q->size);
	default: return quick_located(q, record, len);
	}
}

/* It is there, in the first len bytes. */
static inline bool quick_is_in(const struct quick_filter *q, uint32_t len)
{
	return (uint64_t)q->at + (q->op == FILTER_LOAD_SEQUENCE ? 4 : q->size) <= len;
}

/*
 * The same in a few instructions, for what is most frequent. False: it does not reject, or that was
 * not looked at.
 */
static inline __attribute__((__always_inline__)) bool
quick_rejects(const struct quick_filter *q, const uint8_t *record, uint32_t len)
{
	uint64_t from = q->at;

	if (from + 4 > len)
		return false;
	if (q->op == FILTER_RANGE_32)
		return ((uint32_t)(filter_load32(record + from, false) - q->low) <= q->span) ==
		       q->rejects;
	if (!q->begins)
		return false;
	if (q->op == FILTER_LOAD_SEQUENCE)
		from = filter_load32(record + from, false) & 0xffff;
	return from < len && (char)record[from] != q->first;
}

/* ---- what it is made of ---- */

static inline bool quick_range(const uint8_t *program, struct filter_word w, struct quick_filter *q)
{
	uint64_t range[2] = { w.a, w.b };

	switch (w.op) {
	case FILTER_RANGE_S8:
	case FILTER_RANGE_U8: q->size = 1; break;
	case FILTER_RANGE_S16:
	case FILTER_RANGE_U16: q->size = 2; break;
	case FILTER_RANGE_32: q->size = 4; break;
	case FILTER_RANGE_64:
		q->size = 8;
		memcpy(range, program + w.a, sizeof(range));
		break;
	default: return false;
	}
	q->low = range[0];
	q->span = range[1];
	return !(w.flag & ~FILTER_SENSE);
}

/* What a relation to a number means for a signed one. */
static inline bool quick_relation(struct filter_word w, struct quick_filter *q)
{
	uint64_t v = (uint64_t)w.b << 32 | w.a, least = (uint64_t)INT64_MIN, most = INT64_MAX;
	uint32_t relation = w.at & 7, type = w.at >> 8;

	if (type != FILTER_SIGNED && (type != FILTER_UNSIGNED || v > most))
		return false;
	if (relation == (FILTER_LESS | FILTER_GREATER)) {
		q->rejects = !q->rejects;
		relation = FILTER_EQUAL;
	}
	if (!relation || relation == 7 || (relation == FILTER_LESS && v == least) ||
	    (relation == FILTER_GREATER && v == most))
		return false;
	q->low = relation & FILTER_LESS ? least : relation & FILTER_EQUAL ? v : v + 1;
	q->span = (relation & FILTER_GREATER ? most : relation & FILTER_EQUAL ? v : v - 1) - q->low;
	return true;
}

/* Of a text in register 0. */
static inline bool quick_match(const uint8_t *program, struct filter_word w, struct quick_filter *q)
{
	q->how = (uint8_t)(w.b >> 16);
	q->n = w.b & 0xffff;
	q->literal = (const char *)program + w.a;
	return w.op == FILTER_MATCH && !(w.flag & ~FILTER_SENSE) && q->how <= FILTER_MATCH_SUFFIX &&
	       !memchr(q->literal, 0, q->n);
}

static inline bool quick_value(const uint8_t *program, struct filter_word load,
			       struct filter_word test, struct quick_filter *q)
{
	if (load.flag)
		return false;
	q->size = load.b;
	q->located = (uint8_t)(load.a >> 24);
	switch (load.op) {
	case FILTER_LOAD_TEXT:
		return !(load.a >> 16 & 255) && quick_match(program, test, q);
	case FILTER_LOAD_SEQUENCE:
		return !(load.a >> 16 & 255) &&
		       (q->located == FILTER_LENGTH_LOC || q->located == FILTER_LENGTH_REL_LOC) &&
		       quick_match(program, test, q);
	case FILTER_CONTEXT:
		if (load.at == TRAIL_CONTEXT_PROCNAME)
			return quick_match(program, test, q);
		return (load.at == TRAIL_CONTEXT_TID || load.at == TRAIL_CONTEXT_PID) &&
		       test.op == FILTER_COMPARE_WITH && !(test.flag & ~FILTER_SENSE) &&
		       quick_relation(test, q);
	default:
		return false;
	}
}

static inline struct quick_filter quick_make(const void *program)
{
	size_t words = filter_word(program, 0).at, at = 1;
	struct filter_word first = filter_word(program, 1), test = first, next;
	struct quick_filter q = { .op = first.op, .at = first.at };

	if (first.op >= FILTER_LOAD_INT && first.op <= FILTER_CONTEXT && words > 2)
		test = filter_word(program, ++at);
	if (test.jump != FILTER_JUMP_FALSE)
		return (struct quick_filter){ 0 };
	q.rejects = test.flag >> 7;
	if (at == 1 ? !quick_range(program, first, &q) : !quick_value(program, first, test, &q))
		return (struct quick_filter){ 0 };
	if (q.op == FILTER_LOAD_TEXT ||
	    (q.op == FILTER_LOAD_SEQUENCE && q.located == FILTER_LENGTH_LOC)) {
		q.begins = q.n && q.how != FILTER_MATCH_SUFFIX && !q.rejects;
		q.first = q.begins ? *q.literal : 0;
	}
	if (at + 1 < words) {
		next = filter_word(program, at + 1);
		q.whole = next.op == FILTER_RETURN && next.at == 1;
	}
	return q;
}

#endif
