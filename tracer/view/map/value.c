// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/view/map/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The name of the number, if one mapping has it. */
static void set_label(const struct md_type *t, struct map_value *v)
{
	for (uint32_t i = 0; t->kind == MD_ENUM && i < t->count && !v->text; i++) {
		const struct md_mapping *m = &t->mappings[i];

		if (t->is_signed ? v->i < m->begin || v->i > m->end
				 : v->u < (uint64_t)m->begin || v->u > (uint64_t)m->end)
			continue;
		v->text = m->name;
		v->len = strlen(m->name);
	}
}

struct map_value map_read(const struct md_occurrence *o, const struct md_route *r)
{
	struct map_value v = { 0 };
	const struct md_type *t;
	struct md_value at;

	if (!md_access_value(r, o, &at))
		return v;
	t = at.type;
	if (md_value_integer(&at, &v.u)) {
		v.kind = t->is_signed ? MAP_SIGNED : MAP_UNSIGNED;
		v.hex = t->kind == MD_INT && t->base == 16;
		set_label(t, &v);
	} else if (md_value_float(&at, &v.f)) {
		v.kind = MAP_FLOAT;
		v.single = t->size == 4;
	} else if (md_value_string(&at, &v.text, &v.len)) {
		v.kind = MAP_TEXT;
	}
	return v;
}

bool map_is_array(const struct md_occurrence *o, const struct md_route *r)
{
	struct md_value at;
	uint64_t n;

	return md_access_value(r, o, &at) && md_value_integers(&at, &n);
}

size_t map_read_array(const struct md_occurrence *o, const struct md_route *r, char *out,
		      size_t size)
{
	const struct md_type *element;
	struct md_value at;
	size_t len = 0;
	char one[32];
	uint64_t n;

	if (!md_access_value(r, o, &at) || !md_value_integers(&at, &n))
		return 0;
	element = at.type->element;
	/* At most 21 bytes each: what does not fit is not read. */
	for (uint64_t i = 0; i < n && len < size; i++) {
		uint64_t v = md_value_element(&at, i);
		int add = snprintf(one, sizeof(one),
				   element->is_signed    ? "%s%" PRId64
				   : element->base == 16 ? "%s0x%" PRIX64
							 : "%s%" PRIu64,
				   i ? "," : "[", v);
		size_t room = size - len;

		memcpy(out + len, one, (size_t)add < room ? (size_t)add : room);
		len += (size_t)add < room ? (size_t)add : room;
	}
	for (const char *end = n ? "]" : "[]"; *end && len < size; end++)
		out[len++] = *end;
	return len;
}

long double map_number(const struct map_value *v)
{
	switch (v->kind) {
	case MAP_SIGNED:
		return (long double)v->i;
	case MAP_UNSIGNED:
		return (long double)v->u;
	case MAP_FLOAT:
		return (long double)v->f;
	default:
		return (long double)NAN;
	}
}
