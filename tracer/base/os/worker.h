/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread for slow system calls, so that no other thread waits for them. The thread exists while
 * there is work.
 */
#ifndef TRACER_OS_WORKER_H
#define TRACER_OS_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct work {
	struct work *next;
	void (*run)(struct work *w);    /* owns w */
};

struct worker {
	pthread_mutex_t lock;           /* guards the rest; not held during run() */
	pthread_cond_t idle;
	struct work *first, *last;
	unsigned int count;
	bool running;                   /* the thread exists */
};

#define WORKER_INIT { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER }

/*
 * False: refused, the caller keeps w. No thread could be made, or `max` pieces of work are queued.
 */
bool worker_add(struct worker *wk, struct work *w, unsigned int max);
/* Waits at most `seconds` until all work is done; before the process ends. */
void worker_finish(struct worker *wk, int seconds);

#endif
