// SPDX-License-Identifier: MIT
/*
 * The fields of an event, with those that are in structures (TRAIL_MEMBERS of trail/cxx.h), and
 * names of fields that have none of their own: the preprocessor gives the arguments of TRAIL() as
 * one string, `request, id, req->path, TRAIL_FIELD(ms, …)`.
 */
#include <string.h>

#include "ustlib/lib.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/*
 * The end of the element that begins at s: a comma outside brackets and quotes, or the end of the
 * string.
 */
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
 * The last word that is in no brackets: of `req->id` it is id, of `a[i].b` b, of `size(v)` size, of
 * `(int)n` n. If all are in brackets, the last one.
 */
static void last_word(const char *s, const char *end, const char **from, const char **to)
{
	int depth = 0;

	*from = *to = end;
	for (const char *p = s; p < end; p++) {
		depth += *p == '(' || *p == '[' || *p == '{';
		depth -= *p == ')' || *p == ']' || *p == '}';
		if (depth == 0 && is_word(*p)) {
			if (p == s || !is_word(p[-1]))
				*from = p;
			*to = p + 1;
		}
	}
	if (*from < *to)
		return;
	for (*to = end; *to > s && !is_word((*to)[-1]); --*to)
		;
	for (*from = *to; *from > s && is_word((*from)[-1]); --*from)
		;
}

bool spelled_alone(const char *args)
{
	return !args[strcspn(args, ",()[]{}\"' \t\n")];
}

size_t spelled_name(const char *args, unsigned int i, char *out, size_t size)
{
	const char *s = args, *end = element_end(s), *from, *to;
	bool whole = i == 0 && spelled_alone(args);
	size_t n = 0;

	while (i-- && *end) {
		s = end + 1;
		end = element_end(s);
	}
	last_word(s, end, &from, &to);
	if (whole) {
		from = s;
		to = end;
	}
	for (; from < to && n + 1 < size; from++)
		out[n++] = *from;
	if (!n && size > 1)
		out[n++] = '_';
	out[n] = 0;
	return n;
}

#define DEPTH_MAX 8             /* structures in structures; the daemon takes no more */

/* Members of a structure or options of a variant */
static bool has_members(const struct trail__field *f)
{
	return (TRAIL__KIND(f->code) == TRAIL__STRUCT || TRAIL__KIND(f->code) == TRAIL__VARIANT) &&
	       f->values;
}

static uint32_t each_member(const struct trail__enum *values, unsigned int depth, field_fn *fn,
			    void *arg)
{
	const struct trail__struct *s =
		(const struct trail__struct *)((const char *)values -
					       offsetof(struct trail__struct, head));
	uint32_t n = 0;

	for (unsigned int i = 0; i < s->head.count; i++) {
		const struct trail__field *f = &s->fields[i];

		if (fn)
			fn(arg, f, f->name ? f->name : "_");
		n++;
		if (has_members(f) && depth < DEPTH_MAX)
			n += each_member(f->values, depth + 1, fn, arg);
	}
	return n;
}

uint32_t each_field(const struct trail__event *e, bool named, field_fn *fn, void *arg)
{
	char spelled[TRAIL_NAME_MAX + 1];
	uint32_t n = 0;

	for (unsigned int i = 0; i < e->field_count; i++) {
		const struct trail__field *f = &e->fields[i];
		const char *name = f->name;

		if (fn && !name && named) {
			spelled_name(e->args, i + 1, spelled, sizeof(spelled));
			name = spelled;
		}
		if (fn)
			fn(arg, f, name);
		n++;
		if (has_members(f))
			n += each_member(f->values, 1, fn, arg);
	}
	return n;
}
