/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of a tracepoint's record, from its format file in tracefs, which is not trusted. */
#ifndef TRACER_PROBE_EVENT_FIELD_H
#define TRACER_PROBE_EVENT_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "metadata/buf.h"
#include "tracer/base/probe/extra.h"

enum { EVENT_FIELD_WORD_MAX = 64 };

struct event_field {
	char type[EVENT_FIELD_WORD_MAX], name[EVENT_FIELD_WORD_MAX];
	unsigned int offset, size;      /* bytes in the record */
	bool is_signed;
	bool is_text;           /* characters */
	bool is_array;          /* other elements */
};

/*
 * The next field that an event probe can name, without the common ones. Returns the text after it;
 * NULL: there is no more.
 */
const char *event_field_next(const char *format, struct event_field *out);
bool event_field_find(const char *format, const char *name, size_t len, struct event_field *out);
/*
 * Appends the fields as fetch arguments, but for arrays, and those whose names the extra data has.
 */
void event_field_put(const char *format, const struct extra *x, struct md_buf *out);

#endif
