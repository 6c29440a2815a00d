/* SPDX-License-Identifier: MIT */
/*
 * Operations on values in filter programs: load, compute, compare, match. A part of the
 * interpreter, abi/filter_interp.h.
 */
#ifndef TRACER_ABI_FILTER_OPS_H
#define TRACER_ABI_FILTER_OPS_H

#include "tracer/abi/filter_bytecode.h"

enum filter_outcome {
	FILTER_HOLDS_NOT, FILTER_HOLDS,
	FILTER_NEXT,                    /* no test */
	FILTER_FAILS,
	FILTER_BAD,                     /* the program or the payload is invalid */
};

/* Numbers are in the host's byte order, or, if `big`, in network byte order. */
#define FILTER_HOST_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
/* (For riscv64, the compiler calls functions for its own ones that the kernel lacks.) */
#ifdef __KERNEL__
#include <linux/swab.h>
#define FILTER_SWAP(bits, v) __swab##bits(v)
#else
#define FILTER_SWAP(bits, v) __builtin_bswap##bits(v)
#endif

static inline uint16_t filter_load16(const uint8_t *p, bool big)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return big && FILTER_HOST_IS_LITTLE ? FILTER_SWAP(16, v) : v;
}

static inline uint32_t filter_load32(const uint8_t *p, bool big)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return big && FILTER_HOST_IS_LITTLE ? FILTER_SWAP(32, v) : v;
}

static inline uint64_t filter_load64(const uint8_t *p, bool big)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return big && FILTER_HOST_IS_LITTLE ? FILTER_SWAP(64, v) : v;
}

/* size: 1, 2, 4 or 8 */
static inline uint64_t filter_load(const uint8_t *p, uint32_t size, bool big, bool is_signed)
{
	switch (size) {
	case 1: return is_signed ? (uint64_t)(int8_t)*p : *p;
	case 2: return is_signed ? (uint64_t)(int16_t)filter_load16(p, big) : filter_load16(p, big);
	case 4: return is_signed ? (uint64_t)(int32_t)filter_load32(p, big) : filter_load32(p, big);
	default: return filter_load64(p, big);
	}
}

/* A bit field, as enum filter_op has it; `bytes` is how many it lies in. */
static inline uint64_t filter_load_bits(const uint8_t *p, uint32_t begin, uint32_t bits,
					uint32_t bytes, bool is_signed)
{
	uint32_t unused = 64 - bits, i;
	uint64_t v = 0;

	for (i = 0; i < bytes; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		v = v << 8 | p[i];
#else
		v |= (uint64_t)p[i] << 8 * i;
#endif
	}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v >>= 8 * bytes - begin - bits;
#else
	v >>= begin;
#endif
	v <<= unused;
	return is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

#if FILTER_FLOATS
static inline enum filter_outcome filter_load_float(uint64_t bits, uint32_t size,
						    struct filter_value *v)
{
	uint32_t half = (uint32_t)bits;
	float f;

	v->type = FILTER_FLOAT;
	if (size == 8) {
		memcpy(&v->f, &bits, sizeof(v->f));
		return FILTER_NEXT;
	}
	memcpy(&f, &half, sizeof(f));
	v->f = f;
	return FILTER_NEXT;
}

static inline void filter_negate_float(const struct filter_value *v, struct filter_value *out)
{
	out->f = -v->f;
	out->type = FILTER_FLOAT;
}

static inline double filter_double(const struct filter_value *v)
{
	return v->type == FILTER_FLOAT    ? v->f
	       : v->type == FILTER_SIGNED ? (double)v->i
					  : (double)v->u;
}

static inline unsigned int filter_order_floats(const struct filter_value *x,
					       const struct filter_value *y)
{
	double f = filter_double(x), g = filter_double(y);

	return f < g    ? FILTER_LESS
	       : f > g  ? FILTER_GREATER
	       : f == g ? FILTER_EQUAL
			: FILTER_UNORDERED;
}

static inline bool filter_float_holds(const struct filter_value *v)
{
	return v->f != 0;
}
#else
/* Kernel code has no floating point; filter_verify rejects programs that use it. */
static inline enum filter_outcome filter_load_float(uint64_t bits, uint32_t size,
						    struct filter_value *v)
{
	return FILTER_BAD;
}

static inline void filter_negate_float(const struct filter_value *v, struct filter_value *out)
{
}

static inline unsigned int filter_order_floats(const struct filter_value *x,
					       const struct filter_value *y)
{
	return 0;
}

static inline bool filter_float_holds(const struct filter_value *v)
{
	return false;
}
#endif

static inline bool filter_is_int(const struct filter_value *v)
{
	return v->type == FILTER_SIGNED || v->type == FILTER_UNSIGNED;
}

/*
 * False: the operation has no result. left and right may be *out. Copies members, not whole values:
 * a load of 16 bytes that were stored as two halves stalls the processor.
 */
static inline bool filter_operate(unsigned int op, const struct filter_value *left,
				  const struct filter_value *right, struct filter_value *out)
{
	uint64_t u = left->u, v = right->u;
	bool is_unsigned = left->type == FILTER_UNSIGNED;

	if (op == FILTER_NEGATE && left->type == FILTER_FLOAT) {
		filter_negate_float(left, out);
		return true;
	}
	if (!filter_is_int(left) || !filter_is_int(right))
		return false;
	if (op != FILTER_LEFT && op != FILTER_RIGHT)
		is_unsigned |= right->type == FILTER_UNSIGNED;
	else if (v > 63)        /* also: it is negative */
		return false;
	switch (op) {
	case FILTER_NEGATE:
		is_unsigned = false;
		u = 0 - u;
		break;
	case FILTER_COMPLEMENT: u = ~u; break;
	case FILTER_AND: u &= v; break;
	case FILTER_OR: u |= v; break;
	case FILTER_XOR: u ^= v; break;
	case FILTER_LEFT: u <<= v; break;
	case FILTER_RIGHT: u >>= v; break;
	default: return false;
	}
	out->u = u;
	out->type = is_unsigned ? FILTER_UNSIGNED : FILTER_SIGNED;
	return true;
}

/* One of FILTER_LESS …; 0: not comparable. Two strings are equal or unordered. */
static inline unsigned int filter_order(const struct filter_value *x, const struct filter_value *y)
{
	if (x->type == FILTER_STRING || y->type == FILTER_STRING) {
		if (x->type != y->type)
			return 0;
		return x->len == y->len && (!x->len || !memcmp(x->s, y->s, x->len))
			       ? FILTER_EQUAL
			       : FILTER_UNORDERED;
	}
	if (x->type == FILTER_NONE || y->type == FILTER_NONE)
		return 0;
	if (x->type == FILTER_FLOAT || y->type == FILTER_FLOAT)
		return filter_order_floats(x, y);
	if (x->type != y->type && (x->type == FILTER_SIGNED ? x : y)->i < 0)
		return x->type == FILTER_SIGNED ? FILTER_LESS : FILTER_GREATER;
	if (x->u == y->u)
		return FILTER_EQUAL;
	if (x->type == FILTER_SIGNED && y->type == FILTER_SIGNED)
		return x->i < y->i ? FILTER_LESS : FILTER_GREATER;
	return x->u < y->u ? FILTER_LESS : FILTER_GREATER;
}

static inline enum filter_outcome
filter_compare(const struct filter_value *x, const struct filter_value *y, unsigned int relation)
{
	unsigned int order = filter_order(x, y);

	if (!order ||
	    (x->type == FILTER_STRING && relation != FILTER_EQUAL && relation != FILTER_UNEQUAL))
		return FILTER_FAILS;
	return order & relation ? FILTER_HOLDS : FILTER_HOLDS_NOT;
}

static inline enum filter_outcome filter_truth(const struct filter_value *v)
{
	bool holds = v->type == FILTER_FLOAT ? filter_float_holds(v) : v->u != 0;

	if (v->type == FILTER_STRING || v->type == FILTER_NONE)
		return FILTER_FAILS;
	return holds ? FILTER_HOLDS : FILTER_HOLDS_NOT;
}

/*
 * Searches a literal by Knuth, Morris and Pratt. table[k] is the length of the prefix that still
 * matches when k + 1 bytes matched and the next one does not. The function rejects an entry that is
 * not smaller, so wrong entries cannot make it loop. Returns the number of bytes up to the end of
 * the first match, or 0.
 */
static inline size_t filter_find(const uint8_t *literal, size_t n, const uint8_t *table,
				 const uint8_t *s, size_t len)
{
	size_t have = 0, i = 0;

	while (i < len) {
		uint8_t c;

		if (!have) {
			const uint8_t *first = (const uint8_t *)memchr(s + i, literal[0], len - i);

			if (!first)
				return 0;
			i = (size_t)(first - s);
		}
		c = s[i];
		while (have && literal[have] != c) {
			size_t less = filter_load16(table + 2 * (have - 1), false);

			have = less < have ? less : 0;
		}
		if (literal[have] == c)
			have++;
		i++;
		if (have == n)
			return i;
	}
	return 0;
}

/* Matches the text and removes the matched part from it. */
static inline enum filter_outcome filter_match(const uint8_t *literal, size_t n, unsigned int how,
					       struct filter_value *v)
{
	const char *end = v->s + v->len;
	size_t found;

	if (how == FILTER_MATCH_FIND) {
		found = n ? filter_find(literal, n, literal + n, (const uint8_t *)v->s, v->len) : 0;
		if (n && !found)
			return FILTER_HOLDS_NOT;
		v->s += found;
		v->len -= found;
		return FILTER_HOLDS;
	}
	if (how == FILTER_MATCH_WHOLE ? n != v->len : n > v->len)
		return FILTER_HOLDS_NOT;
	if (n && memcmp(how == FILTER_MATCH_SUFFIX ? end - n : v->s, literal, n))
		return FILTER_HOLDS_NOT;
	v->len -= n;
	v->s += how == FILTER_MATCH_PREFIX ? n : 0;
	return FILTER_HOLDS;
}

#endif
