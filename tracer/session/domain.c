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

void domain_drain(struct session *s, enum domain domain)
{
	const struct domain_ops *ops = s->tracer->domains[domain];

	if (ops->drain)
		UNLOCKED(s->tracer, ops->drain(s));
}

void domains_drain(struct session *s)
{
	for_each_domain(d, s->tracer)
		domain_drain(s, (enum domain)(d - s->tracer->domains));
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
