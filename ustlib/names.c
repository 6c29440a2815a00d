// SPDX-License-Identifier: MIT
/*
 * Names out of the spelled arguments of TRAIL(): the preprocessor gives one string, `request, id, req->path, TRAIL_FIELD(ms, …)`.
 * Only fields without a name of their own ask here.
 */
#include <string.h>

#include "ustlib/lib.h"

static bool word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of the element that begins at s: a comma outside brackets and quotes, or the end of the string. */
static const char *element_end(const char *s)
{
	int depth = 0;
	char quote = 0;

	for (; *s; s++) {
		if (quote) {
			if (*s == '\\' && s[1])
				s++;
			else if (*s == quote)
				quote = 0;
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else if (*s == '(' || *s == '[' || *s == '{') {
			depth++;
		} else if (*s == ')' || *s == ']' || *s == '}') {
			depth--;
		} else if (*s == ',' && depth == 0) {
			break;
		}
	}
	return s;
}

/*
 * The last word that is in no brackets: of `req->id` it is id, of `a[i].b` b, of `size(v)` size, of `(int)n` n. If all are in
 * brackets, the last one.
 */
static void last_word(const char *s, const char *end, const char **from, const char **to)
{
	int depth = 0;

	*from = *to = end;
	for (const char *p = s; p < end; p++) {
		depth += *p == '(' || *p == '[' || *p == '{';
		depth -= *p == ')' || *p == ']' || *p == '}';
		if (depth == 0 && word(*p)) {
			if (p == s || !word(p[-1]))
				*from = p;
			*to = p + 1;
		}
	}
	if (*from < *to)
		return;
	for (*to = end; *to > s && !word((*to)[-1]); --*to)
		;
	for (*from = *to; *from > s && word((*from)[-1]); --*from)
		;
}

size_t spelled_name(const char *args, unsigned int i, char *out, size_t size)
{
	const char *s = args, *end = element_end(s), *from, *to;
	size_t n = 0;

	while (i-- && *end) {
		s = end + 1;
		end = element_end(s);
	}
	last_word(s, end, &from, &to);
	for (; from < to && n + 1 < size; from++)
		out[n++] = *from;
	if (!n && size > 1)
		out[n++] = '_';
	out[n] = 0;
	return n;
}
