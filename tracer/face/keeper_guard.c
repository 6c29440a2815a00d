// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tracer/face/face.h"
#include "tracer/face/keeper_guard.h"
#include "tracer/kernel/available.h"
#include "tracer/session/kept.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/output/snapshot/snapshot.h"

#define STACK (128 * 1024)
#define RETRY_MS 2000           /* between two attempts to start a keeper */

struct keeper_guard {
	pthread_t thread;
	int stop;               /* eventfd */
};

struct frozen {                 /* a snapshot's memory */
	uint64_t key;
	int fd;
};

/* Marks all buffers for another hand-over. Returns their number. */
static unsigned int forget_kept(struct tracer *t)
{
	unsigned int count = 0;
	struct session *s;
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;

	pthread_mutex_lock(&t->lock);
	for_each_buffer(t, s, c, group, b) {
		b->kept = false;
		count++;
	}
	__atomic_store_n(&t->keeper_pending, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	return count;
}

/*
 * Duplicates descriptors, so that they can be handed over without the lock. -ENOMEM: some are
 * missing.
 */
static int collect_snapshots(struct tracer *t, struct md_buf *out)
{
	struct snapshot *sn;
	struct session *s;
	int missing = 0;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(sn, &snapshots_of(s)->list, node) {
			struct frozen f = { .key = sn->key };

			if (!sn->image)
				continue;
			f.fd = fcntl(sn->image->fd, F_DUPFD_CLOEXEC, 0);
			if (f.fd >= 0)
				md_buf_put(out, &f, sizeof(f));
			else
				missing++;
		}
	pthread_mutex_unlock(&t->lock);
	return missing || out->failed ? -ENOMEM : 0;
}

/* Caller holds tracer.lock. */
static bool has_snapshot(struct tracer *t, uint64_t key)
{
	struct snapshot *sn;
	struct session *s;

	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
			if (sn->key == key && sn->image)
				return true;
	return false;
}

static unsigned int keep_snapshots(struct tracer *t)
{
	struct md_buf all = MD_BUF_INIT;
	int err = collect_snapshots(t, &all);
	unsigned int count = 0;

	for (size_t at = 0; at + sizeof(struct frozen) <= all.len; at += sizeof(struct frozen)) {
		struct frozen f;
		char name[32];

		memcpy(&f, all.data + at, sizeof(f));
		kept_descriptor_name(f.key, name);
		if (!keeper_put(t->keeper, name, f.fd))
			count++;
		else
			err = -EIO;
		close(f.fd);
		/* If the snapshot was removed meanwhile, take it back from the keeper here. */
		pthread_mutex_lock(&t->lock);
		if (!has_snapshot(t, f.key))
			keeper_drop(t->keeper, name);
		pthread_mutex_unlock(&t->lock);
	}
	md_buf_deinit(&all);
	if (err)
		tracer_report(t, "the new keeper did not get all snapshots: %s", strerror(-err));
	return count;
}

/* Starts a keeper; tries until it succeeds. False: the thread must stop. */
static bool replace_keeper(struct tracer *t, int stop)
{
	struct pollfd p = { .fd = stop, .events = POLLIN };
	int ret, reported = 0;

	while ((ret = keeper_replace(t->keeper))) {
		if (ret != reported)
			tracer_report(t,
				      "the keeper has ended, and no other can be started: %s. A "
				      "daemon that is killed now loses "
				      "all buffers",
				      strerror(-ret));
		reported = ret;
		if (poll(&p, 1, RETRY_MS) > 0)
			return false;
	}
	return true;
}

/*
 * Passes all buffers, and waits for threads that pass some of them. False: the keeper has ended, or
 * the thread must stop.
 */
static bool keep_all_buffers(struct tracer *t, int stop)
{
	struct pollfd p = { .fd = stop, .events = POLLIN };

	for (int pause = 1;; pause = pause < RETRY_MS / 2 ? 2 * pause : RETRY_MS) {
		buffers_keep(t);
		if (buffers_kept(t))
			return keeper_pid(t->keeper) != 0;
		if (!keeper_pid(t->keeper) || poll(&p, 1, pause) > 0)
			return false;
	}
}

static void *guard(void *arg)
{
	struct tracer *t = arg;
	int stop = face_data(t)->guard->stop;
	pid_t before = keeper_pid(t->keeper);

	while (keeper_watch(t->keeper, stop)) {
		unsigned int buffers, snapshots;

		/* Before the next keeper has a pid: see show_daemon(). */
		__atomic_store_n(&face_data(t)->keeper_ready, false, __ATOMIC_RELAXED);
		if (!replace_keeper(t, stop))
			break;
		buffers = forget_kept(t);
		snapshots = keep_snapshots(t);
		held_keep(t);
		kernel_keep(t);
		if (!keep_all_buffers(t, stop))
			continue;
		__atomic_store_n(&face_data(t)->keeper_ready, true, __ATOMIC_RELEASE);
		__atomic_fetch_add(&face_data(t)->keepers_replaced, 1, __ATOMIC_RELAXED);
		tracer_report(t,
			      "the keeper, process %d, has ended. Process %d takes its place and "
			      "has got %u buffers and %u snapshots",
			      (int)before, (int)keeper_pid(t->keeper), buffers, snapshots);
		before = keeper_pid(t->keeper);
		pthread_mutex_lock(&t->lock);
		tracer_changed(t, NULL);
		pthread_mutex_unlock(&t->lock);
	}
	return NULL;
}

void keeper_guard_start(struct tracer *t)
{
	struct keeper_guard *g = t->keeper ? calloc(1, sizeof(*g)) : NULL;
	pthread_attr_t attr;
	int err = ENOMEM;

	if (!t->keeper)
		return;
	__atomic_store_n(&face_data(t)->keeper_ready, true, __ATOMIC_RELAXED);
	if (g)
		g->stop = eventfd(0, EFD_CLOEXEC);
	if (g && g->stop >= 0) {
		face_data(t)->guard = g;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK);
		err = pthread_create(&g->thread, &attr, guard, t);
		pthread_attr_destroy(&attr);
		if (!err)
			return;
		face_data(t)->guard = NULL;
		close(g->stop);
	}
	free(g);
	tracer_report(t, "no thread watches the keeper: %s", strerror(err));
}

void keeper_guard_stop(struct tracer *t)
{
	struct keeper_guard *g = face_data(t)->guard;
	uint64_t one = 1;

	if (!g)
		return;
	/* Cannot fail: the count of an eventfd does not overflow by this. */
	if (write(g->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(g->thread, NULL);
	close(g->stop);
	free(g);
	face_data(t)->guard = NULL;
}
