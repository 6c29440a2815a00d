// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Snapshots that are taken after a time. Each is reserved in the session's list; one thread for
 * each session takes them when their time has come, and exists while some wait. The session's file
 * has a line for each, so the next daemon takes those that this one leaves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/os/thread.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/output/snapshot/target.h"
#include "tracer/session/session.h"

struct waiting {
	struct waiting *next;
	uint64_t key;                   /* of the snapshot */
	uint64_t to;                    /* its time, ns of the session's clock */
	struct snapshot_request request;        /* owned */
	bool begun;                     /* the thread takes it, and will remove it from the list */
};

struct snapshots_waiting {
	pthread_mutex_t lock;           /* a leaf; guards the rest */
	pthread_cond_t changed;
	struct waiting *first;
	bool running;                   /* there is a thread */
	bool quit;                      /* no snapshot is taken any more */
};

static struct snapshots_waiting *queue_of(struct session *s)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;

	if (q || !(q = calloc(1, sizeof(*q))))
		return q;
	pthread_mutex_init(&q->lock, NULL);
	cond_init_monotonic(&q->changed);
	snapshots_of(s)->waiting = q;
	return q;
}

static void free_waiting(struct waiting *w)
{
	snapshot_request_deinit(&w->request);
	free(w);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* ---- the thread ---- */

static struct waiting *find_earliest(const struct snapshots_waiting *q)
{
	struct waiting *best = NULL;

	for (struct waiting *w = q->first; w; w = w->next)
		if (!w->begun && (!best || w->to < best->to))
			best = w;
	return best;
}

/* The next one whose time has come; NULL: none is left, or the thread shall end. */
static struct waiting *wait_for_next(struct session *s)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;
	struct waiting *w = NULL;
	struct timespec until;
	uint64_t now;

	pthread_mutex_lock(&q->lock);
	while (!q->quit && (w = find_earliest(q))) {
		now = clock_now(session_clock(s));
		/* Another event may still get the time `now`. */
		if (now > w->to + 1)
			break;
		until = timespec_of(monotonic_now() + (w->to + 2 - now));
		pthread_cond_timedwait(&q->changed, &q->lock, &until);
	}
	w = q->quit ? NULL : w;
	if (w)
		w->begun = true;
	q->running = w != NULL;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return w;
}

/* Caller holds the lock. */
static void unlink_waiting(struct snapshots_waiting *q, const struct waiting *w)
{
	struct waiting **at = &q->first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

static void take(struct session *s, struct waiting *w)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = snapshot_complete(s, w->key, &w->request, &err);

	pthread_mutex_lock(&snapshots_of(s)->waiting->lock);
	unlink_waiting(snapshots_of(s)->waiting, w);
	pthread_mutex_unlock(&snapshots_of(s)->waiting->lock);
	if (ret && ret != -ENOENT)
		session_failed(s, "snapshot %s, which waited for its time, was not taken: %s",
			       w->request.name, err.sentence);
	pthread_mutex_lock(&s->tracer->lock);
	session_save(s);
	session_changed(s);
	pthread_mutex_unlock(&s->tracer->lock);
	free_waiting(w);
}

static void *run(void *arg)
{
	struct session *s = arg;
	struct waiting *w;

	while ((w = wait_for_next(s)))
		take(s, w);
	session_put(s);
	return NULL;
}

/* Caller holds tracer.lock and has a reference to the session. */
static int start_thread(struct session *s)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;
	bool start;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	start = q->first && !q->running && !q->quit;
	q->running = q->running || start;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	if (start && (err = thread_start(256 * 1024, run, session_ref(s)))) {
		__atomic_fetch_sub(&s->refs, 1, __ATOMIC_RELAXED);
		pthread_mutex_lock(&q->lock);
		q->running = false;
		pthread_mutex_unlock(&q->lock);
	}
	return err;
}

/* ---- the list ---- */

/* Caller holds tracer.lock. NULL: no memory. */
static struct waiting *add(struct session *s, uint64_t key, uint64_t to,
			   const struct snapshot_request *r)
{
	struct snapshots_waiting *q = queue_of(s);
	struct waiting *w = q ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	if (snapshot_request_copy(r, &w->request)) {
		free_waiting(w);
		return NULL;
	}
	w->key = key;
	w->to = to;
	w->request.waits = false;
	w->request.request = 0;
	pthread_mutex_lock(&q->lock);
	w->next = q->first;
	q->first = w;
	pthread_mutex_unlock(&q->lock);
	return w;
}

int snapshot_later(struct session *s, uint64_t key, uint64_t to, const struct snapshot_request *r,
		   struct tr_err *err)
{
	struct waiting *w = session_check_alive(s, err) ? NULL : add(s, key, to, r);
	int ret = w ? start_thread(s) : -ENOMEM;

	if (w && ret) {
		pthread_mutex_lock(&snapshots_of(s)->waiting->lock);
		unlink_waiting(snapshots_of(s)->waiting, w);
		pthread_mutex_unlock(&snapshots_of(s)->waiting->lock);
		free_waiting(w);
	}
	if (ret)
		snapshot_unreserve(s, key);
	else
		requests_add(&s->requests, r->request);
	session_save(s);
	session_changed(s);
	return ret ? tr_fail(err, ret, "the snapshot cannot wait: %s", strerror(-ret)) : 0;
}

void snapshots_wait_stop(struct session *s)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;
	uint64_t now = q ? clock_now(session_clock(s)) : 0;
	struct snapshot *sn;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	for (struct waiting *w = q->first; w; w = w->next) {
		sn = w->to > now ? snapshot_find_key(s, w->key) : NULL;
		if (sn)
			snapshot_end_at(s, sn, w->to = now);
	}
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

bool snapshots_wait(const struct session *s)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;
	bool wait;

	if (!q)
		return false;
	pthread_mutex_lock(&q->lock);
	wait = q->running;
	pthread_mutex_unlock(&q->lock);
	return wait;
}

void snapshots_wait_end(struct session *s)
{
	struct snapshots_waiting *q;

	pthread_mutex_lock(&s->tracer->lock);
	q = snapshots_of(s)->waiting;
	pthread_mutex_unlock(&s->tracer->lock);
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->quit = true;
	pthread_cond_broadcast(&q->changed);
	while (q->running)
		pthread_cond_wait(&q->changed, &q->lock);
	pthread_mutex_unlock(&q->lock);
}

void snapshots_wait_destroy(struct session *s)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;
	struct waiting *w;

	if (!q)
		return;
	while ((w = q->first)) {
		q->first = w->next;
		free_waiting(w);
	}
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
	snapshots_of(s)->waiting = NULL;
}

/* ---- the session's file: KEY FROM TO CREATED MAX TRANSIENT NAME [PLACE [max-size N]] ---- */

void snapshots_wait_save(const struct session *s, struct md_buf *out)
{
	struct snapshots_waiting *q = snapshots_of(s)->waiting;
	const struct snapshot *sn;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	for (const struct waiting *w = q->first; w; w = w->next) {
		sn = snapshot_find_key(s, w->key);
		if (!sn || sn->image)
			continue;
		md_buf_printf(out, "waiting_snapshot %016" PRIx64 " %" PRIu64 " %" PRIu64
			      " %" PRId64 " %" PRIu64 " %d %s%s", sn->key, sn->from, sn->to,
			      sn->created, w->request.max_size, w->request.transient, sn->name,
			      w->request.target ? " " : "\n");
		if (w->request.target)
			target_print(w->request.target, out);
	}
	pthread_mutex_unlock(&q->lock);
}

void snapshots_wait_restore(struct session *s, const char *value)
{
	struct snapshot_request r = { 0 };
	uint64_t key, from, to;
	int64_t created;
	int transient, n = 0, rest = 0;
	struct snapshot *sn;

	if (sscanf(value, "%" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNu64 " %d %n%*s%n",
		   &key, &from, &to, &created, &r.max_size, &transient, &n, &rest) != 6 ||
	    rest <= n || rest - n > SNAPSHOT_NAME_MAX)
		return;
	snprintf(r.name, sizeof(r.name), "%.*s", rest - n, value + n);
	if (value[rest] && !(r.target = target_read(value + rest)))
		return;
	r.transient = transient;
	sn = snapshot_adopt_reserved(s, r.name, key);
	if (sn) {
		sn->from = from;
		sn->to = to;
		sn->created = created;
		add(s, key, to, &r);
	}
	snapshot_request_deinit(&r);
}

void snapshots_wait_resume(struct session *s)
{
	if (snapshots_of(s)->waiting && start_thread(s))
		session_failed(s, "snapshots that wait for their time are not taken: no thread");
}
