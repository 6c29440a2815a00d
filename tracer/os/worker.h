/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread for work that takes the kernel long, so that nobody has to wait for it. There is one while there is work. Private to
 * tracer/.
 */
#ifndef TRACER_OS_WORKER_H
#define TRACER_OS_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct work {
	struct work *next;
	void (*run)(struct work *w);    /* it is its own from then on */
};

struct worker {
	pthread_mutex_t lock;           /* guards the rest; nothing is called under it */
	pthread_cond_t idle;
	struct work *first, *last;
	unsigned int count;
	bool running;                   /* there is a thread */
};

#define WORKER_INIT { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER }

/* False: nobody does it. There is no thread to be had, or so much (max) is waiting already. */
bool worker_add(struct worker *wk, struct work *w, unsigned int max);
/* Waits until all is done, but not longer than so many seconds; before the process ends. */
void worker_finish(struct worker *wk, int seconds);

#endif
