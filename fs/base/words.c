/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "fs/base/words.h"

/* Length of the character at p, 0 if it is none. */
static size_t character(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char mask, lead;
		size_t len;
		unsigned long least;
	} forms[] = { { 0x80, 0, 1, 1 },
		      { 0xe0, 0xc0, 2, 0x80 },
		      { 0xf0, 0xe0, 3, 0x800 },
		      { 0xf8, 0xf0, 4, 0x10000 } };

	for (size_t f = 0; f < sizeof(forms) / sizeof(*forms); f++) {
		unsigned long c = *p & (unsigned char)~forms[f].mask;

		if ((*p & forms[f].mask) != forms[f].lead)
			continue;
		if (forms[f].len > n)
			return 0;
		for (size_t i = 1; i < forms[f].len; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (p[i] & 0x3f);
		}
		return c < forms[f].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)
			       ? 0
			       : forms[f].len;
	}
	return 0;
}

bool words_utf8(const char *s, size_t n, size_t *bad)
{
	for (size_t i = 0; i < n;) {
		size_t len = character((const unsigned char *)s + i, n - i);

		if (!len) {
			*bad = i;
			return false;
		}
		i += len;
	}
	return true;
}

/*
 * The character at s as words_clean prints it: its length in s, and whether it is printed as four
 * of \ooo.
 */
static size_t printed(const char *s, size_t n, bool *escaped)
{
	size_t len = character((const unsigned char *)s, n);
	unsigned char c = (unsigned char)*s, c2 = len == 2 ? (unsigned char)s[1] : 0;

	/* U+0080 to U+009f are control characters, too: a terminal may obey them. */
	*escaped = !len || c < 0x20 || c == 0x7f || (c == 0xc2 && c2 < 0xa0);
	return *escaped ? 1 : len;
}

void words_clean(struct md_buf *out, const char *s, size_t n)
{
	bool escaped;

	for (size_t i = 0, len; i < n; i += len) {
		len = printed(s + i, n - i, &escaped);
		if (escaped)
			md_buf_printf(out, "\\%03o", (unsigned char)s[i]);
		else
			md_buf_put(out, s + i, len);
	}
}

size_t words_width(const char *s, size_t n)
{
	size_t width = 0;
	bool escaped;

	for (size_t i = 0; i < n; width += escaped ? 4 : 1)
		i += printed(s + i, n - i, &escaped);
	return width;
}

/*
 * The escape after a backslash: its value and its number of characters; 0 if there is no such
 * escape.
 */
static int escape(const char *s, char *value)
{
	static const char letters[] = "abfnrtv\"\\'?", values[] = "\a\b\f\n\r\t\v\"\\'?";
	const char *l = *s ? strchr(letters, *s) : NULL;
	unsigned v = 0;
	int n = 0;

	if (l) {
		*value = values[l - letters];
		return 1;
	}
	if (*s == 'x') {
		for (n = 1; n < 3 && isxdigit((unsigned char)s[n]); n++)
			v = v * 16 + (unsigned)(isdigit((unsigned char)s[n])
							? s[n] - '0'
							: (s[n] | 0x20) - 'a' + 10);
		n = n > 1 ? n : 0;
	} else {
		while (n < 3 && s[n] >= '0' && s[n] <= '7')
			v = v * 8 + (unsigned)(s[n++] - '0');
	}
	*value = (char)v;
	return v && v < 256 ? n : 0;
}

/* Reads the word at p, in place; returns where it ends, NULL if it is no word. */
static char *word_end(char *p, char *word, struct tr_err *err)
{
	char *to = word, *line = p;

	if (*p != '"') {
		while (*p && !isspace((unsigned char)*p))
			*to++ = *p++;
		if (*p)
			p++;
		*to = 0;
		return p;
	}
	for (p++; *p && *p != '"' && *p != '\n';) {
		int n = 0;

		if (*p == '\\' && !(n = escape(p + 1, to))) {
			tr_fail(err, -EINVAL, "unknown escape in a quoted word");
			return NULL;
		}
		if (n) {
			p += n + 1;
			to++;
		} else {
			*to++ = *p++;
		}
	}
	if (*p != '"' || (p[1] && !isspace((unsigned char)p[1]))) {
		line[strcspn(line, "\n")] = 0;
		tr_fail(err, -EINVAL,
			*p != '"' ? "a quoted word has no end" : "something follows a quoted word");
		return NULL;
	}
	*to = 0;
	return p + 1;
}

static char *skip_blank(char *p, int *line)
{
	for (; isspace((unsigned char)*p); p++)
		if (*p == '\n')
			++*line;
	return p;
}

int words_value(char *text, char **word, int *line, struct tr_err *err)
{
	int at = 1, next;
	char *p = skip_blank(text, &at), *end;

	*line = at;
	*word = p;
	if (!*p)
		return tr_fail(err, -EINVAL, "a value is expected");
	next = at;
	end = word_end(p, p, err);
	if (!end)
		return -EINVAL;
	p = skip_blank(end, &next);
	if (*p) {
		p[strcspn(p, "\n")] = 0;
		return tr_fail_at(err, -EINVAL, p, 0,
				  "one value is expected: quote it if it has blanks");
	}
	return 0;
}

int words_name(const char *name, size_t max, struct tr_err *err)
{
	static const char inside[] = "_.:@+-";

	if (strlen(name) > max)
		return tr_fail(err, -ENAMETOOLONG,
			       "a name here has at most %zu bytes, this one has %zu", max,
			       strlen(name));
	for (size_t i = 0; name[i]; i++) {
		unsigned char c = (unsigned char)name[i];
		bool plain = c < 0x80 && (isalnum(c) || c == '_');

		if (!plain && (!i || !strchr(inside, c)))
			return tr_fail_at(err, -EINVAL, name, (int)i, i ?
					  "a name is made of letters, digits and _ . : @ + -" :
					  "a name begins with a letter, a digit or _");
	}
	return 0;
}

const char *words_step(const char *path, const char *prefix, struct md_buf *name)
{
	size_t skip = strlen(prefix);

	if (strncmp(path, prefix, skip))
		return NULL;
	md_buf_reset(name);
	md_buf_put(name, path + skip, strcspn(path + skip, "/"));
	return path + skip + name->len;
}
