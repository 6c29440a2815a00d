/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A watcher's thread: no nudge is forgotten, a file wakes it, and it ends once for all. */
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/clock.h"
#include "tracer/base/os/watcher.h"

#define NUDGES 2000
#define THREADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct looked {
	struct watcher w;
	int fd;
	uint64_t until;
	uint32_t wanted, seen, looks;   /* atomic */
};

static void *run(void *arg)
{
	struct looked *l = arg;

	while (watcher_next(&l->w)) {
		__atomic_store_n(&l->seen, __atomic_load_n(&l->wanted, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		__atomic_add_fetch(&l->looks, 1, __ATOMIC_RELEASE);
		watcher_sleep(&l->w, l->fd, l->until);
	}
	return NULL;
}

static bool start(struct looked *l)
{
	bool done;

	pthread_mutex_lock(&lock);
	done = watcher_start(&l->w, run, l);
	pthread_mutex_unlock(&lock);
	return done;
}

static void want(struct looked *l)
{
	__atomic_add_fetch(&l->wanted, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&lock);
	watcher_nudge(&l->w);
	pthread_mutex_unlock(&lock);
}

static uint32_t value(const uint32_t *v)
{
	return __atomic_load_n(v, __ATOMIC_ACQUIRE);
}

/* Sleeps a little until *v is at least `least`; the test's own limit of time ends it otherwise. */
static void wait_for(const uint32_t *v, uint32_t least)
{
	while (value(v) < least)
		usleep(100);
}

static void *want_often(void *arg)
{
	for (int i = 0; i < NUDGES; i++)
		want(arg);
	return NULL;
}

static void sees_each_nudge(void)
{
	struct looked l = { .fd = -1, .until = WATCHER_NEVER };
	pthread_t ids[THREADS];

	want(&l);               /* no thread yet: nothing is to be woken */
	CHECK(start(&l) && start(&l));
	wait_for(&l.seen, 1);
	for (uint32_t i = 2; i < 100; i++) {
		want(&l);
		wait_for(&l.seen, i);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&ids[i], NULL, want_often, &l));
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	wait_for(&l.seen, value(&l.wanted));
	watcher_end(&l.w, &lock);
	watcher_end(&l.w, &lock);
	CHECK(l.seen == THREADS * NUDGES + 99);
}

static void looks_when_due(void)
{
	struct looked l = { .fd = -1, .until = monotonic_now() };

	CHECK(start(&l));
	wait_for(&l.looks, 3);
	watcher_end(&l.w, &lock);
}

static void looks_at_a_file(void)
{
	struct looked l = { .until = WATCHER_NEVER };
	int ends[2];

	CHECK(!pipe(ends));
	l.fd = ends[0];
	CHECK(start(&l));
	wait_for(&l.looks, 1);
	CHECK(write(ends[1], "", 1) == 1);
	wait_for(&l.looks, 3);
	watcher_end(&l.w, &lock);
	close(ends[0]);
	close(ends[1]);
}

static void ends_for_good(void)
{
	struct looked l = { .fd = -1, .until = WATCHER_NEVER };

	watcher_end(&l.w, &lock);
	CHECK(start(&l));
	want(&l);
	watcher_end(&l.w, &lock);
	CHECK(!l.looks && !l.w.runs);
}

/* Other threads nudge while it ends. */
static void ends_among_nudges(void)
{
	for (int round = 0; round < 50; round++) {
		struct looked l = { .fd = -1, .until = WATCHER_NEVER };
		pthread_t id;

		CHECK(start(&l));
		CHECK(!pthread_create(&id, NULL, want_often, &l));
		wait_for(&l.looks, 1);
		watcher_end(&l.w, &lock);
		pthread_join(id, NULL);
	}
}

int main(void)
{
	CASE(sees_each_nudge);
	CASE(looks_when_due);
	CASE(looks_at_a_file);
	CASE(ends_for_good);
	CASE(ends_among_nudges);
	return test_summary();
}
