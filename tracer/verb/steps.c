// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/hash.h"
#include "tracer/session/session.h"
#include "tracer/verb/steps.h"

#define THEN (UINT64_C(1) << 32)        /* more than any number of a line */

uint64_t steps_number(const struct steps *st, int line, bool then)
{
	return st->request ? hash_step(st->request, (uint64_t)line | (then ? THEN : 0)) : 0;
}

static bool is_noted(const struct steps *st, int line, bool then)
{
	return requests_have(&st->session->requests, steps_number(st, line, then));
}

void steps_begin(struct steps *st, struct session *s, uint64_t request, const char *text)
{
	int line = 1;

	*st = (struct steps){ .session = s, .request = request };
	for (; *text; text++)
		line += *text == '\n';
	for (; request && line > 0; line--) {
		bool then = is_noted(st, line, true);

		if (!then && !is_noted(st, line, false))
			continue;
		st->line = line;
		st->then = then;
		st->last = steps_number(st, line, then);
		return;
	}
}

bool steps_have(const struct steps *st, int line, bool then)
{
	return line < st->line || (line == st->line && (st->then || !then));
}

void steps_add(struct steps *st, int line, bool then)
{
	uint64_t number = steps_number(st, line, then);

	/* A list of the newest numbers has room for one of each write. */
	requests_drop(&st->session->requests, st->last);
	requests_add(&st->session->requests, number);
	st->last = number;
	st->line = line;
	st->then = then;
}
