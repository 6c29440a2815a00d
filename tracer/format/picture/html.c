/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/html.h"

#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"

#define ONES UINT64_C(0x0101010101010101)

/* How many bytes of the text are neither `<` nor part of a character that is not ASCII. */
static size_t safe_length(const char *p, size_t n)
{
	size_t i = 0;
	uint64_t word, sign;

	for (; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		sign = word ^ '<' * ONES;       /* a byte of 0 where there is a `<` */
		if ((word | ((sign - ONES) & ~sign)) & 0x80 * ONES)
			break;
	}
	while (i < n && p[i] != '<' && !(p[i] & 0x80))
		i++;
	return i;
}

static void put_escape(uint32_t unit, struct md_buf *out)
{
	static const char digits[] = "0123456789abcdef";
	const char text[] = { '\\', 'u', digits[unit >> 12 & 15], digits[unit >> 8 & 15],
			      digits[unit >> 4 & 15], digits[unit & 15] };

	md_buf_put(out, text, sizeof(text));
}

/* Puts the first character, whose bytes are valid UTF-8. Returns how many these are. */
static size_t put_escaped(const char *s, size_t n, struct md_buf *out)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t bytes = *p < 0x80 ? 1 : md_utf8_char(p, n);
	uint32_t c = bytes == 2 ? *p & 31 : bytes == 3 ? *p & 15 : *p & 7;

	if (bytes < 2) {
		put_escape(*p, out);
		return 1;
	}
	for (size_t i = 1; i < bytes; i++)
		c = c << 6 | (p[i] & 63);
	if (c >= 0x10000) {
		put_escape(0xd800 + ((c - 0x10000) >> 10), out);
		c = 0xdc00 + ((c - 0x10000) & 0x3ff);
	}
	put_escape(c, out);
	return bytes;
}

void html_make_safe(struct md_buf *out, size_t at, struct md_buf *scratch)
{
	const char *p;
	size_t n, safe;

	if (out->failed || out->len == at)
		return;
	safe = safe_length(out->data + at, out->len - at);
	if (at + safe == out->len)
		return;
	md_buf_reset(scratch);
	md_buf_put(scratch, out->data + at + safe, out->len - at - safe);
	out->len = at + safe;
	out->failed |= scratch->failed;
	for (p = md_buf_str(scratch), n = scratch->len; n; p += safe, n -= safe) {
		safe = put_escaped(p, n, out);
		p += safe;
		n -= safe;
		safe = safe_length(p, n);
		md_buf_put(out, p, safe);
	}
}

void html_put_text(struct md_buf *out, const char *s, size_t n, struct md_buf *scratch)
{
	size_t at = out->len;

	md_json_escape_put(s, n, out);
	html_make_safe(out, at, scratch);
}

const char *html_begin(struct md_buf *out, const char *page, const char *mark)
{
	const char *here = strstr(page, mark);

	md_buf_put(out, page, (size_t)(here - page));
	return here + strlen(mark);
}
