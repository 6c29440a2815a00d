/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of values in the print formats of kernel events: see kevent/enum_labels.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kevent/enum_labels.h"
#include "tracer/kevent/lttng_names.h"

struct scan {
	const char *p, *end;
};

static void blanks(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

static bool eat(struct scan *s, char c)
{
	blanks(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : 99;
}

/* 12, 0x0c, -3, 8UL */
static bool literal(struct scan *s, int64_t *n)
{
	bool negative = eat(s, '-');
	int base = 10, digits = 0;
	uint64_t v = 0;

	blanks(s);
	if (s->end - s->p > 2 && s->p[0] == '0' && (s->p[1] == 'x' || s->p[1] == 'X')) {
		base = 16;
		s->p += 2;
	}
	for (; s->p < s->end && digit(*s->p) < base; s->p++, digits++) {
		if (__builtin_mul_overflow(v, (unsigned int)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit(*s->p), &v))
			return false;
	}
	while (s->p < s->end && digits && strchr("uUlL", *s->p) && *s->p)
		s->p++;
	*n = (int64_t)(negative ? 0 - v : v);
	return digits;
}

/* A literal, (1UL << 3), with parentheses or without. */
static bool value(struct scan *s, int64_t *n)
{
	int64_t shift;
	int open = 0;

	while (open < 8 && eat(s, '('))
		open++;
	if (!literal(s, n))
		return false;
	for (;;) {
		if (eat(s, '<')) {
			if (!eat(s, '<') || !literal(s, &shift) || shift < 0 || shift > 63)
				return false;
			*n = (int64_t)((uint64_t)*n << shift);
		} else if (open && eat(s, ')')) {
			open--;
		} else {
			return !open;
		}
	}
}

static bool text(struct scan *s, const char **name, size_t *len)
{
	if (!eat(s, '"'))
		return false;
	*name = s->p;
	for (; s->p < s->end && *s->p != '"'; s->p++) {
		if (*s->p == '\\')
			return false;
	}
	*len = (size_t)(s->p - *name);
	return s->p < s->end && s->p++ && *len;
}

static int add(struct kformat_field *f, int64_t value, const char *name, size_t len)
{
	struct md_mapping *m = &f->labels[f->label_count];

	m->name = strndup(name, len);
	if (!m->name)
		return -ENOMEM;
	m->begin = m->end = value;
	f->label_count++;
	return 0;
}

/* { 1, "A" }, … , up to the parenthesis. */
static int labels(struct scan *s, struct kformat_field *f)
{
	const char *name;
	int64_t n;
	size_t len;

	f->labels = calloc(KLABELS_MAX, sizeof(*f->labels));
	if (!f->labels)
		return -ENOMEM;
	do {
		if (!eat(s, '{') || !value(s, &n) || !eat(s, ',') || !text(s, &name, &len) ||
		    !eat(s, '}'))
			return -EINVAL;
		if (f->label_count == KLABELS_MAX || len > TRAIL_NAME_MAX)
			return -EINVAL;
		if (add(f, n, name, len))
			return -ENOMEM;
	} while (eat(s, ','));
	return eat(s, ')') ? 0 : -EINVAL;
}

/* REC->NAME, and the delimiter of flags. */
static bool argument(struct scan *s, const char *name, bool flags)
{
	size_t n = strlen(name);

	blanks(s);
	if ((size_t)(s->end - s->p) < 5 + n || memcmp(s->p, "REC->", 5) ||
	    memcmp(s->p + 5, name, n))
		return false;
	s->p += 5 + n;
	if (!eat(s, ','))
		return false;
	if (!flags)
		return true;
	if (!eat(s, '"'))
		return false;
	while (s->p < s->end && *s->p != '"')
		s->p++;
	return eat(s, '"') && eat(s, ',');
}

/* To the size of what there is. */
static void shrink(struct kformat_field *f)
{
	struct md_mapping *fewer = realloc(f->labels, f->label_count * sizeof(*fewer));

	f->labels = fewer ? fewer : f->labels;
}

static void drop(struct kformat_field *f)
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
		if (add(f, row->value, row->name, strlen(row->name)))
			return -ENOMEM;
	return 0;
}

int klabels_parse(const char *print, size_t len, struct kformat_field *f)
{
	static const char *const calls[] = { "__print_symbolic(", "__print_flags(" };
	struct scan s;
	size_t i;
	int ret;

	for (i = 0; i < 2; i++) {
		s = (struct scan){ print, print + len };
		while ((s.p = memmem(s.p, (size_t)(s.end - s.p), calls[i], strlen(calls[i])))) {
			s.p += strlen(calls[i]);
			if (!argument(&s, f->kernel_name, i == 1))
				continue;
			ret = labels(&s, f);
			if (ret)
				drop(f);
			else
				shrink(f);
			return ret == -ENOMEM ? ret : 0;
		}
	}
	return 0;
}
