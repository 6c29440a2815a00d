// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread for conditions about events of the kernel: copies what the kernel has recorded into
 * the rings of each condition, and looks at them. It looks each millisecond while there is such a
 * condition. When a look takes long, the thread looks less often: it uses at most a twentieth of a
 * CPU without hits, and at most a quarter with hits, because what it does not copy in time is lost.
 */
#include <stdlib.h>
#include <time.h>

#include "tracer/trigger/event.h"
#include "tracer/trigger/listener.h"

#define IDLE_SHARE 20   /* a look without hits may take 1 / IDLE_SHARE of the time */
#define BUSY_SHARE 4

static bool is_listened_to(const struct trigger *g)
{
	return g->events && g->enabled && g->condition.domain == DOMAIN_KERNEL;
}

/* Locked. The conditions to look at; *count is 0 if there is none, or no memory. */
static struct listened *list_tasks(struct triggers *all, size_t *count, bool *some)
{
	struct trigger *g;
	struct listened *tasks;
	size_t n = 0;

	*count = 0;
	cds_list_for_each_entry(g, &all->list, node)
		n += is_listened_to(g);
	*some = n != 0;
	tasks = n ? calloc(n, sizeof(*tasks)) : NULL;
	if (!tasks)
		return NULL;
	cds_list_for_each_entry(g, &all->list, node) {
		if (!is_listened_to(g))
			continue;
		g->refs++;
		tasks[(*count)++] = (struct listened){
			.trigger = g, .session = session_ref(g->events), .version = g->version,
		};
	}
	return tasks;
}

/* Without lock. Puts the references. Returns whether there were hits. */
static bool run_task(struct listened *task)
{
	struct trigger *g = task->trigger;
	const struct domain_ops *ops = g->tracer->domains[DOMAIN_KERNEL];
	struct stream_set set = { 0 };
	bool some = false;

	UNLOCKED(g->tracer, ops->drain(task->session));
	if (!session_streams(task->session, NULL, &set))
		for (size_t i = 0; i < set.count && !some; i++)
			some = stream_has_hits(&set.streams[i]);
	some = some && take_hits(task, &set);
	stream_set_deinit(&set);
	session_put(task->session);
	trigger_put(g);
	return some;
}

/* Locked. Waits for the time of the next look. */
static void wait_until(struct triggers *all, uint64_t until)
{
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	if (!all->closing)
		pthread_cond_timedwait(&all->kernel_nudge, &all->lock, &ts);
}

static void *run(void *arg)
{
	struct triggers *all = ((struct tracer *)arg)->triggers;
	uint64_t began, took;
	struct listened *tasks;
	bool some, hit;
	size_t count;

	pthread_mutex_lock(&all->lock);
	while (!all->closing) {
		all->kernel_nudged = false;
		began = monotonic_now();
		tasks = list_tasks(all, &count, &some);
		while (!some && !all->kernel_nudged && !all->closing)
			pthread_cond_wait(&all->kernel_nudge, &all->lock);
		if (!some)
			continue;
		pthread_mutex_unlock(&all->lock);
		hit = false;
		for (size_t i = 0; i < count; i++)
			hit |= run_task(&tasks[i]);
		free(tasks);
		took = (monotonic_now() - began) * (hit ? BUSY_SHARE : IDLE_SHARE);
		pthread_mutex_lock(&all->lock);
		wait_until(all, began + (took > PERIOD ? took : PERIOD));
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

void kernel_listener_nudge(struct triggers *all)
{
	all->kernel_nudged = true;
	if (all->kernel_listens)
		pthread_cond_signal(&all->kernel_nudge);
}

void kernel_listener_start(struct tracer *t)
{
	struct triggers *all = t->triggers;
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&all->kernel_nudge, &clock);
	pthread_condattr_destroy(&clock);
	all->kernel_listens = pthread_create(&all->kernel_listener, NULL, run, t) == 0;
	if (!all->kernel_listens)
		tracer_report(t, "no thread for triggers: conditions about events of the kernel "
				 "are never true");
}

/* After engine_stop, which has set `closing`. */
void kernel_listener_stop(struct triggers *all)
{
	pthread_mutex_lock(&all->lock);
	if (all->kernel_listens)
		pthread_cond_signal(&all->kernel_nudge);
	pthread_mutex_unlock(&all->lock);
	if (all->kernel_listens)
		pthread_join(all->kernel_listener, NULL);
	all->kernel_listens = false;
	pthread_cond_destroy(&all->kernel_nudge);
}
