/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/syncer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_MAX 4096  /* descriptors; what comes beyond is left to the kernel */

struct syncgroup {
	int refs;               /* atomic */
	uint64_t pending;       /* atomic */
	int error;              /* atomic */
};

struct job {
	struct job *next;
	struct syncgroup *group;        /* referenced */
	int fd;
};

static struct {
	pthread_mutex_t lock;   /* guards the rest */
	pthread_cond_t idle;
	struct job *first, **last;
	unsigned int count;
	bool running;           /* there is a thread; it ends when there is nothing left */
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, .last = &queue.first };

struct syncgroup *syncgroup_create(void)
{
	struct syncgroup *g = calloc(1, sizeof(*g));

	if (g)
		g->refs = 1;
	return g;
}

void syncgroup_put(struct syncgroup *g)
{
	/* Release and acquire: as in trace_put. */
	if (g && !__atomic_sub_fetch(&g->refs, 1, __ATOMIC_ACQ_REL))
		free(g);
}

static void *run(void *arg)
{
	struct job *j;

	pthread_mutex_lock(&queue.lock);
	while ((j = queue.first)) {
		queue.first = j->next;
		if (!queue.first)
			queue.last = &queue.first;
		pthread_mutex_unlock(&queue.lock);
		/* Not every file system can. */
		if (fsync(j->fd) < 0 && errno != EINVAL && errno != EROFS)
			__atomic_store_n(&j->group->error, errno, __ATOMIC_RELAXED);
		close(j->fd);
		__atomic_fetch_sub(&j->group->pending, 1, __ATOMIC_RELAXED);
		syncgroup_put(j->group);
		free(j);
		pthread_mutex_lock(&queue.lock);
		queue.count--;
	}
	queue.running = false;
	pthread_cond_broadcast(&queue.idle);
	pthread_mutex_unlock(&queue.lock);
	return arg;
}

/* With the lock. */
static void start(void)
{
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	queue.running = pthread_create(&id, &attr, run, NULL) == 0;
	pthread_attr_destroy(&attr);
}

void syncgroup_add(struct syncgroup *g, int fd)
{
	struct job *j = calloc(1, sizeof(*j));
	bool full;

	if (fd < 0 || !j || !g) {
		free(j);
		if (fd >= 0)
			close(fd);
		return;
	}
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	*j = (struct job){ .group = g, .fd = fd };
	pthread_mutex_lock(&queue.lock);
	full = queue.count >= QUEUE_MAX;
	if (!full) {
		__atomic_fetch_add(&g->pending, 1, __ATOMIC_RELAXED);
		*queue.last = j;
		queue.last = &j->next;
		queue.count++;
		if (!queue.running)
			start();
	}
	pthread_mutex_unlock(&queue.lock);
	if (full) {
		close(fd);
		free(j);
		syncgroup_put(g);
	}
}

uint64_t syncgroup_pending(const struct syncgroup *g)
{
	return g ? __atomic_load_n(&g->pending, __ATOMIC_RELAXED) : 0;
}

int syncgroup_error(const struct syncgroup *g)
{
	return g ? __atomic_load_n(&g->error, __ATOMIC_RELAXED) : 0;
}

void syncer_finish(int seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&queue.lock);
	while (queue.running && pthread_cond_timedwait(&queue.idle, &queue.lock, &until) == 0)
		;
	pthread_mutex_unlock(&queue.lock);
}
