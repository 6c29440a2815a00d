// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the fields of a format file: see event_field.h. */
#include "tracer/base/probe/event_field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64 };

/* The number after `word` on the line. */
static unsigned int get_number(const char *line, const char *word)
{
	const char *end = line + strcspn(line, "\n"), *p = strstr(line, word);

	return p && p < end ? (unsigned int)strtoul(p + strlen(word), NULL, 10) : 0;
}

/* Parses `TYPE NAME` or `TYPE NAME[N]`, n bytes. */
static bool parse_declaration(const char *p, size_t n, struct event_field *f)
{
	size_t at = n, len;
	char *bracket;

	while (at && p[at - 1] != ' ')
		at--;
	len = n - at;
	if (!at || at > EVENT_FIELD_WORD_MAX || !len || len >= EVENT_FIELD_WORD_MAX)
		return false;
	memcpy(f->name, p + at, len);
	f->name[len] = '\0';
	memcpy(f->type, p, at - 1);
	f->type[at - 1] = '\0';
	bracket = strchr(f->name, '[');
	f->is_text = !strcmp(f->type, "__data_loc char[]") || (bracket && !strcmp(f->type, "char"));
	f->is_array = !f->is_text && (bracket || strchr(f->type, '['));
	if (bracket)
		*bracket = '\0';
	len = strspn(f->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return len && !f->name[len];
}

const char *event_field_next(const char *format, struct event_field *out)
{
	while ((format = strstr(format, "\tfield:"))) {
		size_t n = strcspn(format += 7, ";\n");

		*out = (struct event_field){ .offset = get_number(format, "\toffset:"),
					     .size = get_number(format, "\tsize:"),
					     .is_signed = get_number(format, "\tsigned:") != 0 };
		if (format[n] == ';' && parse_declaration(format, n, out) &&
		    strncmp(out->name, "common_", 7) != 0)
			return format + n;
	}
	return NULL;
}

bool event_field_find(const char *format, const char *name, size_t len, struct event_field *out)
{
	while ((format = event_field_next(format, out)))
		if (strlen(out->name) == len && !memcmp(out->name, name, len))
			return true;
	return false;
}

void event_field_put(const char *format, const struct extra *x, struct md_buf *out)
{
	struct event_field f;

	for (int i = 0; i < FIELDS_MAX && (format = event_field_next(format, &f)); i++) {
		size_t len = strlen(f.name);

		if (f.is_array || len >= EXTRA_NAME_MAX || extra_find(x, f.name, len))
			continue;
		if (f.is_text)
			md_buf_printf(out, " %s=$%s:string", f.name, f.name);
		else if (f.size == 1 || f.size == 2 || f.size == 4 || f.size == 8)
			md_buf_printf(out, " %s=$%s:%c%u", f.name, f.name, f.is_signed ? 's' : 'u',
				      8 * f.size);
	}
}
