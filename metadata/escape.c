/* SPDX-License-Identifier: MIT */
/* Strings as babeltrace2 shows them: see escape.h. */
#include <stdbool.h>
#include <string.h>

#include "metadata/escape.h"
#include "metadata/name.h"
#include "metadata/program.h"
#include "metadata/value.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The character after the backslash; 'x' for control bytes without a letter; 0: not escaped. */
const char md_escapes[256] = {
	[0x01] = 'x', [0x02] = 'x', [0x03] = 'x', [0x04] = 'x', [0x05] = 'x', [0x06] = 'x',
	[0x0e] = 'x', [0x0f] = 'x', [0x10] = 'x', [0x11] = 'x', [0x12] = 'x', [0x13] = 'x',
	[0x14] = 'x', [0x15] = 'x', [0x16] = 'x', [0x17] = 'x', [0x18] = 'x', [0x19] = 'x',
	[0x1a] = 'x', [0x1c] = 'x', [0x1d] = 'x', [0x1e] = 'x', [0x1f] = 'x', [0x7f] = 'x',
	['\a'] = 'a', ['\b'] = 'b', [0x1b] = 'e', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
	['\t'] = 't', ['\v'] = 'v',
	['\\'] = '\\', ['\''] = '\'', ['"'] = '"', ['?'] = '?',
};

static inline char *put_byte(char *o, uint8_t c)
{
	char e = md_escapes[c];

	if (!e) {
		*o++ = (char)c;
		return o;
	}
	*o++ = '\\';
	*o++ = e;
	if (e == 'x') {
		*o++ = "0123456789abcdef"[c >> 4];
		*o++ = "0123456789abcdef"[c & 15];
	}
	return o;
}

/*
 * Another process may change the bytes meanwhile. So the loop concludes nothing from a byte that it
 * reads again: each turn ends at `end` at the latest, and writes at most four characters per byte.
 */
char *md_escape_long(char *o, const uint8_t *p, const uint8_t *end, const uint8_t *limit,
		     const uint8_t **stop)
{
	*o++ = '"';
	while (p < end) {
		uint8_t c;

		if (limit - p >= MD_PIECE) {
			unsigned int n = md_copy_plain(o, p);

			if (n >= (size_t)(end - p)) {
				o += end - p;
				p = end;
				break;
			}
			p += n;
			o += n;
			if (n == MD_PIECE)
				continue;
		}
		c = *p;
		if (!c)
			break;
		o = put_byte(o, c);
		p++;
	}
	*stop = p;
	*o++ = '"';
	return o;
}

/* Piece by piece, as md_escape_long. */
size_t md_escape_length_long(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			     const uint8_t **stop)
{
	size_t length = 2;      /* the quotes */
	char unused[MD_PIECE];

	while (p < end) {
		unsigned int n = 0;

		if (limit - p >= MD_PIECE)
			n = md_copy_plain(unused, p);
		if (n > (size_t)(end - p))
			n = (unsigned int)(end - p);
		p += n;
		length += n;
		if (n == MD_PIECE || p == end)
			continue;
		if (!*p)
			break;
		length += (size_t)(put_byte(unused, *p++) - unused);
	}
	*stop = p;
	return length;
}

void md_escape_put(const char *s, size_t n, struct md_buf *out)
{
	const uint8_t *p = (const uint8_t *)s, *stop;
	char *o = md_buf_room(out, 4 * n + 2 + MD_TEXT_SLACK);

	if (o)
		out->len += (size_t)(md_escape(o, p, p + n, p + n, &stop) - o);
}

/* ---- without escapes ---- */

/* How many of the first bytes are ASCII; copies 16 at a time. */
static size_t copy_ascii(char *o, const uint8_t *p, size_t n)
{
	size_t i = 0;

#ifdef __SSE2__
	for (; n - i >= 16; i += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));

		if (_mm_movemask_epi8(x))
			break;
		_mm_storeu_si128((__m128i *)(void *)(o + i), x);
	}
#endif
	for (; i < n && p[i] < 0x80; i++)
		o[i] = (char)p[i];
	return i;
}

void md_value_put_text(const char *s, size_t n, struct md_buf *out)
{
	const uint8_t *p = (const uint8_t *)s, *end = p + strnlen(s, n);
	char *o = md_buf_room(out, 3 * (size_t)(end - p));      /* U+FFFD has three bytes */

	while (o && p < end) {
		size_t len = copy_ascii(o, p, (size_t)(end - p));

		p += len;
		o += len;
		if (p == end)
			break;
		/* md_utf8_char does not accept C1, which only a terminal takes for commands. */
		if (end - p > 1 && *p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			len = 2;
		else
			len = md_utf8_char(p, (size_t)(end - p));
		memcpy(o, len ? (const char *)p : "\xef\xbf\xbd", len ? len : 3);
		o += len ? len : 3;
		p += len ? len : 1;
	}
	if (o)
		out->len = (size_t)(o - out->data);
}
