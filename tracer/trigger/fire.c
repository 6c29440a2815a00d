// SPDX-License-Identifier: GPL-2.0-or-later
/* A hit: counts it, and executes the actions that are due. */
#include <stdio.h>

#include "tracer/trigger/trigger.h"

#define MANY_MAX 16u            /* executions of one action for hits that came at once */

/*
 * The hits of an action `increment` that wait are one item of the runner, so there are never too
 * many of them.
 */
static void add_to_key(struct trigger *trigger, size_t i, uint64_t count, struct hit_time time)
{
	struct action *a = &trigger->actions[i];

	if (a->waiting || runner_add_one(trigger, trigger->hits, i, time)) {
		a->waiting += count;
		return;
	}
	a->failed += count;
	snprintf(a->error, sizeof(a->error), "no memory for the hits that wait");
}

static void execute_due(struct trigger *trigger, uint64_t hit, struct hit_time time,
			const struct values *v)
{
	for (size_t i = 0; i < trigger->action_count; i++) {
		struct action *a = &trigger->actions[i];

		if (!action_due(a, hit))
			continue;
		if (a->kind == ACTION_NOTIFY) {
			notices_send(trigger, time.wall, v);
			a->executed++;
			continue;
		}
		if (a->kind == ACTION_INCREMENT) {
			add_to_key(trigger, i, 1, time);
			continue;
		}
		/* The runner continues with this action and those after it. */
		if (runner_add(trigger, hit, i, time, v))
			return;
		a->failed++;
		snprintf(a->error, sizeof(a->error),
			 "too many earlier hits wait for their actions");
	}
}

void trigger_hit(struct trigger *trigger, struct hit_time time, const struct values *v)
{
	trigger->hits++;
	trigger->last_hit = time.wall;
	trigger->unsaved = true;
	trigger_changed(trigger);
	execute_due(trigger, trigger->hits, time, v);
}

bool trigger_due(const struct trigger *trigger)
{
	for (size_t i = 0; i < trigger->action_count; i++)
		if (action_due(&trigger->actions[i], trigger->hits + 1))
			return true;
	return false;
}

static void print_nothing(const struct values *v, bool json, struct md_buf *out)
{
	(void)v, (void)json, (void)out;
}

const struct values no_values = { print_nothing };

/*
 * An action that is due for some of many hits. A few are executed as always; the rest are lost
 * notifications, or failed actions.
 */
static void execute_many(struct trigger *trigger, size_t i, uint64_t count, struct hit_time time)
{
	struct action *a = &trigger->actions[i];
	uint64_t added = 0;

	if (a->kind == ACTION_NOTIFY) {
		/* With a rate, each hit is reported; without one, the number of lost ones. */
		if (a->rate > 1 && count <= MANY_MAX) {
			for (uint64_t n = 0; n < count; n++)
				notices_send(trigger, time.wall, &no_values);
		} else {
			notices_lose(trigger, count);
		}
		a->executed += count;
		return;
	}
	if (a->kind == ACTION_INCREMENT) {
		add_to_key(trigger, i, count, time);
		return;
	}
	while (added < count && added < MANY_MAX && runner_add_one(trigger, trigger->hits, i, time))
		added++;
	if (added < count) {
		a->failed += count - added;
		snprintf(a->error, sizeof(a->error), "too many hits at once");
	}
}

void trigger_hit_many(struct trigger *trigger, uint64_t n, struct hit_time time)
{
	uint64_t before = trigger->hits, count;

	trigger->hits += n;
	trigger->last_hit = time.wall;
	trigger->unsaved = true;
	trigger_changed(trigger);
	for (size_t i = 0; i < trigger->action_count; i++) {
		count = action_count_due(&trigger->actions[i], trigger->hits) -
			action_count_due(&trigger->actions[i], before);
		if (count)
			execute_many(trigger, i, count, time);
	}
}
