/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fs/base/base.h"
#include "fs/fuse/reply.h"
#include "fs/fuse/waiter.h"
#include "fs/tree/tree.h"
#include "tracer/face/tracer.h"
#include "tracer/trigger/trigger_files.h"

#define TICK 20                 /* ms between two looks at parked reads */
#define MOST (256 * 1024)       /* bytes in one answer of a stream; a reader takes short reads */
#define AHEAD (16 * 1024)       /* what a poll reads to find out; most of an answer with `watch` */

struct parked {
	STAILQ_ENTRY(parked) link;
	struct fuse_req *req;
	uint64_t offset;
	size_t size;
	bool nonblock;
};

struct waiter {
	const struct view *view;        /* NULL: only polled for changes */
	void *state;
	const struct node *node;
	atomic_uint_fast64_t seen;      /* value of `change` that the reader knows */

	/* Guarded by the lock below. */
	STAILQ_HEAD(, parked) queue;
	struct fuse_pollhandle *ph;
	unsigned refs;                  /* of the open file, and of each thread at work on it */
	bool busy;              /* a thread calls the view: it owns state and the ahead fields */
	bool again;             /* another thread found it busy: there may be more data */
	bool listed;
	bool tick;                      /* data may come unannounced */
	uint64_t round;
	TAILQ_ENTRY(waiter) link;

	/* What a poll read, for the next reads. Owned by the thread that made it busy. */
	char *ahead;
	size_t ahead_at, ahead_len;
	bool ahead_end;
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
	bool looking;           /* the helper visits all waiters */
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
	wait.changes += !w->view;
	w->listed = true;
}

static void unlist_if_idle(struct waiter *w)
{
	/* A busy thread may put back what it took out of the queue. */
	if (w->listed && !w->busy && STAILQ_EMPTY(&w->queue) && !w->ph) {
		TAILQ_REMOVE(&wait.waiters, w, link);
		wait.changes -= !w->view;
		w->listed = false;
	}
}

/*
 * The helper may be asleep without a time limit. In a look it finds the tick at the end: a kick
 * would make each look follow the one before without a pause.
 */
static void set_tick(struct waiter *w, bool tick)
{
	w->tick = tick;
	if (tick && !wait.ticking && !wait.looking)
		helper_kick();
}

static void destroy_waiter(struct waiter *w)
{
	if (w->view)
		w->view->close(w->state);
	node_forget(w->node->id, 1);
	free(w->ahead);
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

static ssize_t take_data(struct waiter *w, uint64_t offset, void *buf, size_t size)
{
	size_t n = w->ahead_len - w->ahead_at;

	if (w->ahead_end) {
		w->ahead_end = false;
		return 0;
	}
	if (!n)
		return w->view->read(w->state, offset, buf, size);
	n = n < size ? n : size;
	memcpy(buf, w->ahead + w->ahead_at, n);
	w->ahead_at += n;
	if (w->ahead_at == w->ahead_len) {
		free(w->ahead);
		w->ahead = NULL;
		w->ahead_at = w->ahead_len = 0;
	}
	return (ssize_t)n;
}

/* Answers one parked read. False: there is still no data. */
static bool try_read(struct waiter *w, struct parked *p)
{
	size_t most = w->view->watch ? AHEAD : w->view->streams ? MOST : SIZE_MAX;
	size_t size = p->size < most ? p->size : most;
	struct iovec parts[VIEW_PARTS];
	int count = w->view->peek ? w->view->peek(w->state, p->offset, size, parts) : 0;
	char *buf = count ? NULL : malloc(size ? size : 1);
	ssize_t n = buf ? take_data(w, p->offset, buf, size) : -ENOMEM;

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
	if (w->view->ahead)
		w->view->ahead(w->state);
	return true;
}

/* Answers a read without data. Caller holds wait.lock, which is released in between. */
static void end_parked(struct parked *p, bool stop)
{
	pthread_mutex_unlock(&wait.lock);
	if (stop)
		reply_data(p->req, "", 0);
	else
		reply_error(p->req, EINTR);
	free(p);
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
			free(p);
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
		helper_kick();         /* a poll may have found it busy */
}

/* Reads ahead to find out whether there is something to read. By the thread that made it busy. */
static bool read_ahead(struct waiter *w)
{
	char *buf;
	ssize_t n;

	if (w->ahead_end || w->ahead_len > w->ahead_at)
		return true;
	buf = malloc(AHEAD);
	n = buf ? w->view->read(w->state, 0, buf, AHEAD) : -EAGAIN;
	w->ahead_end = n <= 0 && n != -EAGAIN;
	if (n > 0) {
		w->ahead = buf;
		w->ahead_len = (size_t)n;
	} else {
		free(buf);
	}
	return n != -EAGAIN;
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
		ready = read_ahead(w);
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
	if (w->view)
		return readable(w) ? POLLIN | POLLRDNORM : 0;
	return POLLIN | POLLRDNORM | (has_changed(w) ? POLLPRI | POLLERR : 0);
}

/* Wakes a poll that has what it waits for. Puts a reference and releases wait.lock. */
static void serve_unref(struct waiter *w)
{
	struct fuse_pollhandle *ph = NULL;

	serve_queue(w);
	if (w->ph && (poll_bits(w) & ~(unsigned)(w->view ? 0 : POLLIN | POLLRDNORM))) {
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

int waiter_open(const struct node *n, struct waiter **out)
{
	struct waiter *w = calloc(1, sizeof(*w));
	int rc = 0;

	if (!w)
		return -ENOMEM;
	STAILQ_INIT(&w->queue);
	w->refs = 1;
	w->node = n;
	w->view = n->row->view;
	if (n->row->change)
		atomic_store(&w->seen, n->row->change(n));
	if (w->view)
		rc = w->view->open(n, &w->state);
	if (rc) {
		free(w);
		return rc;
	}
	if (w->view && w->view->watch)
		w->view->watch(w->state, &(struct notices_watcher){
						 hold_waiter, serve_waiter, w });
	node_hold(n);   /* the helper may still look at it when the file was closed already */
	*out = w;
	return 0;
}

void waiter_close(struct waiter *w)
{
	struct fuse_pollhandle *ph;

	/* A hold() after the last reference was put would put it, and free the waiter, twice. */
	if (w->view && w->view->watch)
		w->view->watch(w->state, &(struct notices_watcher){ NULL, serve_waiter, w });
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
	free(p);
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
	nonblock = nonblock || !w->view->streams;
	*p = (struct parked){ .req = req, .offset = offset, .size = size, .nonblock = nonblock };
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
		free(p);
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

/* ---- the helper thread ---- */

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
	return ticking ? helper_clock() + TICK : -1;
}

bool wait_any(bool changes)
{
	bool any;

	pthread_mutex_lock(&wait.lock);
	any = changes ? wait.changes : !TAILQ_EMPTY(&wait.waiters);
	pthread_mutex_unlock(&wait.lock);
	return any;
}

void wait_stop(void)
{
	struct parked *p;

	pthread_mutex_lock(&wait.lock);
	wait.stop = true;
	while ((p = unpark(NULL)))
		end_parked(p, true);
	pthread_mutex_unlock(&wait.lock);
}
