/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/thread.h"

#include <signal.h>
#include <time.h>

int thread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(id, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int thread_start(size_t stack, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t id;
	int ret;

	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = thread_create(&id, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return ret;
}

void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
