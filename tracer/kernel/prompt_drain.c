// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drains channels soon after the kernel has records for them. Some contexts, filters and inclusion
 * sets need what only /proc says of a thread, and /proc says it only while the thread exists. One
 * thread drains the channels that need it while they record. It sleeps until a buffer has a record,
 * drains at most once in a millisecond, and uses at most a quarter of a CPU. It also reads the
 * records about threads (thread_events.c): what a new thread inherits is read while its maker
 * exists.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/clock.h"
#include "tracer/kernel/kernel.h"

#define SHARE 4         /* the thread uses 1 / SHARE of a CPU at most */
#define NICE (-10)      /* a drain that comes late finds threads that have ended */
#define PERIOD UINT64_C(1000000)                /* ns between two drains at least */
#define UNWATCHED_PERIOD UINT64_C(10000000)     /* ns: of a backend that cannot wake the thread */

struct prompt_drain {
	struct tracer *tracer;
	int nudge;              /* eventfd; constant while the thread exists */
	/* Guarded by tracer.lock: */
	bool runs, closing;
	pthread_t thread;
};

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

/* Sleeps until a nudge, until `records` is readable (-1: no file), or a time. */
static void sleep_until(const struct prompt_drain *p, int records, uint64_t until)
{
	uint64_t now = monotonic_now(), left = until > now ? until - now : 0;
	struct timespec ts = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	struct pollfd fds[] = { { .fd = p->nudge, .events = POLLIN },
				{ .fd = records, .events = POLLIN } };

	ppoll(fds, 2, until == UINT64_MAX ? NULL : &ts, NULL);
}

static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* One drain of all channels, and the sleep after it. */
static void drain_all(struct prompt_drain *p, struct kchannel **all, size_t count)
{
	uint64_t used = cpu_time(), pause;
	int records;

	kernel_follower_read(kernel_of(p->tracer));
	for (size_t i = 0; i < count; i++)
		kchannel_drain(all[i], 0);
	records = watch_channels(kernel_of(p->tracer), all, count);
	/* Not of the time that passed: on a busy machine that is mostly other programs' time. */
	pause = (cpu_time() - used) * (SHARE - 1);
	sleep_until(p, -1, monotonic_now() + (pause > PERIOD ? pause : PERIOD));
	sleep_until(p, records,
		    records < 0 ? monotonic_now() + UNWATCHED_PERIOD : UINT64_MAX);
	if (records >= 0)
		close(records);
}

static void *run(void *arg)
{
	struct prompt_drain *p = arg;
	pthread_mutex_t *lock = &p->tracer->lock;
	struct kchannel **all;
	eventfd_t nudges;
	size_t count;

	/* Of this thread alone. If it is not permitted, the thread is as late as others. */
	setpriority(PRIO_PROCESS, 0, NICE);
	pthread_mutex_lock(lock);
	while (!p->closing) {
		eventfd_read(p->nudge, &nudges);
		all = list_channels(p->tracer, &count);
		pthread_mutex_unlock(lock);
		if (count)
			drain_all(p, all, count);
		else
			sleep_until(p, -1, UINT64_MAX);
		for (size_t i = 0; i < count; i++)
			kchannel_put(all[i]);
		free(all);
		pthread_mutex_lock(lock);
	}
	pthread_mutex_unlock(lock);
	return NULL;
}

void kernel_prompt_update(struct tracer *t)
{
	struct kernel *k = kernel_of(t);
	struct prompt_drain *p = k->prompt;

	if (!p) {
		p = k->prompt = calloc(1, sizeof(*p));
		if (p) {
			p->tracer = t;
			p->nudge = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		}
	}
	if (p && p->closing)
		return;
	if (p && !p->runs && p->nudge >= 0)
		p->runs = pthread_create(&p->thread, NULL, run, p) == 0;
	if (p && p->runs)
		eventfd_write(p->nudge, 1);
	else
		tracer_report(t, "no thread for values of /proc: contexts, filters and sets that "
				 "need them are right only for threads that exist when a program "
				 "reads the session");
}

void kernel_prompt_end(struct tracer *t)
{
	struct prompt_drain *p = kernel_of(t) ? kernel_of(t)->prompt : NULL;

	if (!p)
		return;
	pthread_mutex_lock(&t->lock);
	p->closing = true;
	pthread_mutex_unlock(&t->lock);
	if (p->runs) {
		eventfd_write(p->nudge, 1);
		pthread_join(p->thread, NULL);
	}
	p->runs = false;
}

void kernel_prompt_free(struct kernel *k)
{
	if (k->prompt && k->prompt->nudge >= 0)
		close(k->prompt->nudge);
	free(k->prompt);
	k->prompt = NULL;
}
