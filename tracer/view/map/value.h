/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the fields and contexts of an event. A route says where an event class has a field; it
 * is found once. The bytes of an event were checked by the decoder; nothing after the event is read
 * even if the route is that of another class.
 */
#ifndef TRACER_MAP_VALUE_H
#define TRACER_MAP_VALUE_H

#include "metadata/decode.h"

#define MAP_STEPS_MAX 8u

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

struct map_route {
	bool context;           /* among the contexts, not the event's own fields */
	uint8_t count;          /* of steps; 0: the class does not have the field */
	uint32_t steps[MAP_STEPS_MAX];  /* indices of fields, members and elements */
};

/* `text` as in struct map_field. */
struct map_route map_find_route(const struct md_stream *class, const struct md_event *e,
				const char *text);
/* MAP_NOTHING: the event has no such value, or one of another kind. Valid as long as o. */
struct map_value map_read(const struct md_stream *class, const struct md_occurrence *o,
			  const struct map_route *r);
/* NaN: it is no number. */
long double map_number(const struct map_value *v);

#endif
