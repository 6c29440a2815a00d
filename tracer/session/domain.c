// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracing domains as a whole: see session/domain.h. */
#include "tracer/session/domain.h"

#include "tracer/session/session.h"

void domains_apply(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->apply)
			SESSION_LOCKED(s, (*d)->apply(s));
}

void domains_drain(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->drain)
			UNLOCKED(s->tracer, (*d)->drain(s));
}

void domains_check(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->check)
			UNLOCKED(s->tracer, (*d)->check(s));
}

void domains_gc(struct tracer *t)
{
	for_each_domain(d, t)
		if ((*d)->gc)
			UNLOCKED(t, (*d)->gc(t));
}
