/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/syncer.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tracer/worker.h"

#define QUEUE_MAX 4096  /* descriptors; what comes beyond is left to the kernel, and told as an error */

struct syncgroup {
	struct syncgroup *next;         /* in the list of all; does not change */
	int refs;                       /* atomic; 0: it can be used again, once its thread has ended */
	uint64_t pending;               /* atomic */
	int error;                      /* atomic */
	struct worker worker;
};

struct job {
	struct work work;               /* first */
	struct syncgroup *group;        /* referenced */
	int fd;
};

/* Groups are never freed, because their threads end after their last job has. */
static struct {
	pthread_mutex_t lock;           /* guards adding, and taking one that is not used */
	struct syncgroup *first;
} groups = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool unused(struct syncgroup *g)
{
	bool running;

	/* Acquire: all that others did with it is done. */
	if (__atomic_load_n(&g->refs, __ATOMIC_ACQUIRE))
		return false;
	pthread_mutex_lock(&g->worker.lock);
	running = g->worker.running;
	pthread_mutex_unlock(&g->worker.lock);
	return !running;
}

struct syncgroup *syncgroup_create(void)
{
	struct syncgroup *g;

	pthread_mutex_lock(&groups.lock);
	for (g = groups.first; g && !unused(g); g = g->next)
		;
	if (!g && (g = calloc(1, sizeof(*g)))) {
		g->worker = (struct worker)WORKER_INIT;
		g->next = groups.first;
		groups.first = g;
	}
	if (g) {
		g->error = 0;
		__atomic_store_n(&g->refs, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&groups.lock);
	return g;
}

void syncgroup_put(struct syncgroup *g)
{
	if (g)
		__atomic_fetch_sub(&g->refs, 1, __ATOMIC_RELEASE);
}

static void run(struct work *work)
{
	struct job *j = (struct job *)work;

	/* Not every file system can. */
	if (fsync(j->fd) < 0 && errno != EINVAL && errno != EROFS)
		__atomic_store_n(&j->group->error, errno, __ATOMIC_RELAXED);
	close(j->fd);
	__atomic_fetch_sub(&j->group->pending, 1, __ATOMIC_RELAXED);
	syncgroup_put(j->group);
	free(j);
}

void syncgroup_add(struct syncgroup *g, int fd)
{
	struct job *j = calloc(1, sizeof(*j));

	if (fd < 0 || !j || !g) {
		if (fd >= 0 && g)
			__atomic_store_n(&g->error, ENOMEM, __ATOMIC_RELAXED);
		free(j);
		if (fd >= 0)
			close(fd);
		return;
	}
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&g->pending, 1, __ATOMIC_RELAXED);
	*j = (struct job){ .work.run = run, .group = g, .fd = fd };
	if (worker_add(&g->worker, &j->work, QUEUE_MAX))
		return;
	/* Nobody may take it for synced when nothing is pending. */
	__atomic_store_n(&g->error, EAGAIN, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&g->pending, 1, __ATOMIC_RELAXED);
	close(fd);
	free(j);
	syncgroup_put(g);
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
	time_t end = time(NULL) + seconds, now;
	struct syncgroup *g;

	pthread_mutex_lock(&groups.lock);
	for (g = groups.first; g && (now = time(NULL)) <= end; g = g->next)
		worker_finish(&g->worker, (int)(end - now));
	pthread_mutex_unlock(&groups.lock);
}
