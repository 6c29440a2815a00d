// SPDX-License-Identifier: MIT
/* The fields of an event, with those that are in structures (TRAIL_MEMBERS of trail/cxx.h). */
#include "ustlib/lib.h"

#define DEPTH_MAX 8             /* structures in structures; the daemon takes no more */

static uint32_t each_member(const struct trail__enum *values, unsigned int depth, field_fn *fn, void *arg)
{
	const struct trail__struct *s = (const struct trail__struct *)((const char *)values - offsetof(struct trail__struct, head));
	uint32_t n = 0;

	for (unsigned int i = 0; i < s->head.count; i++) {
		const struct trail__field *f = &s->fields[i];

		if (fn)
			fn(arg, f, f->name ? f->name : "_");
		n++;
		if (TRAIL__KIND(f->code) == TRAIL__STRUCT && f->values && depth < DEPTH_MAX)
			n += each_member(f->values, depth + 1, fn, arg);
	}
	return n;
}

uint32_t each_field(const struct trail__event *e, field_fn *fn, void *arg)
{
	char name[TRAIL_NAME_MAX + 1];
	uint32_t n = 0;

	for (unsigned int i = 0; i < e->field_count; i++) {
		const struct trail__field *f = &e->fields[i];

		if (fn && !f->name)
			spelled_name(e->args, i + 1, name, sizeof(name));
		if (fn)
			fn(arg, f, f->name ? f->name : name);
		n++;
		if (TRAIL__KIND(f->code) == TRAIL__STRUCT && f->values)
			n += each_member(f->values, 1, fn, arg);
	}
	return n;
}
