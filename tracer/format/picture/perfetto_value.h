/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of events as debug annotations of Perfetto. Private to perfetto.c. */
#ifndef TRACER_PICTURE_PERFETTO_VALUE_H
#define TRACER_PICTURE_PERFETTO_VALUE_H

#include <string.h>

#include "metadata/plain.h"
#include "metadata/program.h"
#include "tracer/format/picture/protobuf.h"
#include "tracer/format/maker/row.h"

enum { EVENT_ANNOTATION = 4 };
enum { NOTE_NAME_NUMBER = 1, NOTE_BOOL, NOTE_UINT, NOTE_INT, NOTE_DOUBLE, NOTE_STRING,
       NOTE_POINTER, NOTE_JSON = 9, NOTE_NAME };
/* The bytes that the lengths of most messages have */
enum { PACKET_LENGTH = 2, EVENT_LENGTH = 2, NOTE_LENGTH = 1, TEXT_LENGTH = 1 };

/* An address is a pointer, a device a string; an array of addresses is JSON with strings. */
static inline void put_shown_value(struct md_buf *out, const struct md_value *value,
				   enum row_shown as)
{
	uint64_t n;
	size_t at;

	if (as == ROW_SHOWN_HEX && md_value_integer(value, &n)) {
		put_number(out, NOTE_POINTER, row_unsigned(n, value->type));
		return;
	}
	at = begin_message(out, as == ROW_SHOWN_HEX ? NOTE_JSON : NOTE_STRING, TEXT_LENGTH);
	if (as == ROW_SHOWN_DEVICE && md_value_integer(value, &n))
		row_put_device(n, out);
	else
		row_put_shown(value, as, out);
	end_message(out, at, TEXT_LENGTH);
}

static inline void put_value(struct md_buf *out, const struct md_value *value)
{
	size_t begin = out->len, at;
	enum md_shown shown;
	uint64_t n;
	double d;

	if (md_value_shown_float(value, &d)) {
		put_double(out, NOTE_DOUBLE, d);
		return;
	}
	if (value->type->show == MD_SHOW_BOOL && md_value_integer(value, &n)) {
		put_number(out, NOTE_BOOL, n != 0);
		return;
	}
	at = begin_message(out, NOTE_STRING, TEXT_LENGTH);
	shown = md_value_integer(value, &n) && !md_type_is_enum(value->type)
			? MD_SHOWN_NUMBER : md_value_show(value, out);
	if (out->failed)
		return;
	if (shown == MD_SHOWN_NUMBER) {
		out->len = begin;
		/* The largest integers have no sign. */
		put_number(out, !value->type->is_signed && n > INT64_MAX ? NOTE_UINT : NOTE_INT, n);
		return;
	}
	if (shown == MD_SHOWN_JSON)
		out->data[begin] = (char)(NOTE_JSON << 3 | 2);
	end_message(out, at, TEXT_LENGTH);
}

/* An annotation of up to 127 bytes: an integer or a short plain string. NULL: it is another. */
static inline char *put_short(char *o, struct text name, const struct md_value *value)
{
	const struct md_type *t = value->type;
	size_t n = (size_t)(value->end - value->p) - 1;
	uint64_t number;
	char *length;

	*o++ = EVENT_ANNOTATION << 3 | 2;
	length = o++;
	if (name.n > 100)
		return NULL;
	o = mempcpy(o, name.p, name.n);
	if (md_type_is_number(t)) {
		md_value_integer(value, &number);
		/* The largest integers have no sign. */
		*o++ = (!t->is_signed && number > INT64_MAX ? NOTE_UINT : NOTE_INT) << 3;
		o = write_varint(o, number);
	} else if (t->kind == MD_STRING && name.n + n < 120 &&
		   md_copy_if_plain(o + 2, (const char *)value->p, n, 0x7f, 0x7f)) {
		*o++ = NOTE_STRING << 3 | 2;
		*o++ = (char)n;
		o += n;
	} else {
		return NULL;
	}
	*length = (char)(o - length - 1);
	return o;
}

#endif
