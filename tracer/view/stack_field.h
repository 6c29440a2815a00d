/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which contexts and fields have code addresses. Private to stack.c. */
#ifndef TRACER_VIEW_STACK_FIELD_H
#define TRACER_VIEW_STACK_FIELD_H

#include <stdbool.h>
#include <string.h>

#include "metadata/model.h"

enum is { IS_NONE, IS_KERNEL, IS_USER, IS_PLACE };

/* What a context has. A return address is before the place to which it returns. */
static inline enum is kind_of(const struct md_field *f)
{
	static const struct { const char *name; enum is is; } kinds[] = {
		{ "callstack_kernel", IS_KERNEL }, { "callstack_user", IS_USER },
		{ "callstack-kernel", IS_KERNEL }, { "callstack-user", IS_USER },
		{ "ip", IS_PLACE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(f->name, kinds[i].name))
			return kinds[i].is;
	return IS_NONE;
}

static inline bool any_stack(const struct md_field *fields, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (kind_of(&fields[i]) == IS_KERNEL || kind_of(&fields[i]) == IS_USER)
			return true;
	return false;
}

/* The stacks of a sample are fields of the event. */
static inline bool is_sample(const struct md_event *e)
{
	return !strcmp(e->name, "trail:sample");
}

#endif
