/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/syncer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/worker.h"

#define QUEUE_MAX 256   /* descriptors; the next one is synced with its whole file system */

struct syncgroup {
	struct syncgroup *next;         /* in the list of all groups; constant */
	int refs;                       /* atomic; 0: free for reuse when its thread has ended */
	uint64_t pending;               /* atomic */
	int error;                      /* atomic */
	struct worker worker;
	pthread_mutex_t lock;           /* guards the rest; taken before the worker's lock */
	/* a syncfs job is queued for dev: it covers all earlier writes */
	bool whole;
	dev_t dev;
};

struct job {
	struct work work;               /* first */
	struct syncgroup *group;        /* referenced */
	int fd;
	bool whole;                     /* syncfs */
};

/* Groups are never freed, because a thread uses its group after its last job. */
static struct {
	pthread_mutex_t lock;           /* guards adding and reusing groups */
	struct syncgroup *first;
} groups = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_unused(struct syncgroup *g)
{
	bool running;

	/* Pairs with the release in syncgroup_put: all other uses are complete. */
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
	for (g = groups.first; g && !is_unused(g); g = g->next)
		;
	if (!g && (g = calloc(1, sizeof(*g)))) {
		g->worker = (struct worker)WORKER_INIT;
		g->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
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

void syncgroup_fail(struct syncgroup *g, int error)
{
	if (g && error)
		__atomic_store_n(&g->error, -error, __ATOMIC_RELAXED);
}

static void run_job(struct work *work)
{
	struct job *j = (struct job *)work;

	if (j->whole) {
		pthread_mutex_lock(&j->group->lock);
		j->group->whole = false;
		pthread_mutex_unlock(&j->group->lock);
	}
	/*
	 * EINVAL, EROFS: not every file system can sync. (Before Linux 5.8 syncfs does not report
	 * all errors.)
	 */
	if ((j->whole ? syncfs(j->fd) : fsync(j->fd)) < 0 && errno != EINVAL && errno != EROFS)
		syncgroup_fail(j->group, -errno);
	close(j->fd);
	__atomic_fetch_sub(&j->group->pending, 1, __ATOMIC_RELAXED);
	syncgroup_put(j->group);
	free(j);
}

/*
 * Makes the job a syncfs of its whole file system (*taken), unless one is queued. False: the file
 * is not covered, because there is no thread or the queued job is for another file system.
 */
static bool add_whole(struct job *j, bool *taken)
{
	struct syncgroup *g = j->group;
	bool covered;
	struct stat st;

	*taken = false;
	if (fstat(j->fd, &st) < 0)
		return false;
	pthread_mutex_lock(&g->lock);
	if (!g->whole) {
		j->whole = true;
		*taken = g->whole = worker_add(&g->worker, &j->work, QUEUE_MAX + 1);
		g->dev = st.st_dev;
	}
	covered = g->whole && g->dev == st.st_dev;
	pthread_mutex_unlock(&g->lock);
	return covered;
}

static void add_job(struct syncgroup *g, int fd, bool whole)
{
	struct job *j = g ? calloc(1, sizeof(*j)) : NULL;
	bool taken;

	if (!j) {
		syncgroup_fail(g, -ENOMEM);
		close(fd);
		return;
	}
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&g->pending, 1, __ATOMIC_RELAXED);
	*j = (struct job){ .work.run = run_job, .group = g, .fd = fd };
	if (!whole && worker_add(&g->worker, &j->work, QUEUE_MAX))
		return;
	/* Set the error before `pending` goes down: 0 pending without an error means synced. */
	if (!add_whole(j, &taken))
		syncgroup_fail(g, -EAGAIN);
	if (taken)
		return;
	__atomic_fetch_sub(&g->pending, 1, __ATOMIC_RELAXED);
	close(fd);
	free(j);
	syncgroup_put(g);
}

static int add_checked(struct syncgroup *g, int fd, bool whole)
{
	if (fd >= 0)
		add_job(g, fd, whole);
	return fd >= 0 || fd == -ENOENT || fd == -ESTALE ? 0 : fd;
}

static int copy_fd(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

int syncgroup_add(struct syncgroup *g, int fd)
{
	return add_checked(g, fd, false);
}

int syncgroup_add_copy(struct syncgroup *g, int fd)
{
	return add_checked(g, copy_fd(fd), false);
}

int syncgroup_add_system_of(struct syncgroup *g, int fd)
{
	return add_checked(g, copy_fd(fd), true);
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
