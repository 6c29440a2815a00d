/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the fields and contexts of an event, as keys and operators of maps take them. An
 * enumeration is its label as a key, and its integer as a number.
 */
#ifndef TRACER_MAP_VALUE_H
#define TRACER_MAP_VALUE_H

#include "metadata/access.h"

enum map_value_kind { MAP_NOTHING, MAP_SIGNED, MAP_UNSIGNED, MAP_FLOAT, MAP_TEXT };

struct map_value {
	enum map_value_kind kind;
	union {
		int64_t i;
		uint64_t u;
		double f;
	};
	const char *text;       /* MAP_TEXT, or the label of an enumeration; no NUL at its end */
	size_t len;             /* of text */
	bool hex;               /* an integer that is shown in base 16 */
	bool single;            /* MAP_FLOAT: of 4 bytes */
};

/* MAP_NOTHING: the event has no such value, or one of another kind. Valid as long as o. */
struct map_value map_read(const struct md_occurrence *o, const struct md_route *r);
/*
 * An array or a sequence of integers as text, `[1,2,3]`. Returns its length, cut to `size`; 0: it
 * is none.
 */
size_t map_read_array(const struct md_occurrence *o, const struct md_route *r, char *out,
		      size_t size);
bool map_is_array(const struct md_occurrence *o, const struct md_route *r);
/* NaN: it is no number. */
long double map_number(const struct map_value *v);

#endif
