/* SPDX-License-Identifier: MIT */
/*
 * Strings in the form of babeltrace2: in quotes, with escapes for both kinds of quotes, backslash,
 * question mark and control bytes; all other bytes unchanged, valid UTF-8 or not. Private to
 * metadata/.
 */
#ifndef METADATA_ESCAPE_H
#define METADATA_ESCAPE_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "metadata/buf.h"

/* The character after the backslash; 'x' for control bytes without a letter; 0: not escaped. */
extern const char md_escapes[256];

#ifdef __SSE2__
enum { MD_PIECE = 16 };

/* Copies a piece; returns the number of bytes before the first one that is escaped or NUL. */
static inline unsigned int md_copy_plain(char *o, const uint8_t *p)
{
	const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i special = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);

	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8('\'')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8('?')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f)));
	_mm_storeu_si128((__m128i *)(void *)o, x);
	return (unsigned int)__builtin_ctz((unsigned int)_mm_movemask_epi8(special) | 0x10000);
}
#else
enum { MD_PIECE = 8 };

static inline unsigned int md_copy_plain(char *o, const uint8_t *p)
{
	unsigned int i;

	for (i = 0; i < MD_PIECE; i++) {
		uint8_t c = p[i];

		if (!c || md_escapes[c])
			break;
		o[i] = (char)c;
	}
	return i;
}
#endif

char *md_escape_long(char *o, const uint8_t *p, const uint8_t *end, const uint8_t *limit,
		     const uint8_t **stop);

/*
 * Writes the string at p, which ends at its NUL or at `end`; returns the place after the closing
 * quote. *stop: where the string ended. May read up to `limit` (>= end). Needs room for 4
 * characters per byte, and MD_TEXT_SLACK.
 */
static inline char *md_escape(char *o, const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			      const uint8_t **stop)
{
	unsigned int n;

	/* Most strings are short and have no escapes: one piece or two, no call. */
	if (limit - p >= 2 * MD_PIECE) {
		n = md_copy_plain(o + 1, p);
		if (n == MD_PIECE)
			n += md_copy_plain(o + 1 + MD_PIECE, p + MD_PIECE);
		if (n < 2 * MD_PIECE && n < (size_t)(end - p) && !p[n]) {
			*o = '"';
			o[n + 1] = '"';
			*stop = p + n;
			return o + n + 2;
		}
	}
	return md_escape_long(o, p, end, limit, stop);
}

size_t md_escape_length_long(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			     const uint8_t **stop);

/* How many characters md_escape writes, and its *stop. */
static inline size_t md_escape_length(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
				      const uint8_t **stop)
{
	char unused[MD_PIECE];
	unsigned int n;

	if (limit - p >= 2 * MD_PIECE) {
		n = md_copy_plain(unused, p);
		if (n == MD_PIECE)
			n += md_copy_plain(unused, p + MD_PIECE);
		if (n < 2 * MD_PIECE && n < (size_t)(end - p) && !p[n]) {
			*stop = p + n;
			return n + 2;
		}
	}
	return md_escape_length_long(p, end, limit, stop);
}

void md_escape_put(const char *s, size_t n, struct md_buf *out);

#endif
