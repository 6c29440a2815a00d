/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting: reads that have nothing to deliver yet, and polls.
 *
 * A read of a view (tree.h) that finds nothing is parked: it takes no thread, only a note. One helper thread tries parked
 * reads again when the tracer says that something changed, and every 20 ms while there is something parked whose data
 * come without announcement (events of an active session). With nothing parked it sleeps without a time limit.
 *
 * A view's functions are called by one thread at a time and without any lock: whoever finds a waiter busy leaves its
 * request in the waiter's queue, and who is busy serves it next. So order is kept and no thread waits.
 *
 * Every parked read is answered exactly once: with data, with 0 at the end or when the mount goes, with EINTR when its
 * process gets a signal. The kernel closes no file before its reads are answered.
 */
#ifndef FS_WAIT_H
#define FS_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_pollhandle;
struct fuse_req;
struct node;
struct view;
struct waiter;

/*
 * timer: called by the helper thread without a lock; returns the time (wait_clock) when it wants to be called again, or -1.
 * wait_kick has it called soon.
 */
int wait_start(int64_t (*timer)(int64_t now));
/* Answers everything that is parked and lets nothing park any more. */
void wait_stop(void);
/* Ends the thread; after wait_stop. */
void wait_end(void);
void wait_kick(void);
/* Something changed in the tracer. Takes a note only: may be called with the tracer's locks held. */
void wait_changed(void);
int64_t wait_clock(void);       /* ms, monotonic */

/* For an open of a view: opens it. For a file whose row has `change`: only polls are for it. */
int waiter_open(const struct node *n, struct waiter **out);
void waiter_close(struct waiter *w);
/* Answers the request now or later. */
void waiter_read(struct waiter *w, struct fuse_req *req, uint64_t offset, size_t size, bool nonblock);
/* The poll bits that hold now. ph (may be NULL) is woken once when there may be more; owned from here on. */
unsigned waiter_poll(struct waiter *w, struct fuse_pollhandle *ph);
/* What a change will be measured against: as the contents that were just made show it. */
void waiter_seen(struct waiter *w, uint64_t change);
/* A request was interrupted: EINTR if it is parked. */
void wait_interrupt(struct fuse_req *req);

#endif
