// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine's thread: looks at conditions about amounts when they are due, and saves counters.
 */
#include <errno.h>
#include <string.h>

#include "tracer/trigger/trigger.h"

#define SAVE_PERIOD UINT64_C(1000000000)        /* ns between two times that counters are saved */
#define DUE_MAX 64              /* looks of one pass over the list */
#define SHARE 10                /* all looks together use 1 / SHARE of a CPU */

static bool is_sampled(const struct trigger *trigger)
{
	return trigger->enabled && trigger->action_count && sample_is_for(trigger->condition.kind);
}

/*
 * Locked. Up to DUE_MAX triggers to look at now, referenced. *next: when another one is due;
 * *sampled: how many have a condition about an amount.
 */
static size_t find_due(struct triggers *all, uint64_t now, struct trigger *due[DUE_MAX],
		       uint64_t *next, uint64_t *sampled)
{
	struct trigger *trigger;
	size_t n = 0;

	*next = UINT64_MAX;
	*sampled = 0;
	cds_list_for_each_entry(trigger, &all->list, node) {
		if (!is_sampled(trigger))
			continue;
		++*sampled;
		if (trigger->sample.due <= now && n < DUE_MAX) {
			trigger->refs++;
			due[n++] = trigger;
		} else if (trigger->sample.due < *next) {
			*next = trigger->sample.due;
		}
	}
	return n;
}

/*
 * Without lock. Puts the reference. A look that takes long, or is one of many, is repeated later
 * than the channels say, so that all looks together use 1 / SHARE of a CPU.
 */
static void look_at(struct trigger *trigger, uint64_t now, uint64_t sampled)
{
	uint64_t cost = thread_cpu_time(), earliest;
	struct triggers *all = triggers_of(trigger->tracer);

	sample_look(trigger, now);
	cost = thread_cpu_time() - cost;
	earliest = now + cost * sampled * SHARE;
	pthread_mutex_lock(&all->lock);
	if (trigger->sample.due && trigger->sample.due < earliest)
		trigger->sample.due = earliest;
	pthread_mutex_unlock(&all->lock);
	trigger_put(trigger);
}

/* Locked; releases the lock meanwhile. Looks at all that are due; returns the next time. */
static uint64_t look_at_due(struct triggers *all)
{
	struct trigger *due[DUE_MAX];
	uint64_t next = 0, sampled, now;
	size_t n;

	do {
		now = monotonic_now();
		n = all->closing ? 0 : find_due(all, now, due, &next, &sampled);
		if (!n)
			break;
		pthread_mutex_unlock(&all->lock);
		for (size_t i = 0; i < n; i++)
			look_at(due[i], now, sampled);
		pthread_mutex_lock(&all->lock);
	} while (true);
	return next;
}

/* Locked. */
static void save_counters(struct triggers *all)
{
	struct trigger *trigger;

	cds_list_for_each_entry(trigger, &all->list, node)
		if (trigger->unsaved)
			trigger_save(trigger);
}

static bool has_unsaved(const struct triggers *all)
{
	const struct trigger *trigger;

	cds_list_for_each_entry(trigger, &all->list, node)
		if (trigger->unsaved)
			return true;
	return false;
}

static void *run(void *arg)
{
	struct tracer *t = arg;
	struct triggers *all = triggers_of(t);
	uint64_t next, saved = 0, now;

	while (watcher_next(&all->engine)) {
		pthread_mutex_lock(&all->lock);
		next = look_at_due(all);
		/* Notifications of this thread, and of watch.c, which nudges it. */
		if (!cds_list_empty(&all->ready)) {
			pthread_mutex_unlock(&all->lock);
			notices_serve(all);
			pthread_mutex_lock(&all->lock);
		}
		now = monotonic_now();
		if (now - saved >= SAVE_PERIOD && has_unsaved(all)) {
			saved = now;
			save_counters(all);
		}
		if (has_unsaved(all) && saved + SAVE_PERIOD < next)
			next = saved + SAVE_PERIOD;
		pthread_mutex_unlock(&all->lock);
		watcher_sleep(&all->engine, -1, next);
	}
	return NULL;
}

void engine_nudge(struct triggers *all)
{
	int ret = all->count ? watcher_start(&all->engine, run, all->tracer) : 0;

	if (ret)
		tracer_report(all->tracer, "no thread for triggers: conditions about amounts are "
					   "not true before the next change of a trigger: %s",
			      strerror(-ret));
	watcher_nudge(&all->engine);
}

void engine_stop(struct triggers *all)
{
	pthread_mutex_lock(&all->lock);
	all->closing = true;
	pthread_mutex_unlock(&all->lock);
	watcher_end(&all->engine, &all->lock);
}
