/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads that have nothing to deliver yet, and polls.
 *
 * A read of a view (fs/tree/tree.h) that finds nothing is parked: it occupies no thread, only a
 * struct parked. The main thread (fs/base/chores.c) tries parked reads again when the tracer
 * announces a change, and every 20 ms while one is parked whose data come without announcement
 * (events of an active session). With nothing parked it sleeps without a time limit.
 *
 * A view's functions are called by one thread at a time and without any lock: a thread that finds a
 * waiter busy leaves its request in the waiter's queue, and the busy thread serves it next. So
 * order is kept and no thread waits.
 *
 * Every parked read is answered exactly once: with data, with 0 at the end or when the mount ends,
 * with EINTR when its process gets a signal. The kernel closes no file before its reads are
 * answered.
 */
#ifndef FS_FUSE_WAITER_H
#define FS_FUSE_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_pollhandle;
struct fuse_req;
struct handover_file;
struct node;
struct waiter;

/*
 * Tries what is parked or polled. A part of chores_do(): returns when to be called again
 * (chores_clock), or -1.
 */
int64_t wait_look(void);
/*
 * Some read or poll waits; changes: some poll of a file that is no view. A change that happens
 * before the call is seen by all that begin to wait after it. Any lock may be held.
 */
bool wait_any(bool changes);
/*
 * Answers everything that is parked; from now on nothing is parked. After the last chores_do().
 * kept: the sessions stay for the next daemon, so reads fail with ENOTCONN, which is no end.
 */
void wait_stop(bool kept);

/*
 * For an open of a view: opens it. For a file whose row has `change`: only polls are for it. kept:
 * its entry of the hand-over, or NULL; recalled: an earlier daemon had it open.
 */
int waiter_open(const struct node *n, struct handover_file *kept, bool recalled,
		struct waiter **out);
void waiter_close(struct waiter *w);
/* Answers the request now or later. */
void waiter_read(struct waiter *w, struct fuse_req *req, uint64_t offset, size_t size,
		 bool nonblock);
/*
 * The poll bits that hold now. ph (may be NULL) is woken once when there may be more; owned from
 * here on.
 */
unsigned waiter_poll(struct waiter *w, struct fuse_pollhandle *ph);
/* What a change will be measured against: as the contents that were just made show it. */
void waiter_seen(struct waiter *w, uint64_t change);

#endif
