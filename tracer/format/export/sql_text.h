/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and texts as MariaDB, MySQL and SQLite read them. */
#ifndef TRACER_EXPORT_SQL_TEXT_H
#define TRACER_EXPORT_SQL_TEXT_H

#include <stdbool.h>
#include <string.h>

#include "metadata/buf.h"

static inline void put_quoted_name(struct md_buf *out, const char *name)
{
	md_buf_putc(out, '`');
	for (; *name; name++) {
		if (*name == '`')
			md_buf_putc(out, '`');
		md_buf_putc(out, *name);
	}
	md_buf_putc(out, '`');
}

static inline bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f || s[i] == '\\')
			return false;
	return true;
}

static inline void put_text(struct md_buf *out, const char *s, size_t n)
{
	static const char digits[] = "0123456789ABCDEF";
	bool plain = is_plain(s, n);

	if (plain && !(n && memchr(s, '\'', n))) {
		md_buf_putc(out, '\'');
		md_buf_put(out, s, n);
		md_buf_putc(out, '\'');
		return;
	}
	md_buf_puts(out, plain ? "'" : "CAST(X'");
	for (size_t i = 0; i < n; i++) {
		if (!plain)
			md_buf_putc(out, digits[(unsigned char)s[i] >> 4]);
		else if (s[i] == '\'')
			md_buf_putc(out, '\'');
		md_buf_putc(out, plain ? s[i] : digits[s[i] & 15]);
	}
	md_buf_puts(out, plain ? "'" : "' AS CHAR)");
}

#endif
