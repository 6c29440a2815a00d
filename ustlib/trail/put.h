/* SPDX-License-Identifier: MIT */
/*
 * put.h - how values get into the payload of an event. Included by trail.h; nothing here is for use
 * in programs.
 */
/* Before the guard: trail.h includes this file where its macros and types are known. */
#include <trail/trail.h>

#ifndef TRAIL_PUT_H
#define TRAIL_PUT_H

#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

/* A length of `size` bytes: the lowest ones of the number. */
static __inline__ __attribute__((always_inline, unused)) void
trail__put_length(unsigned char *at, unsigned long long length, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy(at, (const unsigned char *)&length + sizeof(length) - size, size);
#else
	memcpy(at, &length, size);
#endif
}

static __inline__ __attribute__((always_inline)) unsigned char *
trail__put(unsigned char *at, unsigned char *end, const struct trail__piece *p, int *big)
{
	size_t size = TRAIL__SIZE(p->code), n;
	unsigned char *next;

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__INT:
	case TRAIL__FLOAT:
		memcpy(at, p->data, size);
		return at + size;
	case TRAIL__STRING:
		next = p->code & TRAIL__TEXT << 16
			       ? trail__put_text(at, end, *(const char *const *)p->data, p->count)
			       : trail__put_string(at, end, *(const char *const *)p->data);
		if (!next)
			*big = 1;
		return next ? next : at;
	default:
		n = TRAIL__KIND(p->code) == TRAIL__SEQUENCE_OF ? 4 : 0;
		if (at > end || p->count * size + n > (size_t)(end - at) || *big) {
			*big = 1;
			return at;
		}
		if (n)
			memcpy(at, &p->count, 4);
		if (!p->count)
			return at + n;
		/* gcc warns if it knows that a vector is empty, as that has no address. */
		if (!p->data)
			__builtin_unreachable();
		memcpy(at + n, p->data, p->count * size);
		return at + n + p->count * size;
	}
}

#ifdef __cplusplus
}
#endif

#endif
