/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels of values in the print formats of kernel events: see kevent/kevent.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/lttng_names.h"

struct label_scan {
	const char *p, *end;
};

static void skip_blanks(struct label_scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

static bool skip_char(struct label_scan *s, char c)
{
	skip_blanks(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static int digit_value(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : 99;
}

/* Parses 12, 0x0c, -3, 8UL. */
static bool parse_literal(struct label_scan *s, int64_t *n)
{
	bool negative = skip_char(s, '-');
	int base = 10, digits = 0;
	uint64_t v = 0;

	skip_blanks(s);
	if (s->end - s->p > 2 && s->p[0] == '0' && (s->p[1] == 'x' || s->p[1] == 'X')) {
		base = 16;
		s->p += 2;
	}
	for (; s->p < s->end && digit_value(*s->p) < base; s->p++, digits++) {
		if (__builtin_mul_overflow(v, (unsigned int)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_value(*s->p), &v))
			return false;
	}
	while (s->p < s->end && digits && strchr("uUlL", *s->p) && *s->p)
		s->p++;
	*n = (int64_t)(negative ? 0 - v : v);
	return digits;
}

/* Parses a literal or (1UL << 3), with or without parentheses. */
static bool parse_value(struct label_scan *s, int64_t *n)
{
	int64_t shift;
	int open = 0;

	while (open < 8 && skip_char(s, '('))
		open++;
	if (!parse_literal(s, n))
		return false;
	for (;;) {
		if (skip_char(s, '<')) {
			if (!skip_char(s, '<') || !parse_literal(s, &shift) || shift < 0 ||
			    shift > 63)
				return false;
			*n = (int64_t)((uint64_t)*n << shift);
		} else if (open && skip_char(s, ')')) {
			open--;
		} else {
			return !open;
		}
	}
}

static bool parse_text(struct label_scan *s, const char **name, size_t *len)
{
	if (!skip_char(s, '"'))
		return false;
	*name = s->p;
	for (; s->p < s->end && *s->p != '"'; s->p++) {
		if (*s->p == '\\')
			return false;
	}
	*len = (size_t)(s->p - *name);
	return s->p < s->end && s->p++ && *len;
}

static int add_label(struct kformat_field *f, int64_t value, const char *name, size_t len)
{
	struct md_mapping *m = &f->labels[f->label_count];

	m->name = strndup(name, len);
	if (!m->name)
		return -ENOMEM;
	m->begin = m->end = value;
	f->label_count++;
	return 0;
}

/* Parses { 1, "A" }, … , up to the closing parenthesis. */
static int parse_labels(struct label_scan *s, struct kformat_field *f)
{
	const char *name;
	int64_t n;
	size_t len;

	f->labels = calloc(KLABELS_MAX, sizeof(*f->labels));
	if (!f->labels)
		return -ENOMEM;
	do {
		if (!skip_char(s, '{') || !parse_value(s, &n) || !skip_char(s, ',') ||
		    !parse_text(s, &name, &len) || !skip_char(s, '}'))
			return -EINVAL;
		if (f->label_count == KLABELS_MAX || len > TRAIL_NAME_MAX)
			return -EINVAL;
		if (add_label(f, n, name, len))
			return -ENOMEM;
	} while (skip_char(s, ','));
	return skip_char(s, ')') ? 0 : -EINVAL;
}

/* Skips REC->NAME, and the delimiter of flags. */
static bool skip_argument(struct label_scan *s, const char *name, bool flags)
{
	size_t n = strlen(name);

	skip_blanks(s);
	if ((size_t)(s->end - s->p) < 5 + n || memcmp(s->p, "REC->", 5) ||
	    memcmp(s->p + 5, name, n))
		return false;
	s->p += 5 + n;
	if (!skip_char(s, ','))
		return false;
	if (!flags)
		return true;
	if (!skip_char(s, '"'))
		return false;
	while (s->p < s->end && *s->p != '"')
		s->p++;
	return skip_char(s, '"') && skip_char(s, ',');
}

/* Frees the unused part of the array. */
static void shrink_labels(struct kformat_field *f)
{
	struct md_mapping *fewer = realloc(f->labels, f->label_count * sizeof(*fewer));

	f->labels = fewer ? fewer : f->labels;
}

static void free_labels(struct kformat_field *f)
{
	while (f->label_count)
		free(f->labels[--f->label_count].name);
	free(f->labels);
	f->labels = NULL;
}

int klabels_known(const char *event, const char *field, struct kformat_field *f)
{
	const struct kname_label *row;
	uint32_t n = 0;

	while (kname_label(event, field, n))
		n++;
	f->labels = n ? calloc(n, sizeof(*f->labels)) : NULL;
	if (n && !f->labels)
		return -ENOMEM;
	while ((row = kname_label(event, field, f->label_count)))
		if (add_label(f, row->value, row->name, strlen(row->name)))
			return -ENOMEM;
	return 0;
}

int klabels_parse(const char *print, size_t len, struct kformat_field *f)
{
	static const char *const calls[] = { "__print_symbolic(", "__print_flags(" };
	struct label_scan s;
	size_t i;
	int ret;

	for (i = 0; i < 2; i++) {
		s = (struct label_scan){ print, print + len };
		while ((s.p = memmem(s.p, (size_t)(s.end - s.p), calls[i], strlen(calls[i])))) {
			s.p += strlen(calls[i]);
			if (!skip_argument(&s, f->kernel_name, i == 1))
				continue;
			ret = parse_labels(&s, f);
			if (ret)
				free_labels(f);
			else
				shrink_labels(f);
			return ret == -ENOMEM ? ret : 0;
		}
	}
	return 0;
}
