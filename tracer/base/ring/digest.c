/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/ring/digest.h"

#include <string.h>

/* 2^32 times the sines of 1 to 64, as MD5 has them */
static const uint32_t sines[64] = {
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
	0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
	0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
	0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
	0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
	0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
	0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
	0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
	0xeb86d391
};

static uint32_t rotate(uint32_t v, unsigned int n)
{
	return v << n | v >> (32 - n);
}

static uint32_t load(const uint8_t *p, bool big)
{
	return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
		   : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void add_md5(uint32_t *state, const uint8_t *block)
{
	static const uint8_t turns[4][4] = { { 7, 12, 17, 22 }, { 5, 9, 14, 20 },
					     { 4, 11, 16, 23 }, { 6, 10, 15, 21 } };
	static const uint8_t first[4] = { 0, 1, 5, 0 }, step[4] = { 1, 5, 3, 7 };
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

	for (unsigned int i = 0; i < 64; i++) {
		unsigned int round = i / 16, word = (first[round] + step[round] * i) & 15;
		uint32_t f = round == 0	  ? (b & c) | (~b & d)
			     : round == 1 ? (d & b) | (~d & c)
			     : round == 2 ? b ^ c ^ d
					  : c ^ (b | ~d);

		f += a + sines[i] + load(block + 4 * word, false);
		a = d;
		d = c;
		c = b;
		b += rotate(f, turns[round][i & 3]);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

static void add_sha1(uint32_t *state, const uint8_t *block)
{
	static const uint32_t constants[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], w[80];

	for (unsigned int i = 0; i < 16; i++)
		w[i] = load(block + 4 * i, true);
	for (unsigned int i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned int i = 0; i < 80; i++) {
		uint32_t f = i < 20 ? (b & c) | (~b & d)
			     : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
						 : b ^ c ^ d;

		f += rotate(a, 5) + e + constants[i / 20] + w[i];
		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = f;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void digest_begin(struct digest *d, bool sha1)
{
	*d = (struct digest){ .sha1 = sha1, .state = { 0x67452301, 0xefcdab89, 0x98badcfe,
						       0x10325476, 0xc3d2e1f0 } };
}

void digest_add(struct digest *d, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n) {
		size_t used = d->bytes % sizeof(d->block), part = sizeof(d->block) - used;

		if (part > n)
			part = n;
		memcpy(d->block + used, p, part);
		d->bytes += part;
		p += part;
		n -= part;
		if (used + part < sizeof(d->block))
			return;
		if (d->sha1)
			add_sha1(d->state, d->block);
		else
			add_md5(d->state, d->block);
	}
}

size_t digest_end(struct digest *d, uint8_t out[DIGEST_MAX])
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t bits = 8 * d->bytes;
	size_t used = d->bytes % 64, n = d->sha1 ? 20 : 16;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> 8 * (d->sha1 ? 7 - i : i));
	digest_add(d, padding, used < 56 ? 56 - used : 120 - used);
	digest_add(d, length, sizeof(length));
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(d->state[i / 4] >> 8 * (d->sha1 ? 3 - i % 4 : i % 4));
	return n;
}
