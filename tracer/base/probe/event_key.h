/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What rules of the kernel domain match: an event of the kernel, or the events of a rule. Two keys
 * are the same event if they are equal.
 */
#ifndef TRACER_PROBE_EVENT_KEY_H
#define TRACER_PROBE_EVENT_KEY_H

#include <stdbool.h>

#include "tracer/base/probe/extra.h"

struct event_key {
	/*
	 * `system:name`, `syscall:entry:name` and so on (rule/kernel_pattern.h); of a probe its
	 * place, as in its rule; of a rule its pattern. Owned, as are the rest.
	 */
	char *place;
	char *label;            /* the name that the rule gives its probe; NULL: none */
	struct extra extra;     /* the extra data of the rule */
};

/* A struct event_key * that is only this place, and owns nothing. */
#define EVENT_KEY(place) (&(struct event_key){ (char *)(place), NULL, { 0 } })

/* 0, or -ENOMEM; then *to is empty. */
int event_key_copy(const struct event_key *from, struct event_key *to);
/* NULL: no memory. event_key_deinit and free remove it. */
struct event_key *event_key_dup(const struct event_key *from);
void event_key_deinit(struct event_key *k);
/* An order; 0: equal. */
int event_key_compare(const struct event_key *a, const struct event_key *b);

#endif
