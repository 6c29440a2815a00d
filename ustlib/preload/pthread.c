// SPDX-License-Identifier: MIT
/*
 * libtrail-pthread.so: lttng_ust_pthread:pthread_mutex_{lock_req, lock_acq, trylock, unlock}. The
 * tracer takes no mutex that comes by here, so nothing guards against recursion. What libc does
 * with mutexes of its own is not seen.
 */
#include <pthread.h>

#include "ustlib/preload/point.h"

static int (*real_pthread_mutex_lock)(pthread_mutex_t *);
static int (*real_pthread_mutex_trylock)(pthread_mutex_t *);
static int (*real_pthread_mutex_unlock)(pthread_mutex_t *);

/*
 * In the constructor, before there are threads: dlsym(3) takes the loader's lock, and the holder of
 * that may wait for a mutex. Later only for who locks before any constructor.
 */
static __attribute__((constructor(101), noinline)) void look_up(void)
{
	FIND(pthread_mutex_lock);
	FIND(pthread_mutex_trylock);
	FIND(pthread_mutex_unlock);
}

#define DO(function, mutex) \
	(likely(REAL(function) != NULL) || (look_up(), \
		REAL(function) != NULL) ? REAL(function)(mutex) : EINVAL)

#define EVENT(event, ...) \
	static const struct trail__field event##_fields[] = { POINT_FIELD(mutex, void *), \
		__VA_ARGS__ { 0, 0, 0, 0 } }; \
	POINT_DECLARE(event##_tp, TRAIL__LEVEL_DEBUG_LINE, "lttng_ust_pthread", \
		"pthread_mutex_" #event, event##_fields)

EVENT(lock_req, );
EVENT(lock_acq, POINT_FIELD(status, int),);
EVENT(trylock, POINT_FIELD(status, int),);
EVENT(unlock, POINT_FIELD(status, int),);

#define HIT(ip, event, ...) \
	do { \
		if (TRAIL__IS_ON(event##_tp)) { \
			int saved = errno; \
			POINT_HIT(&event##_tp, ip, event, __VA_ARGS__) \
			errno = saved; \
		} \
	} while (0)

#define TRACED static __attribute__((noinline))

TRACED int traced_lock(pthread_mutex_t *mutex, void *ip)
{
	int status;

	HIT(ip, lock_req, mutex);
	status = DO(pthread_mutex_lock, mutex);
	HIT(ip, lock_acq, mutex, status);
	return status;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (POINT_OFF(lock_req_tp) && POINT_OFF(lock_acq_tp))
		return DO(pthread_mutex_lock, mutex);
	return traced_lock(mutex, CALLER);
}

TRACED int traced_trylock(pthread_mutex_t *mutex, void *ip)
{
	int status = DO(pthread_mutex_trylock, mutex);

	HIT(ip, trylock, mutex, status);
	return status;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return POINT_OFF(trylock_tp) ? DO(pthread_mutex_trylock, mutex)
				     : traced_trylock(mutex, CALLER);
}

TRACED int traced_unlock(pthread_mutex_t *mutex, void *ip)
{
	int status = DO(pthread_mutex_unlock, mutex);

	HIT(ip, unlock, mutex, status);
	return status;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return POINT_OFF(unlock_tp) ? DO(pthread_mutex_unlock, mutex)
				    : traced_unlock(mutex, CALLER);
}
