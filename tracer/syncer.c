/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/syncer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/worker.h"

#define QUEUE_MAX 4096  /* descriptors; what comes beyond is left to the kernel */

struct syncgroup {
	int refs;               /* atomic */
	uint64_t pending;       /* atomic */
	int error;              /* atomic */
};

struct job {
	struct work work;               /* first */
	struct syncgroup *group;        /* referenced */
	int fd;
};

static struct worker worker = WORKER_INIT;

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
		free(j);
		if (fd >= 0)
			close(fd);
		return;
	}
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&g->pending, 1, __ATOMIC_RELAXED);
	*j = (struct job){ .work.run = run, .group = g, .fd = fd };
	if (worker_add(&worker, &j->work, QUEUE_MAX))
		return;
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
	worker_finish(&worker, seconds);
}
