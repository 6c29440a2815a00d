// SPDX-License-Identifier: MIT
/*
 * libtrail-pthread.so: lttng_ust_pthread:pthread_mutex_{lock_req, lock_acq, trylock, unlock}. The tracer takes no mutex
 * that comes by here, so nothing guards against recursion. What libc does with mutexes of its own is not seen.
 */
#include <pthread.h>

#include "ustlib/preload/point.h"

static int (*real_pthread_mutex_lock)(pthread_mutex_t *);
static int (*real_pthread_mutex_trylock)(pthread_mutex_t *);
static int (*real_pthread_mutex_unlock)(pthread_mutex_t *);

/*
 * In the constructor, before there are threads: dlsym(3) takes the loader's lock, and the holder of that may wait for
 * a mutex. Later only for who locks before any constructor.
 */
static __attribute__((constructor(101), noinline)) void look_up(void)
{
	FIND(pthread_mutex_lock);
	FIND(pthread_mutex_trylock);
	FIND(pthread_mutex_unlock);
}

#define DO(function, mutex) \
	(likely(REAL(function) != NULL) || (look_up(), REAL(function) != NULL) ? REAL(function)(mutex) : EINVAL)

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int status;

	POINT(CALLER, DEBUG_LINE, lttng_ust_pthread, pthread_mutex_lock_req, mutex);
	status = DO(pthread_mutex_lock, mutex);
	POINT(CALLER, DEBUG_LINE, lttng_ust_pthread, pthread_mutex_lock_acq, mutex, status);
	return status;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int status = DO(pthread_mutex_trylock, mutex);

	POINT(CALLER, DEBUG_LINE, lttng_ust_pthread, pthread_mutex_trylock, mutex, status);
	return status;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int status = DO(pthread_mutex_unlock, mutex);

	POINT(CALLER, DEBUG_LINE, lttng_ust_pthread, pthread_mutex_unlock, mutex, status);
	return status;
}
