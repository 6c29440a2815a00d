// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine's thread: looks at conditions about amounts when they are due, and saves counters.
 */
#include <errno.h>
#include <time.h>

#include "tracer/trigger/trigger.h"

#define SAVE_PERIOD UINT64_C(1000000000)        /* ns between two times that counters are saved */

static uint64_t monotonic_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool is_sampled(const struct trigger *g)
{
	return g->enabled && g->action_count && sample_is_for(g->condition.kind);
}

/* Locked. A trigger to look at now, referenced; NULL: none, and *next is when one is due. */
static struct trigger *find_due(struct triggers *all, uint64_t now, uint64_t *next)
{
	struct trigger *g;

	*next = UINT64_MAX;
	cds_list_for_each_entry(g, &all->list, node) {
		if (!is_sampled(g))
			continue;
		if (g->sample.due <= now) {
			g->refs++;
			return g;
		}
		if (g->sample.due < *next)
			*next = g->sample.due;
	}
	return NULL;
}

/* Locked. */
static void save_counters(struct triggers *all)
{
	struct trigger *g;

	cds_list_for_each_entry(g, &all->list, node)
		if (g->unsaved)
			trigger_save(g);
}

static bool has_unsaved(const struct triggers *all)
{
	const struct trigger *g;

	cds_list_for_each_entry(g, &all->list, node)
		if (g->unsaved)
			return true;
	return false;
}

/* Locked. */
static void wait_until(struct triggers *all, uint64_t when)
{
	struct timespec ts = { (time_t)(when / 1000000000), (long)(when % 1000000000) };

	if (all->nudged || all->closing)
		return;
	if (when == UINT64_MAX)
		pthread_cond_wait(&all->nudge, &all->lock);
	else
		pthread_cond_timedwait(&all->nudge, &all->lock, &ts);
}

static void *run(void *arg)
{
	struct tracer *t = arg;
	struct triggers *all = t->triggers;
	uint64_t next, saved = 0, now;
	struct trigger *g;

	pthread_mutex_lock(&all->lock);
	while (!all->closing) {
		all->nudged = false;
		while (!all->closing && (g = find_due(all, now = monotonic_now(), &next))) {
			pthread_mutex_unlock(&all->lock);
			sample_look(g, now);
			trigger_put(g);
			pthread_mutex_lock(&all->lock);
		}
		/* Notifications of this thread, and of watch.c, which nudges it. */
		if (!cds_list_empty(&all->ready)) {
			pthread_mutex_unlock(&all->lock);
			notices_serve(all);
			pthread_mutex_lock(&all->lock);
		}
		if (all->closing)
			break;
		if (now - saved >= SAVE_PERIOD && has_unsaved(all)) {
			saved = now;
			save_counters(all);
		}
		if (has_unsaved(all) && saved + SAVE_PERIOD < next)
			next = saved + SAVE_PERIOD;
		wait_until(all, next);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

void engine_nudge(struct triggers *all)
{
	all->nudged = true;
	if (all->runs)
		pthread_cond_signal(&all->nudge);
}

void engine_start(struct tracer *t)
{
	struct triggers *all = t->triggers;
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&all->nudge, &clock);
	pthread_condattr_destroy(&clock);
	all->runs = pthread_create(&all->thread, NULL, run, t) == 0;
	if (!all->runs)
		tracer_report(t, "no thread for triggers: conditions about amounts are never true");
}

void engine_stop(struct triggers *all)
{
	pthread_mutex_lock(&all->lock);
	all->closing = true;
	if (all->runs)
		pthread_cond_signal(&all->nudge);
	pthread_mutex_unlock(&all->lock);
	if (all->runs)
		pthread_join(all->thread, NULL);
	all->runs = false;
	pthread_cond_destroy(&all->nudge);
}
