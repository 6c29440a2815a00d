// SPDX-License-Identifier: GPL-2.0-only
/* Finds a tracepoint of the kernel itself by its name. */
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "kmod/trail.h"

struct search {
	const char *name;
	struct tracepoint *found;
};

static void compare(struct tracepoint *tp, void *arg)
{
	struct search *s = arg;

	if (!s->found && !strcmp(tp->name, s->name))
		s->found = tp;
}

struct tracepoint *trail_tracepoint(const char *name)
{
	struct search s = { .name = name };

	for_each_kernel_tracepoint(compare, &s);
	return s.found;
}
