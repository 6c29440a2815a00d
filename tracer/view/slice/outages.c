/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/outages.h"

#include <stdlib.h>

struct outage *outages_of(struct outages *o, const struct md_stream *class, uint32_t cpu)
{
	struct outage *of, *first = NULL;

	for (of = o->all; of; of = of->next) {
		if (of->class == class && of->cpu == cpu)
			return of;
		if (of->class == class)
			first = of->first;
	}
	of = malloc(sizeof(*of));
	if (!of)
		return NULL;
	*of = (struct outage){ .next = o->all, .class = class, .cpu = cpu,
			       .first = first ? first : of };
	o->all = of;
	return of;
}

static void change(struct outages *o, struct outage *of, bool open)
{
	if (of->open == open)
		return;
	of->open = open;
	of->first->count += open ? 1 : -1u;
	of->first->changed = ++o->now;
}

void outages_begin(struct outages *o, struct outage *of)
{
	change(o, of, true);
}

void outages_end(struct outages *o, struct outage *of)
{
	change(o, of, false);
}

void outages_reset(struct outages *o)
{
	for (struct outage *of = o->all; of; of = of->next) {
		of->open = false;
		of->count = 0;
		of->changed = 0;
	}
	o->now = 0;
}

void outages_deinit(struct outages *o)
{
	struct outage *of;

	while ((of = o->all)) {
		o->all = of->next;
		free(of);
	}
}
