/* SPDX-License-Identifier: MIT */
/*
 * Products of 64-bit numbers, with all of their 128 bits, and what follows of them; for processors
 * of 32 bits, too, whose compilers have no such type. wide_… are the same numbers by halves.
 */
#ifndef TRACER_ABI_WIDE_H
#define TRACER_ABI_WIDE_H

#include <stdint.h>

struct wide { uint64_t high, low; };

static inline struct wide wide_product(uint64_t a, uint64_t b)
{
	uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & UINT32_MAX);

	return (struct wide){ a1 * b1 + (middle >> 32) + (other >> 32), a * b };
}

static inline struct wide wide_sum(struct wide a, struct wide b)
{
	uint64_t low = a.low + b.low;

	return (struct wide){ a.high + b.high + (low < a.low), low };
}

/* Of numbers without a sign. UINT64_MAX: the quotient has more bits, or by is 0. */
static inline uint64_t wide_quotient(struct wide n, uint64_t by)
{
	uint64_t rest = n.high, quotient = 0;

	if (n.high >= by)
		return UINT64_MAX;
	if (!n.high)
		return n.low / by;
	for (int bit = 63; bit >= 0; bit--) {
		uint64_t carry = rest >> 63;

		rest = rest << 1 | (n.low >> bit & 1);
		if (carry || rest >= by) {
			rest -= by;
			quotient |= UINT64_C(1) << bit;
		}
	}
	return quotient;
}

/* a * b / 2^32, modulo 2^64 */
static inline uint64_t multiply_shift(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	return (uint64_t)((unsigned __int128)a * b >> 32);
#else
	struct wide p = wide_product(a, b);

	return p.high << 32 | p.low >> 32;
#endif
}

/* a * b / by. UINT64_MAX: it has more bits, or by is 0. */
static inline uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t by)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 quotient = by ? (unsigned __int128)a * b / by : UINT64_MAX;

	return quotient > UINT64_MAX ? UINT64_MAX : (uint64_t)quotient;
#else
	return wide_quotient(wide_product(a, b), by);
#endif
}

#endif
