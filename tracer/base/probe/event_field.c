// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the fields of a format file: see event_field.h. */
#include "tracer/base/probe/event_field.h"

#include <string.h>

#include "tracer/base/probe/format_line.h"

enum { FIELDS_MAX = 64 };

static bool copy_word(struct span s, char to[EVENT_FIELD_WORD_MAX])
{
	if (span_length(s) >= EVENT_FIELD_WORD_MAX)
		return false;
	memcpy(to, s.p, span_length(s));
	to[span_length(s)] = '\0';
	return true;
}

/* Whether an event probe can name the field. */
static bool take_line(const struct format_line *l, struct event_field *f)
{
	*f = (struct event_field){ .offset = (unsigned int)l->offset,
				   .size = (unsigned int)l->size,
				   .is_signed = l->is_signed };
	if (l->is_bits || !copy_word(l->name, f->name) || !copy_word(l->type, f->type))
		return false;
	f->is_text = !strcmp(f->type, "__data_loc char[]") ||
		     (l->indexed && !strcmp(f->type, "char"));
	f->is_array = !f->is_text && (l->indexed || strchr(f->type, '['));
	return strncmp(f->name, "common_", 7) != 0;
}

const char *event_field_next(const char *format, struct event_field *out)
{
	struct span text = SPAN(format), line;
	struct format_line l;

	while (span_cut(&text, '\n', &line))
		if (format_line_parse(line, &l) > 0 && take_line(&l, out))
			return text.p;
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
