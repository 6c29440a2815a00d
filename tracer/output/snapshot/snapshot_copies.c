// SPDX-License-Identifier: GPL-2.0-or-later
/* The copies of a session's snapshots: the queue, its threads, and threads that wait for copies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracer/base/timefmt.h"
#include "tracer/base/os/thread.h"
#include "tracer/output/output.h"
#include "tracer/output/snapshot/copies.h"

#define WAIT_MS 10000           /* for which the verb waits for its copies */

static void destroy_copy(struct snapshot_copy *c)
{
	image_put(c->image);
	targets_free(c->target);
	free(c);
}

bool snapshot_copy_quits(void *copy)
{
	struct snapshot_copy *c = copy;
	struct snapshot_copies *q = snapshots_of(c->session)->copies;
	bool quit;

	pthread_mutex_lock(&q->lock);
	quit = q->quit;
	pthread_mutex_unlock(&q->lock);
	return quit || __atomic_load_n(&c->cancelled, __ATOMIC_RELAXED);
}

/* ---- the threads ---- */

/* A copy at this place is being made. Caller holds the queue's lock. */
static bool place_is_busy(const struct snapshot_copies *q, const char *place)
{
	for (const struct snapshot_copy *c = q->first; c; c = c->next)
		if (c->running && !strcmp(copy_place(c), place))
			return true;
	return false;
}

/* The oldest copy whose place is free; NULL: the thread ends. */
static struct snapshot_copy *take_copy(struct snapshot_copies *q)
{
	struct snapshot_copy *c;

	pthread_mutex_lock(&q->lock);
	c = q->quit ? NULL : q->first;
	while (c && (!c->image || c->running || place_is_busy(q, copy_place(c))))
		c = c->next;
	if (c)
		c->running = true;
	pthread_mutex_unlock(&q->lock);
	return c;
}

static void unlink_copy(struct snapshot_copies *q, const struct snapshot_copy *c)
{
	struct snapshot_copy **at = &q->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
}

static void tell_waiting(struct snapshot_copy *c, int ret, const struct tr_err *why)
{
	struct copy_wait *w = c->wait;

	w->left--;
	c->wait = NULL;
	if (!ret || w->err)
		return;
	w->err = ret;
	snprintf(w->why, sizeof(w->why), "%.100s: %.150s",
		 c->target ? copy_place(c) : "the output", why->sentence);
}

/* sentence: "" if the copy is complete. Caller holds the queue's lock. */
static void note_error(struct snapshot_copies *q, const char *place, const char *sentence)
{
	if (!sentence[0] && q->error_place && strcmp(q->error_place, place))
		return;
	free(q->error_place);
	q->error_place = sentence[0] ? strdup(place) : NULL;
	snprintf(q->error, sizeof(q->error), "%s", sentence);
}

/*
 * The copy is over: takes it from the queue. True: it failed, and no thread waits for it. Caller
 * holds tracer.lock.
 */
static bool end_copy(struct snapshot_copies *q, struct snapshot_copy *c, int ret,
		     const struct tr_err *why)
{
	bool report;

	pthread_mutex_lock(&q->lock);
	unlink_copy(q, c);
	q->copied += !ret;
	/* (If it was cancelled, the thread that waited has said so.) */
	report = ret && !c->wait && ret != -ECANCELED;
	if (ret != -ECANCELED)
		note_error(q, copy_place(c), ret ? why->sentence : "");
	if (c->wait)
		tell_waiting(c, ret, why);
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return report;
}

static void report_failure(struct session *s, const struct snapshot_copy *c,
			   const struct tr_err *why)
{
	if (c->target)
		session_failed(s, "snapshot %s could not be copied to %s: %s", c->name,
			       copy_place(c), why->sentence);
	else
		session_failed(s, "snapshot %s cannot be copied to the output: %s", c->name,
			       why->sentence);
}

/* The daemon or the session ends: only the next daemon can make this copy. */
static bool leave_copy(struct snapshot_copies *q, struct snapshot_copy *c)
{
	struct trace_image *image = NULL;
	bool left;

	pthread_mutex_lock(&q->lock);
	left = q->quit;
	if (left) {
		image = c->image;
		c->image = NULL;
		c->running = false;
		if (c->wait)
			tell_waiting(c, -ECANCELED, &(struct tr_err){ .sentence = "it ends" });
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	image_put(image);
	return left;
}

static void make_copy(struct session *s, struct snapshot_copy *c)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;
	struct tr_err why = TR_ERR_INIT;
	int ret = snapshot_copy_run(c, &why);
	bool report;

	if (ret == -ECANCELED && leave_copy(q, c))
		return;
	pthread_mutex_lock(&s->tracer->lock);
	report = end_copy(q, c, ret, &why);
	if (report)
		report_failure(s, c, &why);
	snapshot_copied(s, c->key, ret);
	session_save(s);
	session_changed(s);
	pthread_mutex_unlock(&s->tracer->lock);
	destroy_copy(c);
	parts_gc(s->tracer);
}

static void *run_copies(void *arg)
{
	struct session *s = arg;
	struct snapshot_copy *c;

	while ((c = take_copy(snapshots_of(s)->copies)))
		make_copy(s, c);
	session_put(s);
	return NULL;
}

static int start_thread(struct session *s)
{
	int err = thread_start(256 * 1024, run_copies, session_ref(s));

	if (err)
		/* the caller has another reference */
		__atomic_fetch_sub(&s->refs, 1, __ATOMIC_RELAXED);
	return err;
}

/* ---- the queue ---- */

static struct snapshot_copies *queue_of(struct session *s)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q || !(q->sync = syncgroup_create())) {
		free(q);
		return NULL;
	}
	pthread_mutex_init(&q->lock, NULL);
	cond_init_monotonic(&q->changed);
	snapshots_of(s)->copies = q;
	return q;
}

void snapshot_copies_destroy(struct session *s)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;

	targets_free(snapshots_of(s)->targets);
	snapshots_of(s)->targets = NULL;
	if (!q)
		return;
	while (q->first) {
		struct snapshot_copy *c = q->first;

		q->first = c->next;
		destroy_copy(c);
	}
	syncgroup_put(q->sync);
	free(q->error_place);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
	snapshots_of(s)->copies = NULL;
}

struct snapshot_copy *copy_append(struct session *s, uint64_t key, const char *name,
				  const struct snapshot_target *target)
{
	struct snapshot_copies *q = queue_of(s);
	struct snapshot_copy *c = q ? calloc(1, sizeof(*c)) : NULL, **last;

	if (!c)
		return NULL;
	c->session = s;
	c->key = key;
	c->target = target ? target_copy(target) : NULL;
	c->reached = !target || !target->remote;
	snprintf(c->name, sizeof(c->name), "%s", name);
	if (target && !c->target) {
		free(c);
		return NULL;
	}
	pthread_mutex_lock(&q->lock);
	for (last = &q->first; *last; last = &(*last)->next)
		;
	*last = c;
	pthread_mutex_unlock(&q->lock);
	return c;
}

int copy_begin(struct session *s, struct snapshot_copy *c, struct snapshot *sn,
	       struct copy_wait *wait)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;
	int err;

	pthread_mutex_lock(&q->lock);
	/* No thread takes it any more, and with its image it would keep the session that ends. */
	if (q->quit) {
		pthread_mutex_unlock(&q->lock);
		return 0;
	}
	c->image = image_get(sn->image);
	c->wait = wait;
	if (wait) {
		wait->left++;
		wait->all++;
	}
	pthread_mutex_unlock(&q->lock);
	err = start_thread(s);
	if (!err)
		return 0;
	/* Another thread may have taken it; it does not free it before tracer.lock is released. */
	pthread_mutex_lock(&q->lock);
	if (c->running) {
		err = 0;
	} else {
		unlink_copy(q, c);
		if (wait) {
			wait->left--;
			wait->all--;
		}
	}
	pthread_mutex_unlock(&q->lock);
	if (err)
		destroy_copy(c);
	return err;
}

/*
 * Names the copy NAME-DATE-TIME-N, as LTTng does. A name that the daemon chose has that form
 * already.
 */
static void name_copy(struct session *s, const struct snapshot *sn, char *out, size_t size)
{
	char when[TIME_TEXT_MAX];

	if (sn->unnamed) {
		snprintf(out, size, "%s", sn->name);
		return;
	}
	time_print(sn->created, TIME_FORMAT_NAME, when);
	snprintf(out, size, "%s-%.15s-%u", sn->name, when, snapshots_of(s)->next++);
}

static int add_copy(struct session *s, struct snapshot *sn, const char *name,
		    const struct snapshot_target *target, struct copy_wait *wait)
{
	struct snapshot_copy *c = copy_append(s, sn->key, name, target);

	return c ? copy_begin(s, c, sn, wait) : -ENOMEM;
}

int snapshot_copies_add(struct session *s, struct snapshot *sn, const struct snapshot_target *only,
			struct copy_wait *wait)
{
	const struct snapshot_target *t = only ? only : snapshots_of(s)->targets;
	const struct image_file *files;
	char name[SNAPSHOT_COPY_MAX + 1];
	int err = 0;

	/* Before the first start a snapshot is empty. A relay that is the output gets none. */
	if (!image_files(sn->image, &files) || (!t && (!output_runs(s) || s->streamed)))
		return 0;
	name_copy(s, sn, name, sizeof(name));
	if (!t)
		return add_copy(s, sn, name, NULL, wait);
	for (; t && !err; t = only ? NULL : t->next)
		err = add_copy(s, sn, name, t, wait);
	return err;
}

void copy_drop(struct session *s, struct snapshot_copy *c)
{
	pthread_mutex_lock(&snapshots_of(s)->copies->lock);
	unlink_copy(snapshots_of(s)->copies, c);
	pthread_mutex_unlock(&snapshots_of(s)->copies->lock);
	destroy_copy(c);
}

bool snapshot_copies_pending(const struct session *s, uint64_t key)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;
	const struct snapshot_copy *c = NULL;

	if (!q)
		return false;
	pthread_mutex_lock(&q->lock);
	for (c = q->first; c && c->key != key; c = c->next)
		;
	pthread_mutex_unlock(&q->lock);
	return c != NULL;
}

size_t snapshot_copies_left(const struct session *s)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;
	size_t n = 0;

	if (!q)
		return 0;
	pthread_mutex_lock(&q->lock);
	for (const struct snapshot_copy *c = q->first; c; c = c->next)
		n++;
	pthread_mutex_unlock(&q->lock);
	return n;
}

/* ---- waiting ---- */

/* Waits until no copy is left that `wait` counts; NULL: none at all. False: the time is over. */
static bool wait_for_copies(struct snapshot_copies *q, const struct copy_wait *wait,
			    unsigned int ms)
{
	uint64_t until = monotonic_now() + ms * UINT64_C(1000000);
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	while (wait ? wait->left > 0 : q->first != NULL)
		if (pthread_cond_timedwait(&q->changed, &q->lock, &ts) == ETIMEDOUT)
			return wait ? !wait->left : !q->first;
	return true;
}

/* The thread stops waiting. Caller holds the queue's lock. */
static void stop_waiting(struct snapshot_copies *q, struct copy_wait *wait)
{
	for (struct snapshot_copy *c = q->first; c; c = c->next) {
		if (c->wait != wait)
			continue;
		c->wait = NULL;
		if (__atomic_load_n(&c->reached, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&c->cancelled, true, __ATOMIC_RELAXED);
		if (wait->err)
			continue;
		wait->err = -ETIMEDOUT;
		snprintf(wait->why, sizeof(wait->why), "%.100s: no connection in %d s",
			 copy_place(c), WAIT_MS / 1000);
	}
}

int snapshot_copies_wait(struct session *s, struct copy_wait *wait, struct tr_err *err)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;

	if (!wait->all)
		return 0;
	pthread_mutex_lock(&q->lock);
	if (!wait_for_copies(q, wait, WAIT_MS))
		stop_waiting(q, wait);
	pthread_mutex_unlock(&q->lock);
	if (!wait->err)
		return 0;
	if (wait->all > 1)
		return tr_fail(err, wait->err, "not all %u snapshot outputs have the snapshot; %s",
			       wait->all, wait->why);
	return tr_fail(err, wait->err, "the snapshot was not sent; %s", wait->why);
}

void snapshot_copies_finish(struct session *s, unsigned int ms)
{
	struct snapshot_copies *q;
	struct trace_image *image;

	pthread_mutex_lock(&s->tracer->lock);
	q = snapshots_of(s)->copies;
	pthread_mutex_unlock(&s->tracer->lock);
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	wait_for_copies(q, NULL, ms);
	q->quit = true;
	/* The images of copies that no thread has taken refer to the session. */
	for (struct snapshot_copy *c = q->first; c; c = c ? c->next : q->first) {
		image = c->running ? NULL : c->image;
		if (!image)
			continue;
		c->image = NULL;
		pthread_mutex_unlock(&q->lock);
		image_put(image);
		pthread_mutex_lock(&q->lock);
		c = NULL;       /* the list may have changed: from the beginning */
	}
	pthread_mutex_unlock(&q->lock);
}
