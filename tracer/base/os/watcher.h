/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that looks at something again and again, mostly at buffers. It exists from the first
 * watcher_start() on. Between two looks it sleeps until the next one is due, another thread nudges
 * it, or a file is readable.
 *
 *	while (watcher_next(w)) {
 *		look();
 *		watcher_sleep(w, -1, time_of_the_next_look);
 *	}
 *
 * A watcher of zeros is valid. The user of a watcher has a lock for it: "the lock" below.
 */
#ifndef TRACER_OS_WATCHER_H
#define TRACER_OS_WATCHER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WATCHER_NEVER UINT64_MAX        /* a time at which no look is due */

struct watcher {
	pthread_t thread;
	int nudge;              /* an eventfd; constant while the thread exists */
	bool runs;              /* the thread exists; guarded by the lock */
	bool ends;              /* atomic; set with the lock */
};

/*
 * Starts the thread, unless it exists or watcher_end() was called. 0; or -errno: the kernel has no
 * thread or no descriptor for it; the next call tries again. Caller holds the lock.
 */
int watcher_start(struct watcher *w, void *(*run)(void *arg), void *arg);
/* The thread, if there is one, looks again before it sleeps. Caller holds the lock. */
void watcher_nudge(struct watcher *w);
/*
 * Ends the thread for good, and waits until it has ended. Takes the lock itself. May be called
 * again, but not by two threads at once.
 */
void watcher_end(struct watcher *w, pthread_mutex_t *lock);

/* The thread begins a look: earlier nudges are done with. False: it must end. */
bool watcher_next(struct watcher *w);
/*
 * The thread sleeps until a nudge, until fd is readable (-1: no file), or until a time of
 * CLOCK_MONOTONIC. It returns at once if a nudge came since watcher_next().
 */
void watcher_sleep(const struct watcher *w, int fd, uint64_t until);

#endif
