/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/reply.h"
#include "fs/fuse/source.h"
#include "fs/fuse/waiter.h"
#include "fs/tree/tree.h"
#include "tracer/face/tracer.h"
#include "tracer/trigger/trigger_files.h"

#define TICK 20                 /* ms between two looks at parked reads */

struct parked {
	STAILQ_ENTRY(parked) link;
	struct fuse_req *req;
	uint64_t unique;
	uint32_t noted;         /* handover_park */
	uint64_t offset;
	size_t size;
	bool nonblock;
};

struct waiter {
	struct source source;           /* without a view: only polled for changes */
	const struct node *node;
	atomic_uint_fast64_t seen;      /* value of `change` that the reader knows */

	/* Guarded by the lock below. */
	STAILQ_HEAD(, parked) queue;
	struct fuse_pollhandle *ph;
	unsigned refs;                  /* of the open file, and of each thread at work on it */
	bool busy;              /* a thread calls the view: it owns the source */
	bool again;             /* another thread found it busy: there may be more data */
	bool listed;
	bool tick;                      /* data may come unannounced */
	uint64_t round;
	TAILQ_ENTRY(waiter) link;
};

static struct {
	/*
	 * Guards everything in this struct and the marked part of all waiters. Not held while a
	 * view, the tracer or a reply is called.
	 */
	pthread_mutex_t lock;
	TAILQ_HEAD(, waiter) waiters;   /* with something parked, or polled */
	size_t changes;                 /* how many of them are polled for changes only */
	uint64_t round;
	bool stop;
	bool kept;              /* with `stop`: the sessions do not end */
	bool looking;           /* the main thread visits all waiters */
	bool ticking;           /* it has seen a `tick`, and looks again after TICK */
} wait = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.waiters = TAILQ_HEAD_INITIALIZER(wait.waiters),
};

/* ---- one waiter; callers hold wait.lock ---- */

static void list_waiter(struct waiter *w)
{
	if (w->listed)
		return;
	TAILQ_INSERT_TAIL(&wait.waiters, w, link);
	wait.changes += !w->source.view;
	w->listed = true;
}

static void unlist_if_idle(struct waiter *w)
{
	/* A busy thread may put back what it took out of the queue. */
	if (w->listed && !w->busy && STAILQ_EMPTY(&w->queue) && !w->ph) {
		TAILQ_REMOVE(&wait.waiters, w, link);
		wait.changes -= !w->source.view;
		w->listed = false;
	}
}

/*
 * The main thread may be asleep without a time limit. In a look it finds the tick at the end: a
 * kick would make each look follow the one before without a pause.
 */
static void set_tick(struct waiter *w, bool tick)
{
	w->tick = tick;
	if (tick && !wait.ticking && !wait.looking)
		chores_kick();
}

static void destroy_waiter(struct waiter *w)
{
	source_close(&w->source);
	node_forget(w->node->id, 1);
	free(w);
}

/* Puts a reference and releases wait.lock. */
static void unref_unlock(struct waiter *w)
{
	bool last = !--w->refs;

	unlist_if_idle(w);      /* idle if it is the last: no read waits in a closed file */
	pthread_mutex_unlock(&wait.lock);
	if (last)
		destroy_waiter(w);
}

/* ---- reading; by the thread that made the waiter busy, without wait.lock ---- */

static void free_parked(struct parked *p)
{
	handover_unpark(p->noted);
	free(p);
}

/* Answers one parked read. False: there is still no data. */
static bool try_read(struct waiter *w, struct parked *p)
{
	struct iovec parts[VIEW_PARTS];
	int count = source_peek(&w->source, p->unique, p->offset, p->size, parts);
	char *buf = count ? NULL : malloc(p->size ? p->size : 1);
	ssize_t n = -ENOMEM;

	if (buf)
		n = source_read(&w->source, p->unique, p->offset, buf, p->size);
	if (!count && n == -EAGAIN && !p->nonblock) {
		free(buf);
		return false;
	}
	if (count)
		reply_parts(p->req, parts, count);
	else if (n >= 0)
		reply_data(p->req, buf, (size_t)n);
	else
		reply_error(p->req, (int)-n);
	free(buf);
	if (w->source.view->ahead)
		w->source.view->ahead(w->source.state);
	return true;
}

/* Answers a read without data. Caller holds wait.lock, which is released in between. */
static void end_parked(struct parked *p, bool stop)
{
	int error = !stop ? EINTR : wait.kept ? ENOTCONN : 0;

	pthread_mutex_unlock(&wait.lock);
	if (error)
		reply_error(p->req, error);
	else
		reply_data(p->req, "", 0);
	free_parked(p);
	pthread_mutex_lock(&wait.lock);
}

/*
 * Answers the reads of the queue in order, until one has to wait. Caller holds wait.lock, which is
 * released in between, and a reference.
 */
static void serve_queue(struct waiter *w)
{
	bool served = false;
	struct parked *p;

	w->again = w->again || w->busy;
	while (!w->busy && (p = STAILQ_FIRST(&w->queue))) {
		bool done, tick;

		STAILQ_REMOVE_HEAD(&w->queue, link);
		w->busy = true;
		w->again = false;
		pthread_mutex_unlock(&wait.lock);
		/* Before the attempt: a session that starts later announces its change. */
		tick = tree_unannounced(w->node);
		done = try_read(w, p);
		pthread_mutex_lock(&wait.lock);
		w->busy = false;
		if (done) {
			free_parked(p);
			served = true;
			continue;
		}
		/* It was in no queue: a signal or wait_stop could not find it. */
		if (wait.stop || reply_interrupted(p->req)) {
			w->busy = true;
			end_parked(p, wait.stop);
			w->busy = false;
			continue;
		}
		STAILQ_INSERT_HEAD(&w->queue, p, link);
		list_waiter(w);
		set_tick(w, tick);
		if (!w->again)
			break;
	}
	if (served && w->ph)
		chores_kick();         /* a poll may have found it busy */
}

/* True if there is something to read. Caller as for serve_queue. */
static bool readable(struct waiter *w)
{
	bool ready, tick;

	w->again = w->again || w->busy;
	if (w->busy || !STAILQ_EMPTY(&w->queue))
		return false;   /* reads come first */
	do {
		w->busy = true;
		w->again = false;
		pthread_mutex_unlock(&wait.lock);
		tick = tree_unannounced(w->node);
		ready = source_ready(&w->source);
		pthread_mutex_lock(&wait.lock);
		w->busy = false;
	} while (!ready && w->again && STAILQ_EMPTY(&w->queue));
	set_tick(w, tick);
	if (!STAILQ_EMPTY(&w->queue))
		serve_queue(w);       /* requests that found it busy */
	return ready;
}

static bool has_changed(struct waiter *w)
{
	bool yes;

	pthread_mutex_unlock(&wait.lock);
	yes = w->node->row->change(w->node) != atomic_load(&w->seen);
	pthread_mutex_lock(&wait.lock);
	return yes;
}

static unsigned poll_bits(struct waiter *w)
{
	if (w->source.view)
		return readable(w) ? POLLIN | POLLRDNORM : 0;
	return POLLIN | POLLRDNORM | (has_changed(w) ? POLLPRI | POLLERR : 0);
}

/* Wakes a poll that has what it waits for. Puts a reference and releases wait.lock. */
static void serve_unref(struct waiter *w)
{
	struct fuse_pollhandle *ph = NULL;

	serve_queue(w);
	if (w->ph && (poll_bits(w) & ~(unsigned)(w->source.view ? 0 : POLLIN | POLLRDNORM))) {
		ph = w->ph;
		w->ph = NULL;
	}
	unref_unlock(w);
	poll_wake(ph);
}

/* ---- what a view calls: struct notices_watcher ---- */

static void hold_waiter(void *arg)
{
	pthread_mutex_lock(&wait.lock);
	((struct waiter *)arg)->refs++;
	pthread_mutex_unlock(&wait.lock);
}

static void serve_waiter(void *arg)
{
	pthread_mutex_lock(&wait.lock);
	serve_unref(arg);
}

/* ---- what an open file calls ---- */

int waiter_open(const struct node *n, struct handover_file *kept, bool recalled,
		struct waiter **out)
{
	struct waiter *w = calloc(1, sizeof(*w));
	int rc = 0;

	if (!w)
		return -ENOMEM;
	STAILQ_INIT(&w->queue);
	w->refs = 1;
	w->node = n;
	/* Whether it has changed since the earlier daemon is not known: a poll says that it has. */
	if (n->row->change)
		atomic_store(&w->seen, n->row->change(n) - recalled);
	if (n->row->view)
		rc = source_open(&w->source, n, kept, recalled);
	if (rc) {
		free(w);
		return rc;
	}
	if (w->source.view && w->source.view->watch)
		w->source.view->watch(w->source.state, &(struct notices_watcher){
						 hold_waiter, serve_waiter, w });
	node_hold(n);   /* the main thread may still look at it when the file was closed already */
	*out = w;
	return 0;
}

void waiter_close(struct waiter *w)
{
	struct fuse_pollhandle *ph;

	/* A hold() after the last reference was put would put it, and free the waiter, twice. */
	if (w->source.view && w->source.view->watch)
		w->source.view->watch(w->source.state,
				      &(struct notices_watcher){ NULL, serve_waiter, w });
	pthread_mutex_lock(&wait.lock);
	ph = w->ph;
	w->ph = NULL;
	unref_unlock(w);
	poll_free(ph);
}

void waiter_seen(struct waiter *w, uint64_t change)
{
	atomic_store(&w->seen, change);
}

/* req NULL: any */
static struct parked *unpark(struct fuse_req *req)
{
	struct waiter *w;
	struct parked *p;

	TAILQ_FOREACH(w, &wait.waiters, link) {
		STAILQ_FOREACH(p, &w->queue, link) {
			if (req && p->req != req)
				continue;
			STAILQ_REMOVE(&w->queue, p, parked, link);
			unlist_if_idle(w);
			return p;
		}
	}
	return NULL;
}

/* libfuse's: the process of a request got a signal. */
static void interrupt(struct fuse_req *req, void *unused)
{
	struct parked *p;

	(void)unused;
	pthread_mutex_lock(&wait.lock);
	p = unpark(req);
	pthread_mutex_unlock(&wait.lock);
	if (!p)
		return; /* a thread answers it, or asks reply_interrupted before it parks it */
	free_parked(p);
	reply_error(req, EINTR);
}

void waiter_read(struct waiter *w, struct fuse_req *req, uint64_t offset, size_t size,
		 bool nonblock)
{
	struct parked *p = malloc(sizeof(*p));
	int code = 0;

	if (!p) {
		reply_error(req, ENOMEM);
		return;
	}
	nonblock = nonblock || !w->source.view->streams;
	*p = (struct parked){ .req = req, .unique = channel_unique(), .noted = HANDOVER_NONE,
			      .offset = offset, .size = size, .nonblock = nonblock };
	if (!nonblock)
		p->noted = handover_park(p->unique);
	if (!nonblock)
		reply_watch(req, interrupt);
	pthread_mutex_lock(&wait.lock);
	w->refs++;
	if (nonblock && !w->busy && !STAILQ_EMPTY(&w->queue))
		code = EAGAIN;  /* a read is parked, so there is no data */
	else if (!nonblock && reply_interrupted(req))
		code = EINTR;   /* before it was in the queue; any later signal finds it there */
	if (!code) {
		STAILQ_INSERT_TAIL(&w->queue, p, link);
		list_waiter(w);
		serve_queue(w);
	}
	unref_unlock(w);
	if (code) {
		free_parked(p);
		reply_error(req, code);
	}
}

unsigned waiter_poll(struct waiter *w, struct fuse_pollhandle *ph)
{
	struct fuse_pollhandle *old = NULL;
	unsigned bits;

	pthread_mutex_lock(&wait.lock);
	w->refs++;
	if (ph) {
		old = w->ph;
		w->ph = ph;
		list_waiter(w);
	}
	bits = poll_bits(w);
	unref_unlock(w);
	poll_free(old);
	return bits;
}

/* ---- the main thread ---- */

/* Visits each waiter once; the list may change meanwhile. Those visited go to the end. */
static void visit_all(void)
{
	struct waiter *w;

	wait.round++;
	while ((w = TAILQ_FIRST(&wait.waiters)) && w->round != wait.round) {
		w->round = wait.round;
		TAILQ_REMOVE(&wait.waiters, w, link);
		TAILQ_INSERT_TAIL(&wait.waiters, w, link);
		w->refs++;
		serve_unref(w);
		pthread_mutex_lock(&wait.lock);
	}
	TAILQ_FOREACH(w, &wait.waiters, link)
		wait.ticking = wait.ticking || w->tick;
}

int64_t wait_look(void)
{
	bool ticking;

	pthread_mutex_lock(&wait.lock);
	wait.looking = true;
	wait.ticking = false;
	visit_all();
	wait.looking = false;
	ticking = wait.ticking;
	pthread_mutex_unlock(&wait.lock);
	return ticking ? chores_clock() + TICK : -1;
}

bool wait_any(bool changes)
{
	bool any;

	pthread_mutex_lock(&wait.lock);
	any = changes ? wait.changes : !TAILQ_EMPTY(&wait.waiters);
	pthread_mutex_unlock(&wait.lock);
	return any;
}

void wait_stop(bool kept)
{
	struct parked *p;

	pthread_mutex_lock(&wait.lock);
	wait.stop = true;
	wait.kept = kept;
	while ((p = unpark(NULL)))
		end_parked(p, true);
	pthread_mutex_unlock(&wait.lock);
}
