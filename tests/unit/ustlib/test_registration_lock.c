/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static pthread */
/*
 * The registration lock of the application's library: a thread that has to have it sleeps, also
 * after another has given up (objects_stuck). One that spins with a real-time priority would keep
 * the holder from its CPU for ever.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "ustlib/lib.h"

static int64_t waited_us, used_us;

static int64_t used(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void *lock(void *arg)
{
	int64_t begin = now_us();

	(void)arg;
	objects_lock();
	waited_us = now_us() - begin;
	used_us = used();
	objects_unlock();
	return NULL;
}

static void sleeps(bool stuck)
{
	pthread_t thread;

	CHECK(objects_trylock());
	CHECK(!pthread_create(&thread, NULL, lock, NULL));
	if (stuck)
		objects_stuck();
	usleep(500000);
	objects_unlock();
	pthread_join(thread, NULL);
	/* (One that spins has all of it; in an emulated machine, one that sleeps has a third.) */
	if (used_us * 4 > waited_us * 3)
		printf("%lld us of CPU in %lld us\n", (long long)used_us, (long long)waited_us);
	CHECK(used_us * 4 <= waited_us * 3);
}

static void waits(void)
{
	sleeps(false);
}

static void waits_when_stuck(void)
{
	sleeps(true);
}

/*
 * On one CPU with the holder, and before it: if it spun, the holder would not run (but for what the
 * kernel reserves).
 */
static void real_time(void)
{
	struct sched_param fifo = { .sched_priority = 1 };
	pthread_attr_t attr;
	cpu_set_t all, one;
	pthread_t thread;
	int err;

	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &fifo);
	CHECK(objects_trylock());
	objects_stuck();
	err = pthread_create(&thread, &attr, lock, NULL);
	for (int64_t end = now_us() + 200000; !err && now_us() < end;)
		sched_yield();
	objects_unlock();
	if (err)
		printf("no real-time priority here\n");
	else
		pthread_join(thread, NULL);
	CHECK(err || used_us * 4 <= waited_us);
	pthread_attr_destroy(&attr);
	sched_setaffinity(0, sizeof(all), &all);
}

/* As in a handler of fork(3) that loads a library. */
static void nested(void)
{
	objects_lock();
	objects_lock();
	objects_unlock();
	CHECK(!objects_trylock());
	objects_unlock();
	CHECK(objects_trylock());
	objects_unlock();
}

int main(void)
{
	alarm(300);
	CASE(waits);
	CASE(waits_when_stuck);
	CASE(real_time);
	CASE(nested);
	return test_summary();
}
