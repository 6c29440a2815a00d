// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/view/map/value.h"

#include <math.h>
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
