/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/err.h"

/*
 * Replaces bytes that a terminal obeys: other users may have written them, and `error` is read on a
 * terminal. Each such byte becomes one '?', so that the caret stays under its place.
 */
static void replace_controls(char *s)
{
	unsigned char *p = (unsigned char *)s;
	size_t left = strlen(s), n;

	while (left) {
		n = md_utf8_char(p, left);
		/* C0, DEL, and C1 in its UTF-8 form */
		if (!n || *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0)) {
			n = n ? n : 1;
			memset(p, '?', n);
		}
		p += n;
		left -= n;
	}
}

static void set_sentence(struct tr_err *err, const char *fmt, va_list ap)
{
	vsnprintf(err->sentence, sizeof(err->sentence), fmt, ap);
	replace_controls(err->sentence);
	err->text[0] = '\0';
	err->column = -1;
}

/* Copies the line at `text`; of a long line the part around the column. */
static void quote_line(struct tr_err *err, const char *text, int column)
{
	size_t len = strcspn(text, "\n"), room = sizeof(err->text) - 1, skip = 0;

	if (column < 0 || (size_t)column > len)
		column = -1;
	if (column >= 0 && len > room && (size_t)column > room / 2) {
		skip = (size_t)column - room / 2;
		if (len - skip < room)
			skip = len - room;
	}
	if (len - skip < room)
		room = len - skip;
	memcpy(err->text, text + skip, room);
	err->text[room] = '\0';
	replace_controls(err->text);
	err->column = column < 0 ? -1 : column - (int)skip;
}

int tr_fail(struct tr_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	set_sentence(err, fmt, ap);
	va_end(ap);
	return code;
}

int tr_fail_at(struct tr_err *err, int code, const char *text, int column, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	set_sentence(err, fmt, ap);
	va_end(ap);
	quote_line(err, text, column);
	return code;
}
