/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text, fast. Each function writes at o, where the caller has made room, and returns the
 * place after the text.
 */
#ifndef METADATA_NUMBER_H
#define METADATA_NUMBER_H

#include <stdint.h>
#include <string.h>

#include "metadata/model.h"

/* A number of 1 to 8 bytes, in that byte order */
static inline uint64_t md_load(const uint8_t *p, unsigned int size, int big_endian)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	if (big_endian)
		return v >> (64 - 8 * size);
	return __builtin_bswap64(v);
#else
	return big_endian ? __builtin_bswap64(v) >> (64 - 8 * size) : v;
#endif
}

/* Where the lowest bytes begin in an integer of the host: `size` of `whole`. */
static inline uint32_t md_low_bytes(uint32_t whole, uint32_t size)
{
	return MD_HOST_IS_BIG ? whole - size : 0;
}

/* Of a trace, in the host's byte order: see model.h. */
static inline uint16_t md_load16(const uint8_t *p)
{
	return (uint16_t)md_load(p, 2, MD_HOST_IS_BIG);
}

static inline uint32_t md_load32(const uint8_t *p)
{
	return (uint32_t)md_load(p, 4, MD_HOST_IS_BIG);
}

static inline uint64_t md_load64(const uint8_t *p)
{
	return md_load(p, 8, MD_HOST_IS_BIG);
}

/* A field, or with big_endian 0 a length. */
static inline uint64_t md_load_field(const uint8_t *p, unsigned int size, int big_endian)
{
	return md_load(p, size, MD_HOST_IS_BIG || big_endian);
}

/* A field of 4 or 8 bytes. A NaN keeps its sign, which RISC-V drops when it converts a float. */
static inline double md_load_float(const uint8_t *p, unsigned int size, int big_endian)
{
	uint64_t bits = md_load_field(p, size, big_endian);
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (size == 4) {
		memcpy(&f, &low, sizeof(f));
		d = (double)f;
		return __builtin_expect(d != d, 0) ? __builtin_copysign(d, low >> 31 ? -1 : 1) : d;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}

/*
 * A bit field: md_type.bits and shift; p is the first byte that begins with or after it. Its sign
 * is extended if it is signed.
 */
static inline uint64_t md_load_bits(const uint8_t *p, unsigned int shift, unsigned int bits,
				    bool is_signed)
{
	unsigned int size = (shift + bits + 7) / 8, unused = 64 - bits;
	uint64_t v = md_load(p - (shift != 0), size, MD_HOST_IS_BIG);

	v >>= MD_HOST_IS_BIG ? 8 * size - shift - bits : shift;
	v <<= unused;
	return is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

/* The bytes of an integer type that has all values: 1, 2, 4 or 8. */
static inline unsigned int md_int_size(const struct md_type *t)
{
	if (!t->bits)
		return t->size;
	return t->bits <= 8 ? 1 : t->bits <= 16 ? 2 : t->bits <= 32 ? 4 : 8;
}

extern const char md_digit_pairs[201];

static inline char *md_put2(char *o, uint32_t v)
{
	memcpy(o, md_digit_pairs + 2 * v, 2);
	return o + 2;
}

static inline char *md_put4(char *o, uint32_t v)
{
	return md_put2(md_put2(o, v / 100), v % 100);
}

/*
 * Eight digits, leading zeros included, v < 10^8. Divides in parallel: 2 lanes of 4 digits, 4 lanes
 * of 2, 8 of 1; each multiplication is exact for the values of its lanes (x * 10486 >> 20 = x / 100
 * below 10^4, x * 103 >> 10 = x / 10 below 100).
 */
static inline char *md_put8(char *o, uint32_t v)
{
	uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t q = (x * 10486 >> 20) & 0x7f0000007f;

	x = q | (x - 100 * q) << 16;
	q = (x * 103 >> 10) & 0x000f000f000f000f;
	x = q | (x - 10 * q) << 8;
	x |= 0x3030303030303030;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	memcpy(o, &x, 8);
	return o + 8;
}

/* Nine digits, v < 10^9: nanoseconds. */
static inline char *md_put9(char *o, uint32_t v)
{
	*o = (char)('0' + v / 100000000);
	return md_put8(o + 1, v % 100000000);
}

/* No leading zeros, v < 10^4. */
static inline char *md_put_small(char *o, uint32_t v)
{
	if (v < 10) {
		*o = (char)('0' + v);
		return o + 1;
	}
	if (v < 100)
		return md_put2(o, v);
	if (v < 1000) {
		*o = (char)('0' + v / 100);
		return md_put2(o + 1, v % 100);
	}
	return md_put4(o, v);
}

static inline char *md_put_u32(char *o, uint32_t v)
{
	if (v < 10000)
		return md_put_small(o, v);
	if (v < 100000000)
		return md_put4(md_put_small(o, v / 10000), v % 10000);
	return md_put8(md_put_small(o, v / 100000000), v % 100000000);
}

char *md_put_u64_long(char *o, uint64_t v);

static inline char *md_put_u64(char *o, uint64_t v)
{
	return v <= UINT32_MAX ? md_put_u32(o, (uint32_t)v) : md_put_u64_long(o, v);
}

static inline char *md_put_s32(char *o, int32_t v)
{
	uint32_t u = (uint32_t)v;

	if (v < 0) {
		*o++ = '-';
		u = 0 - u;
	}
	return md_put_u32(o, u);
}

static inline char *md_put_s64(char *o, int64_t v)
{
	uint64_t u = (uint64_t)v;

	if (v < 0) {
		*o++ = '-';
		u = 0 - u;
	}
	return md_put_u64(o, u);
}

/*
 * An integer of `bits` bits in the form of babeltrace2: base 2 (0b, all bits), 8 (0), 10 or 16
 * (0x, upper case). v is extended to 64 bits, with its sign if it is signed.
 */
char *md_put_int(char *o, uint64_t v, unsigned int bits, unsigned int base, int is_signed);

/* `12:44:11`: 8 characters, of a time since the epoch, local (TZ, tzset(3)); 00:00:00 if none. */
char *md_put_time_of_day(char *o, int64_t second);

/* In the form of printf's %g. Needs room for 32 characters. */
char *md_put_double(char *o, double v);

#endif
