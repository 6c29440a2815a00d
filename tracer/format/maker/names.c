/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/maker/maker.h"

#include "tracer/session/session.h"
#include "tracer/view/stack.h"

/* Whether the session has callstacks: 0 or 1; -errno. */
static int have_stacks(struct session *s)
{
	struct stream_set set = { 0 };
	int found = session_streams(s, NULL, &set);

	for (size_t i = 0; !found && i < set.count; i++)
		found = stacks_has(&set.streams[i]);
	stream_set_deinit(&set);
	return found;
}

struct stacks *maker_names(struct maker *m, bool always)
{
	int has = m->stacks || m->err ? 0 : always ? 1 : have_stacks(m->s);

	if (has)
		m->err = has < 0 ? has : stacks_create(m->s, &m->stacks);
	return m->stacks;
}
