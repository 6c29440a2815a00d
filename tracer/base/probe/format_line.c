// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses a line of a format file: see format_line.h. */
#include "tracer/base/probe/format_line.h"

#include <errno.h>

/* Parses `unsigned long caller[8]`, `__data_loc char[] name`, `const char * name`. */
static bool split_declaration(struct span declaration, struct format_line *l)
{
	struct span s = declaration;
	const char *p;

	span_trim(&s);
	l->indexed = s.p < s.end && s.end[-1] == ']';
	if (l->indexed) {
		for (p = s.end - 1; p > s.p && *p != '['; p--)
			;
		l->index = (struct span){ p + 1, s.end - 1 };
		s.end = p;
		span_trim(&s);
	}
	/* `unsigned int x:3` */
	for (p = s.end; p > s.p && ((p[-1] >= '0' && p[-1] <= '9') || p[-1] == ' '); p--)
		;
	l->is_bits = p > s.p && p[-1] == ':';
	if (l->is_bits) {
		s.end = p - 1;
		span_trim(&s);
	}
	for (p = s.end; p > s.p && is_name(p[-1]); p--)
		;
	l->name = (struct span){ p, s.end };
	l->type = (struct span){ s.p, p };
	span_trim(&l->type);
	return span_length(l->name) && span_length(l->type);
}

/* `WORD NUMBER;` */
static bool cut_number(struct span *s, const char *word, uint64_t *n)
{
	struct span piece;

	return span_cut(s, ';', &piece) && span_skip(&piece, word) && span_number(piece, n);
}

int format_line_parse(struct span line, struct format_line *l)
{
	uint64_t is_signed = 0;
	struct span s, piece;

	span_trim(&line);
	*l = (struct format_line){ 0 };
	if (!span_skip(&line, "field:"))
		return 0;
	s = line;
	if (!span_cut(&s, ';', &l->declaration) || !split_declaration(l->declaration, l))
		return -EINVAL;
	l->rest = (struct span){ s.p - 1, line.end };
	if (!cut_number(&s, "offset:", &l->offset) || !cut_number(&s, "size:", &l->size))
		return -EINVAL;
	if (span_cut(&s, ';', &piece) && span_skip(&piece, "signed:") &&
	    !span_number(piece, &is_signed))
		return -EINVAL;
	l->is_signed = is_signed;
	return 1;
}

bool format_prints_bytes(struct span print, struct span name)
{
	static const char call[] = "__print_dynamic_array(";
	size_t skip = sizeof(call) - 1, n = span_length(name);
	const char *p = print.p;

	while ((p = memmem(p, (size_t)(print.end - p), call, skip))) {
		p += skip;
		if ((size_t)(print.end - p) > n && !memcmp(p, name.p, n) && p[n] == ',')
			return true;
	}
	return false;
}
