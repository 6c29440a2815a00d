/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event as an export needs it: its JSON line, cut into values. Values stay JSON until a form
 * asks for a number or for the characters of a string. No function here allocates anything.
 */
#ifndef TRACER_EXPORT_ROW_H
#define TRACER_EXPORT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "metadata/decode.h"
#include "metadata/model.h"

struct json {                   /* a value; points into the line; p NULL: absent */
	const char *p;
	size_t n;
};

struct row {
	uint64_t time;          /* ns since the epoch */
	uint32_t cpu;
	struct json host, event;        /* strings */
	struct json context, fields;    /* objects */
	const struct md_event *class;
	const struct md_stream *stream; /* its class: the fields of the context */
	const struct md_occurrence *occurrence; /* as it was decoded */
};

/* Takes the next member off the object. False: there is none. The name has no quotes. */
bool json_member(struct json *object, struct json *name, struct json *value);
/* The value of this member; absent if the object has none. */
struct json json_find(struct json object, const char *name);
/* False: the value is not an integer of 64 bits. An enumeration is its value. */
bool json_integer(struct json value, int64_t *result);
/* Appends the characters of a string; other values unchanged. */
void json_characters(struct json value, struct md_buf *out);
/* The same of a part of a string, without quotes. */
void json_text(struct json part, struct md_buf *out);
/* The value of this field; of an enumeration its label, or its number if it has none. */
struct json json_label(const struct md_field *f, struct json value);
static inline bool json_is_string(struct json value)
{
	return value.n && *value.p == '"';
}
/* Sets time, cpu, host, event, context and fields from a line of md_json_event. */
void row_parse(struct row *r, const char *line, size_t n);

#endif
