/* SPDX-License-Identifier: MIT */
/* Strings that need no escape in any form, fast: nearly all are such. */
#ifndef METADATA_PLAIN_H
#define METADATA_PLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MD_ONES UINT64_C(0x0101010101010101)

/*
 * Not 0 if one of 8 bytes is a control character (DEL too), `a`, `b` or not ASCII. Both are ASCII.
 */
static inline uint64_t md_find_special(uint64_t x, char a, char b)
{
	const uint64_t same_a = x ^ MD_ONES * (uint8_t)a, same_b = x ^ MD_ONES * (uint8_t)b;

	/*
	 * Without a byte from 0x80 on, the lowest byte that is too small is the first to borrow,
	 * and only DEL becomes 0x80.
	 */
	return (x | (x - MD_ONES * 0x20) | (x + MD_ONES) | (same_a - MD_ONES) |
		(same_b - MD_ONES)) & MD_ONES * 0x80;
}

/*
 * Copies n bytes to o, where there is room for them. False: one is a control character (DEL too),
 * `a`, `b` or not ASCII. Reads and writes n bytes, no more.
 */
static inline bool md_copy_if_plain(char *o, const char *s, size_t n, char a, char b)
{
	uint64_t special = 0, x;
	uint32_t low, high;

	if (n >= 8) {
		for (size_t i = 0; i < n - 8; i += 8) {
			memcpy(&x, s + i, 8);
			memcpy(o + i, &x, 8);
			special |= md_find_special(x, a, b);
		}
		memcpy(&x, s + n - 8, 8);
		memcpy(o + n - 8, &x, 8);
	} else if (n >= 4) {
		memcpy(&low, s, 4);
		memcpy(&high, s + n - 4, 4);
		memcpy(o, &low, 4);
		memcpy(o + n - 4, &high, 4);
		x = low | (uint64_t)high << 32;
	} else {
		x = MD_ONES * ' ';
		for (size_t i = 0; i < n; i++) {
			o[i] = s[i];
			x = x << 8 | (uint8_t)s[i];
		}
	}
	return !(special | md_find_special(x, a, b));
}

#endif
