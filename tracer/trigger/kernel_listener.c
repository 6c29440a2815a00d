// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread for conditions about events of the kernel: copies what the kernel has recorded into
 * the rings of each condition, and looks at them, until a look finds nothing. Then it sleeps until
 * the kernel says that a buffer has a record; with a backend that cannot say so, it looks each
 * millisecond. It looks at most once in a millisecond. When a look takes long, the thread looks
 * less often: it uses at most a twentieth of a CPU without hits, and at most a quarter with hits,
 * because what it does not copy in time is lost.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tracer/kernel/available.h"
#include "tracer/trigger/event.h"
#include "tracer/trigger/listener.h"

#define IDLE_SHARE 20   /* a look without hits may take 1 / IDLE_SHARE of the time */
#define BUSY_SHARE 4
/* ns: a channel may get other buffers while the thread waits for those that it had */
#define LONGEST_SLEEP UINT64_C(100000000)

static bool is_listened_to(const struct trigger *trigger)
{
	return trigger->events && trigger->enabled && trigger->condition.domain == DOMAIN_KERNEL;
}

/* Locked. The conditions to look at; *count is 0 if there is none, or no memory. */
static struct listened *list_tasks(struct triggers *all, size_t *count, bool *some)
{
	struct trigger *trigger;
	struct listened *tasks;
	size_t n = 0;

	*count = 0;
	cds_list_for_each_entry(trigger, &all->list, node)
		n += is_listened_to(trigger);
	*some = n != 0;
	tasks = n ? calloc(n, sizeof(*tasks)) : NULL;
	if (!tasks)
		return NULL;
	cds_list_for_each_entry(trigger, &all->list, node) {
		if (!is_listened_to(trigger))
			continue;
		trigger->refs++;
		tasks[(*count)++] = (struct listened){
			.trigger = trigger, .session = session_ref(trigger->events),
			.version = trigger->version,
		};
	}
	return tasks;
}

/* Without lock. Returns whether there were hits. */
static bool run_task(const struct listened *task)
{
	const struct domain_ops *ops = task->trigger->tracer->domains[DOMAIN_KERNEL];
	struct stream_set set = { 0 };
	bool some = false;

	UNLOCKED(task->trigger->tracer, ops->drain(task->session));
	if (!session_streams(task->session, NULL, &set))
		for (size_t i = 0; i < set.count && !some; i++)
			some = stream_has_hits(&set.streams[i]);
	some = some && take_hits(task, &set);
	stream_set_deinit(&set);
	return some;
}

/* Without lock. An epoll(7) that is readable when one of the tasks has records; -1: none can. */
static int watch_tasks(const struct listened *tasks, size_t count)
{
	int epoll = count ? epoll_create1(EPOLL_CLOEXEC) : -1, n = 1;

	for (size_t i = 0; epoll >= 0 && i < count && n > 0; i++) {
		struct tracer *t = tasks[i].trigger->tracer;

		UNLOCKED(t, n = t->domains[DOMAIN_KERNEL]->watch(tasks[i].session, epoll));
	}
	if (epoll >= 0 && n <= 0) {
		close(epoll);
		epoll = -1;
	}
	return epoll;
}

/* Without lock. */
static void free_tasks(struct listened *tasks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		session_put(tasks[i].session);
		trigger_put(tasks[i].trigger);
	}
	free(tasks);
}

/* Without lock. One look at all tasks, and the sleep after it. */
static void look(struct triggers *all, struct listened *tasks, size_t count)
{
	uint64_t began = monotonic_now(), took;
	bool hit = false;
	int records;

	for (size_t i = 0; i < count; i++)
		hit |= run_task(&tasks[i]);
	records = hit ? -1 : watch_tasks(tasks, count);
	took = (monotonic_now() - began) * (hit ? BUSY_SHARE : IDLE_SHARE);
	watcher_sleep(&all->kernel_listener, -1, began + (took > PERIOD ? took : PERIOD));
	if (records < 0)
		return;
	watcher_sleep(&all->kernel_listener, records, monotonic_now() + LONGEST_SLEEP);
	close(records);
}

static void *run(void *arg)
{
	struct triggers *all = triggers_of(arg);
	struct listened *tasks;
	size_t count;
	bool some;

	while (watcher_next(&all->kernel_listener)) {
		pthread_mutex_lock(&all->lock);
		tasks = list_tasks(all, &count, &some);
		pthread_mutex_unlock(&all->lock);
		if (some)
			look(all, tasks, count);
		else
			watcher_sleep(&all->kernel_listener, -1, WATCHER_NEVER);
		free_tasks(tasks, count);
	}
	return NULL;
}

void kernel_listener_nudge(struct triggers *all)
{
	int ret = kernel_is_open(all->tracer) && all->count
			  ? watcher_start(&all->kernel_listener, run, all->tracer)
			  : 0;

	if (ret)
		tracer_report(all->tracer, "no thread for triggers: conditions about events of the "
					   "kernel are not true before the next change of a "
					   "trigger: %s", strerror(-ret));
	watcher_nudge(&all->kernel_listener);
}

void kernel_listener_stop(struct triggers *all)
{
	watcher_end(&all->kernel_listener, &all->lock);
}
