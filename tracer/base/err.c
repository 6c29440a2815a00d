/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a mistake is explained: see err.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/err.h"

/*
 * Sentence and text end up on somebody's terminal and hold what strangers wrote. Each bad byte becomes one '?', so that
 * the caret stays under its place.
 */
static void clean(char *s)
{
	unsigned char *p = (unsigned char *)s;
	size_t left = strlen(s), n;

	while (left) {
		n = md_utf8_char(p, left);
		/* C0, DEL, and C1 in its UTF-8 form: terminals obey those too. */
		if (!n || *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0)) {
			n = n ? n : 1;
			memset(p, '?', n);
		}
		p += n;
		left -= n;
	}
}

static void explain(struct tr_err *err, const char *fmt, va_list ap)
{
	vsnprintf(err->sentence, sizeof(err->sentence), fmt, ap);
	clean(err->sentence);
	err->text[0] = '\0';
	err->column = -1;
}

/* Copies the line at text; of a long one the piece around the column. */
static void quote(struct tr_err *err, const char *text, int column)
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
	clean(err->text);
	err->column = column < 0 ? -1 : column - (int)skip;
}

int tr_fail(struct tr_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	explain(err, fmt, ap);
	va_end(ap);
	return code;
}

int tr_fail_at(struct tr_err *err, int code, const char *text, int column, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	explain(err, fmt, ap);
	va_end(ap);
	quote(err, text, column);
	return code;
}
