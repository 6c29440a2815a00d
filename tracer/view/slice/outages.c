/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/outages.h"

#include <stdlib.h>

struct outage *outages_of(struct outages *o, const struct md_stream *class, uint32_t cpu)
{
	struct outage *of = o->all;

	while (of && (of->class != class || of->cpu != cpu))
		of = of->next;
	if (of || !(of = malloc(sizeof(*of))))
		return of;
	*of = (struct outage){ .next = o->all, .class = class, .cpu = cpu };
	o->all = of;
	return of;
}

void outages_begin(struct outage *of)
{
	of->open = true;
}

void outages_end(struct outages *o, struct outage *of)
{
	if (of->open)
		of->ended = ++o->now;
	of->open = false;
}

void outages_reset(struct outages *o)
{
	for (struct outage *of = o->all; of; of = of->next) {
		of->open = false;
		of->ended = 0;
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
