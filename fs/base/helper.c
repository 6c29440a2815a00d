/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "fs/base/base.h"

static struct {
	/*
	 * guards this struct, but thread, running and work; a leaf: no other lock is taken below it
	 */
	pthread_mutex_t lock;
	pthread_cond_t cond;    /* kicked or end was set */
	bool kicked, end;
	pthread_t thread;
	bool running;           /* the main thread's own */
	int64_t (*work)(int64_t now);
	pthread_mutex_t at_work;        /* held while work runs; guards nothing else */
} helper = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.at_work = PTHREAD_MUTEX_INITIALIZER,
};

int64_t helper_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Caller holds helper.lock. when: -1 is without a limit. */
static void sleep_until(int64_t when)
{
	struct timespec ts = { .tv_sec = when / 1000, .tv_nsec = when % 1000 * 1000000 };

	if (helper.kicked || helper.end)
		return;
	if (when < 0)
		pthread_cond_wait(&helper.cond, &helper.lock);
	else
		pthread_cond_timedwait(&helper.cond, &helper.lock, &ts);
}

static void *run_helper(void *unused)
{
	pthread_mutex_lock(&helper.lock);
	while (!helper.end) {
		int64_t next;

		helper.kicked = false;
		pthread_mutex_unlock(&helper.lock);
		pthread_mutex_lock(&helper.at_work);
		next = helper.work(helper_clock());
		pthread_mutex_unlock(&helper.at_work);
		pthread_mutex_lock(&helper.lock);
		sleep_until(next);
	}
	pthread_mutex_unlock(&helper.lock);
	return unused;
}

int helper_start(int64_t (*work)(int64_t now))
{
	pthread_condattr_t attr;
	int rc;

	helper.work = work;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&helper.cond, &attr);
	pthread_condattr_destroy(&attr);
	rc = -pthread_create(&helper.thread, NULL, run_helper, NULL);
	helper.running = !rc;
	return rc;
}

void helper_kick(void)
{
	pthread_mutex_lock(&helper.lock);
	helper.kicked = true;
	pthread_mutex_unlock(&helper.lock);
	/* After the unlock: the helper may run at once on this CPU, and needs the lock. */
	pthread_cond_signal(&helper.cond);
}

void helper_hold(void)
{
	pthread_mutex_lock(&helper.at_work);
}

void helper_continue(void)
{
	pthread_mutex_unlock(&helper.at_work);
}

void helper_end(void)
{
	if (!helper.running)
		return;
	pthread_mutex_lock(&helper.lock);
	helper.end = true;
	pthread_cond_signal(&helper.cond);
	pthread_mutex_unlock(&helper.lock);
	pthread_join(helper.thread, NULL);
	helper.running = false;
}
