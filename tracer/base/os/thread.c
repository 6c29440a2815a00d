/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/thread.h"

#include <time.h>

int thread_start(size_t stack, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t id;
	int err;

	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&id, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return -err;
}

void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
