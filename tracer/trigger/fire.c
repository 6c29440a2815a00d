// SPDX-License-Identifier: GPL-2.0-or-later
/* A hit: counts it, and executes the actions that are due. */
#include <stdio.h>

#include "tracer/trigger/trigger.h"

static void execute_due(struct trigger *g, uint64_t hit, int64_t time, const struct values *v)
{
	for (size_t i = 0; i < g->action_count; i++) {
		struct action *a = &g->actions[i];

		if (!action_due(a, hit))
			continue;
		if (a->kind == ACTION_NOTIFY) {
			notices_send(g, time, v);
			a->executed++;
			continue;
		}
		/* The runner continues with this action and those after it. */
		if (runner_add(g, hit, i, time, v))
			return;
		a->failed++;
		snprintf(a->error, sizeof(a->error), "too many earlier hits wait for their actions");
	}
}

void trigger_hit(struct trigger *g, int64_t time, const struct values *v)
{
	g->hits++;
	g->last_hit = time;
	g->unsaved = true;
	trigger_changed(g);
	execute_due(g, g->hits, time, v);
}
