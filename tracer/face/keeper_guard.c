// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tracer/face/face.h"
#include "tracer/face/keeper_guard.h"
#include "tracer/kernel/available.h"
#include "tracer/session/kept.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/output/snapshot/snapshot.h"

#define RETRY_MS 2000           /* between two attempts to start a keeper */

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

/* Starts a keeper. False: try again later. */
static bool replace_keeper(struct tracer *t)
{
	struct keeper_guard *g = &face_data(t)->guard;
	int ret;

	/* Before the next keeper has a pid: see show_daemon(). */
	__atomic_store_n(&face_data(t)->keeper_ready, false, __ATOMIC_RELAXED);
	ret = keeper_replace(t->keeper);
	if (ret && ret != g->error)
		tracer_report(t,
			      "the keeper has ended, and no other can be started: %s. A daemon "
			      "that is killed now loses all buffers",
			      strerror(-ret));
	g->error = ret;
	if (ret)
		return false;
	g->buffers = forget_kept(t);
	g->snapshots = keep_snapshots(t);
	held_keep(t);
	kernel_keep(t);
	return true;
}

/* The new keeper has all. */
static void end_hand_over(struct tracer *t)
{
	struct keeper_guard *g = &face_data(t)->guard;
	pid_t before = g->pid;

	g->pid = keeper_pid(t->keeper);
	__atomic_store_n(&face_data(t)->keeper_ready, true, __ATOMIC_RELEASE);
	__atomic_fetch_add(&face_data(t)->keepers_replaced, 1, __ATOMIC_RELAXED);
	tracer_report(t,
		      "the keeper, process %d, has ended. Process %d takes its place and "
		      "has got %u buffers and %u snapshots",
		      (int)before, (int)g->pid, g->buffers, g->snapshots);
	pthread_mutex_lock(&t->lock);
	tracer_changed(t, NULL);
	pthread_mutex_unlock(&t->lock);
}

static bool has_ended(const struct keeper *k)
{
	/* Without POLLIN: answers are no end. */
	struct pollfd p = { .fd = keeper_connection(k) };

	return poll(&p, 1, 0) > 0;
}

int tracer_keeper(struct tracer *t)
{
	/* It hangs up without an end while there is no next one. */
	return t->keeper && face_data(t)->guard.step != GUARD_START ? keeper_connection(t->keeper)
								   : -1;
}

int64_t tracer_guard_keeper(struct tracer *t, int64_t now)
{
	struct keeper_guard *g = &face_data(t)->guard;

	if (t->keeper && g->step != GUARD_START && has_ended(t->keeper))
		*g = (struct keeper_guard){ .step = GUARD_START, .pid = g->pid, .due = now };
	if (!t->keeper || g->step == GUARD_WATCH)
		return -1;
	if (now < g->due)
		return g->due;
	if (g->step == GUARD_START && replace_keeper(t))
		g->step = GUARD_PASS;
	if (g->step == GUARD_PASS) {
		buffers_keep(t);
		if (buffers_kept(t) && keeper_pid(t->keeper)) {
			end_hand_over(t);
			g->step = GUARD_WATCH;
			return -1;
		}
	}
	/* Until a keeper can be started, or until other threads have passed their buffers. */
	g->pause = g->step == GUARD_START || g->pause >= RETRY_MS / 2 ? RETRY_MS : 2 * g->pause + 1;
	return g->due = now + g->pause;
}

void keeper_guard_begin(struct tracer *t)
{
	if (!t->keeper)
		return;
	face_data(t)->guard.pid = keeper_pid(t->keeper);
	__atomic_store_n(&face_data(t)->keeper_ready, true, __ATOMIC_RELAXED);
}
