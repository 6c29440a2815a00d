/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/probe/event_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void event_key_deinit(struct event_key *k)
{
	free(k->place);
	free(k->label);
	extra_deinit(&k->extra);
	*k = (struct event_key){ 0 };
}

int event_key_copy(const struct event_key *from, struct event_key *to)
{
	*to = (struct event_key){ .place = from->place ? strdup(from->place) : NULL,
				  .label = from->label ? strdup(from->label) : NULL };
	if (!to->place == !from->place && !to->label == !from->label &&
	    !extra_copy(&from->extra, &to->extra))
		return 0;
	event_key_deinit(to);
	return -ENOMEM;
}

struct event_key *event_key_dup(const struct event_key *from)
{
	struct event_key *k = malloc(sizeof(*k));

	if (k && event_key_copy(from, k)) {
		free(k);
		return NULL;
	}
	return k;
}

int event_key_compare(const struct event_key *a, const struct event_key *b)
{
	int c = strcmp(a->place, b->place);

	if (!c && (a->label || b->label))
		c = !a->label ? -1 : !b->label ? 1 : strcmp(a->label, b->label);
	return c ? c : extra_compare(&a->extra, &b->extra);
}
