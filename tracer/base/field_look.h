/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One field of an event as available/ shows it: `[nowrite] [enum NAME] [hex] [be] int32 name[4]` in
 * lines, an object in JSON. No lock.
 */
#ifndef TRACER_BASE_FIELD_LOOK_H
#define TRACER_BASE_FIELD_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"

struct field_look {
	const char *name;
	char type[16];                  /* int8 … double, string, char, blob, struct, variant */
	const char *enum_name;          /* NULL: it is no enum; "": one without a name */
	const char *media_type;         /* of a blob; NULL or "": it has none */
	bool hex, big_endian;
	bool nowrite;                   /* only filters see it */
	bool array, sequence;           /* of that type */
	uint32_t length;                /* of an array */
	bool address;                   /* of a text that this kernel does not record */
};

void field_look_text(const struct field_look *f, struct md_buf *out);
/* The members of the object, without its end: the caller may add others. */
void field_look_json(const struct field_look *f, struct md_buf *out);

#endif
