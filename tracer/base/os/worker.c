/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/worker.h"

#include <time.h>

#include "tracer/base/os/thread.h"

static void *run_worker(void *arg)
{
	struct worker *wk = arg;
	struct work *w;

	pthread_mutex_lock(&wk->lock);
	while ((w = wk->first)) {
		wk->first = w->next;
		pthread_mutex_unlock(&wk->lock);
		w->run(w);
		pthread_mutex_lock(&wk->lock);
		wk->count--;
	}
	wk->running = false;
	pthread_cond_broadcast(&wk->idle);
	pthread_mutex_unlock(&wk->lock);
	return NULL;
}

/* Caller holds wk->lock. */
static bool start_thread(struct worker *wk)
{
	wk->running = thread_start(128 * 1024, run_worker, wk) == 0;
	return wk->running;
}

bool worker_add(struct worker *wk, struct work *w, unsigned int max)
{
	bool taken;

	pthread_mutex_lock(&wk->lock);
	taken = wk->count < max && (wk->running || start_thread(wk));
	if (taken) {
		w->next = NULL;
		if (wk->first)
			wk->last->next = w;
		else
			wk->first = w;
		wk->last = w;
		wk->count++;
	}
	pthread_mutex_unlock(&wk->lock);
	return taken;
}

void worker_finish(struct worker *wk, int seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&wk->lock);
	while (wk->running && pthread_cond_timedwait(&wk->idle, &wk->lock, &until) == 0)
		;
	pthread_mutex_unlock(&wk->lock);
}
