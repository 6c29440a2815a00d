/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of a format file in tracefs, which is not trusted. A span is a piece of its text without a
 * NUL at its end.
 */
#ifndef TRACER_PROBE_FORMAT_LINE_H
#define TRACER_PROBE_FORMAT_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *p, *end;
};

struct format_line {            /* of a field */
	struct span declaration;        /* `TYPE NAME` or `TYPE NAME[N]` */
	struct span rest;               /* what follows it, from `;` on */
	struct span type;               /* without [N] */
	struct span name;
	struct span index;              /* the text between the brackets after the name */
	bool indexed;
	uint64_t offset, size;
	bool is_signed;
	bool is_bits;                   /* a bit-field */
};

/* A string. */
#define SPAN(s) ((struct span){ (s), (s) + strlen(s) })

static inline size_t span_length(struct span s)
{
	return (size_t)(s.end - s.p);
}

static inline bool span_is(struct span s, const char *word)
{
	return span_length(s) == strlen(word) && !memcmp(s.p, word, span_length(s));
}

/* Steps over the word if s begins with it. */
static inline bool span_skip(struct span *s, const char *word)
{
	size_t n = strlen(word);

	if (span_length(*s) < n || memcmp(s->p, word, n))
		return false;
	s->p += n;
	return true;
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static inline void span_trim(struct span *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
	while (s->p < s->end && is_blank(s->end[-1]))
		s->end--;
}

/* Moves the part before the next c to piece and skips c; false: there is no c. */
static inline bool span_cut(struct span *from, char c, struct span *piece)
{
	const char *at = memchr(from->p, c, span_length(*from));

	if (!at)
		return false;
	*piece = (struct span){ from->p, at };
	from->p = at + 1;
	span_trim(piece);
	return true;
}

static inline bool span_number(struct span s, uint64_t *n)
{
	span_trim(&s);
	if (s.p == s.end || span_length(s) > 9)
		return false;
	for (*n = 0; s.p < s.end; s.p++) {
		if (*s.p < '0' || *s.p > '9')
			return false;
		*n = *n * 10 + (uint64_t)(*s.p - '0');
	}
	return true;
}

static inline char *span_copy(struct span s)
{
	return strndup(s.p, span_length(s));
}

/* 1; 0: the line declares no field; -EINVAL: it cannot be parsed. */
int format_line_parse(struct span line, struct format_line *l);
/* Whether the print format, of which `print` is a part, shows the field as bytes, not as text. */
bool format_prints_bytes(struct span print, struct span name);

#endif
