/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/import/ltt_tag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ltt_tag_fail(struct parser *x, const char *what)
{
	if (!x->ret)
		x->ret = tr_fail(x->err, -EINVAL, "%s: offset %zu: %s", x->path,
				 (size_t)(x->p - x->text), what);
	return false;
}

bool ltt_tag_fail_memory(struct parser *x)
{
	x->ret = tr_fail(x->err, -ENOMEM, "out of memory");
	return false;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == ':' || c == '.';
}

static void skip_blanks(struct parser *x)
{
	while (x->p < x->end && strchr(" \t\r\n", *x->p) && *x->p)
		x->p++;
}

/* Copies a word; what does not fit is cut. */
static void read_word(struct parser *x, char *out, size_t size)
{
	size_t n = 0;

	for (; x->p < x->end && is_word(*x->p); x->p++)
		if (n + 1 < size)
			out[n++] = *x->p;
	out[n] = 0;
}

/* The character of the reference `&NAME;` or `&#N;`, or the & itself. */
static char read_reference(struct parser *x)
{
	static const struct { const char *name; char c; } known[] = {
		{ "quot;", '"' }, { "amp;", '&' }, { "lt;", '<' }, { "gt;", '>' },
		{ "apos;", '\'' },
	};
	size_t rest = (size_t)(x->end - ++x->p);
	unsigned int c = 0;
	const char *p = x->p + 1;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].name);

		if (n <= rest && !memcmp(x->p, known[i].name, n)) {
			x->p += n;
			return known[i].c;
		}
	}
	if (!rest || *x->p != '#')
		return '&';
	for (; p < x->end && *p >= '0' && *p <= '9' && c < 256; p++)
		c = 10 * c + (unsigned int)(*p - '0');
	if (p == x->end || *p != ';' || !c || c > 255)
		return '&';
	x->p = p + 1;
	return (char)c;
}

static bool read_value(struct parser *x, char *out)
{
	char quote = x->p < x->end && (*x->p == '"' || *x->p == '\'') ? *x->p++ : 0;
	size_t n = 0;

	while (x->p < x->end && (quote ? *x->p != quote : !strchr(" \t\r\n/>", *x->p))) {
		char c = *x->p == '&' ? read_reference(x) : *x->p++;

		if (n + 1 < VALUE_MAX && c)
			out[n++] = c;
	}
	out[n] = 0;
	if (quote && x->p == x->end)
		return ltt_tag_fail(x, "expected the end of a value in quotes");
	x->p += quote != 0;
	return true;
}

/* Skips text, comments and declarations, up to a tag. False: the end. */
static bool find_tag(struct parser *x)
{
	while ((x->p = memchr(x->p, '<', (size_t)(x->end - x->p)))) {
		const char *end;

		if (x->end - x->p < 2 || (x->p[1] != '!' && x->p[1] != '?')) {
			x->p++;
			return true;
		}
		if (x->end - x->p >= 4 && !memcmp(x->p, "<!--", 4)) {
			end = memmem(x->p, (size_t)(x->end - x->p), "-->", 3);
			end = end ? end + 2 : NULL;
		} else {
			end = memchr(x->p, '>', (size_t)(x->end - x->p));
		}
		if (!end)
			return ltt_tag_fail(x, "expected the end of a comment or declaration");
		x->p = end + 1;
	}
	x->p = x->end;
	return false;
}

/* The next tag. False: the end, or a mistake. */
bool ltt_tag_read(struct parser *x, struct tag *t)
{
	t->count = 0;
	t->alone = false;
	if (x->ret || !find_tag(x))
		return false;
	t->close = x->p < x->end && *x->p == '/';
	x->p += t->close;
	read_word(x, t->name, sizeof(t->name));
	if (!*t->name)
		return ltt_tag_fail(x, "expected the name of a tag");
	for (;;) {
		struct attribute *a = &t->attributes[t->count];

		skip_blanks(x);
		if (x->p == x->end)
			return ltt_tag_fail(x, "expected '>'");
		if (*x->p == '/' || *x->p == '>') {
			t->alone |= *x->p == '/';
			if (*x->p++ == '>')
				return true;
			continue;
		}
		if (t->count == ATTRIBUTES_MAX)
			return ltt_tag_fail(x, "expected at most 12 attributes");
		read_word(x, a->name, sizeof(a->name));
		if (!*a->name)
			return ltt_tag_fail(x, "expected an attribute or '>'");
		skip_blanks(x);
		*a->value = 0;
		if (x->p < x->end && *x->p == '=') {
			x->p++;
			skip_blanks(x);
			if (!read_value(x, a->value))
				return false;
		}
		t->count++;
	}
}

const char *ltt_tag_attribute(const struct tag *t, const char *name)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (!strcmp(t->attributes[i].name, name))
			return t->attributes[i].value;
	return NULL;
}

bool ltt_tag_is(const struct tag *t, const char *name)
{
	return !t->close && !strcmp(t->name, name);
}

/* Skips what is in the tag, up to its end. */
bool ltt_tag_skip(struct parser *x, const struct tag *t)
{
	struct tag *inner = malloc(sizeof(*inner));
	unsigned int depth = 1;

	if (!inner)
		return ltt_tag_fail_memory(x);
	while (depth && !t->alone && ltt_tag_read(x, inner))
		if (!strcmp(inner->name, t->name))
			depth += inner->close ? -1u : !inner->alone;
	free(inner);
	if (depth && !t->alone)
		return ltt_tag_fail(x, "expected the end of a tag");
	return !x->ret;
}

/*
 * The next tag in the tag `outer`; descriptions are skipped. False: the end of `outer` was read, or
 * a mistake.
 */
bool ltt_tag_next(struct parser *x, const char *outer, struct tag *t)
{
	while (ltt_tag_read(x, t)) {
		if (t->close && !strcmp(t->name, outer))
			return false;
		if (t->close)
			return ltt_tag_fail(x, "found the end of another tag");
		if (strcmp(t->name, "description"))
			return true;
		if (!ltt_tag_skip(x, t))
			return false;
	}
	return ltt_tag_fail(x, "expected the end of a tag");
}
