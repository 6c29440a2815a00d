/* SPDX-License-Identifier: MIT */
/* A growable byte buffer: see buf.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "metadata/name.h"

enum { FIRST_SIZE = 256 };

void md_buf_deinit(struct md_buf *b)
{
	free(b->data);
	*b = (struct md_buf)MD_BUF_INIT;
}

void md_buf_reset(struct md_buf *b)
{
	b->len = 0;
	b->failed = false;
}

char *md_buf_grow(struct md_buf *b, size_t n)
{
	size_t need, size;
	char *data;

	if (b->failed)
		return NULL;
	if (__builtin_add_overflow(b->len, n, &need) || need > SIZE_MAX / 4)
		goto fail;
	/* Doubling keeps many small puts linear. */
	for (size = b->size ? b->size : FIRST_SIZE; size < need; )
		size *= 2;
	data = realloc(b->data, size);
	if (!data)
		goto fail;
	b->data = data;
	b->size = size;
	return b->data + b->len;
fail:
	b->failed = true;
	return NULL;
}

static void md_buf_vprintf(struct md_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *p = md_buf_room(b, 1);
	size_t room;
	int n;

	if (!p)
		return;
	va_copy(again, ap);
	room = b->size - b->len;
	n = vsnprintf(p, room, fmt, ap);
	if (n >= 0 && (size_t)n >= room) {
		p = md_buf_room(b, (size_t)n + 1);
		if (p)
			n = vsnprintf(p, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	if (n < 0)
		b->failed = true;
	else if (p)
		b->len += (size_t)n;
}

void md_buf_printf(struct md_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	md_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

static char letter(unsigned char c)
{
	switch (c) {
	case '\a': return 'a';
	case '\b': return 'b';
	case '\f': return 'f';
	case '\n': return 'n';
	case '\r': return 'r';
	case '\t': return 't';
	case '\v': return 'v';
	case '"': case '\\': return (char)c;
	default: return 0;
	}
}

/*
 * Three octal digits, not hexadecimal: a hexadecimal escape would include hexadecimal digits that
 * follow it (in C and in TSDL).
 */
void md_buf_escape(struct md_buf *b, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n;

	while (p < end) {
		size_t run = md_utf8_char(p, (size_t)(end - p));
		char l = letter(*p);

		if (l) {
			char esc[2] = { '\\', l };

			md_buf_put(b, esc, 2);
			p++;
		} else if (!run || *p < 0x20 || *p == 0x7f) {
			char esc[4] = { '\\', (char)('0' + (*p >> 6)), (char)('0' + (*p >> 3 & 7)),
					(char)('0' + (*p & 7)) };

			md_buf_put(b, esc, 4);
			p++;
		} else {
			md_buf_put(b, p, run);
			p += run;
		}
	}
}

const char *md_buf_str(struct md_buf *b)
{
	char *p = md_buf_room(b, 1);

	if (!p)
		return "";
	*p = '\0';
	return b->data;
}
