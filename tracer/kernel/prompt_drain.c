// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drains channels soon after the kernel has records for them. Some contexts, filters and inclusion
 * sets need what only /proc says of a thread, and /proc says it only while the thread exists. One
 * thread drains the channels that need it while they record. It sleeps until a buffer has a record,
 * drains at most once in a millisecond, and uses at most a quarter of a CPU. It also reads the
 * records about threads (thread_events.c): what a new thread inherits is read while its maker
 * exists.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tracer/base/os/clock.h"
#include "tracer/kernel/kernel.h"

#define SHARE 4         /* the thread uses 1 / SHARE of a CPU at most */
#define NICE (-10)      /* a drain that comes late finds threads that have ended */
#define PERIOD UINT64_C(1000000)                /* ns between two drains at least */
#define UNWATCHED_PERIOD UINT64_C(10000000)     /* ns: of a backend that cannot wake the thread */

/* Caller holds tracer.lock. The channels to drain, referenced; NULL: none, or no memory. */
static struct kchannel **list_channels(struct tracer *t, size_t *count)
{
	struct kchannel **all;
	struct session *s;
	struct channel *c;
	size_t n = 0;

	*count = 0;
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			n += c->kchannel && c->kchannel->prompt;
	all = n ? calloc(n, sizeof(*all)) : NULL;
	if (!all)
		return NULL;
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			if (c->kchannel && c->kchannel->prompt) {
				all[(*count)++] = c->kchannel;
				__atomic_fetch_add(&c->kchannel->refs, 1, __ATOMIC_RELAXED);
			}
	return all;
}

/* An epoll(7) that is readable when there is a record; -1: a buffer cannot say so. */
static int watch_channels(struct kernel *k, struct kchannel **all, size_t count)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool good = epoll >= 0 && kernel_follower_watch(k, epoll) >= 0;

	for (size_t i = 0; i < count && good; i++)
		good = kchannel_watch(all[i], epoll) >= 0;
	if (epoll >= 0 && !good) {
		close(epoll);
		epoll = -1;
	}
	return epoll;
}

/* One drain of all channels, and the sleep after it. */
static void drain_all(struct kernel *k, struct kchannel **all, size_t count)
{
	uint64_t used = thread_cpu_time(), pause;
	int records;

	kernel_follower_read(k);
	for (size_t i = 0; i < count; i++)
		kchannel_drain(all[i], 0);
	records = watch_channels(k, all, count);
	/* Not of the time that passed: on a busy machine that is mostly other programs' time. */
	pause = (thread_cpu_time() - used) * (SHARE - 1);
	watcher_sleep(&k->prompt, -1, monotonic_now() + (pause > PERIOD ? pause : PERIOD));
	watcher_sleep(&k->prompt, records,
		      records < 0 ? monotonic_now() + UNWATCHED_PERIOD : WATCHER_NEVER);
	if (records >= 0)
		close(records);
}

static void *run(void *arg)
{
	struct tracer *t = arg;
	struct kernel *k = kernel_of(t);
	struct kchannel **all;
	size_t count;

	/* Of this thread alone. If it is not permitted, the thread is as late as others. */
	setpriority(PRIO_PROCESS, 0, NICE);
	while (watcher_next(&k->prompt)) {
		pthread_mutex_lock(&t->lock);
		all = list_channels(t, &count);
		pthread_mutex_unlock(&t->lock);
		if (count)
			drain_all(k, all, count);
		else
			watcher_sleep(&k->prompt, -1, WATCHER_NEVER);
		for (size_t i = 0; i < count; i++)
			kchannel_put(all[i]);
		free(all);
	}
	return NULL;
}

void kernel_prompt_update(struct tracer *t)
{
	struct watcher *w = &kernel_of(t)->prompt;
	int ret = watcher_start(w, run, t);

	if (ret)
		tracer_report(t, "no thread for values of /proc: contexts, filters and sets that "
				 "need them are right only for threads that exist when a program "
				 "reads the session: %s", strerror(-ret));
	watcher_nudge(w);
}

void kernel_prompt_end(struct tracer *t)
{
	if (kernel_of(t))
		watcher_end(&kernel_of(t)->prompt, &t->lock);
}
