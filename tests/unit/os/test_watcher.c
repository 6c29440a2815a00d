/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A watcher's thread: no nudge is forgotten, a file wakes it, and it ends once for all. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
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

static int try_start(struct looked *l)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = watcher_start(&l->w, run, l);
	pthread_mutex_unlock(&lock);
	return ret;
}

static bool start(struct looked *l)
{
	return try_start(l) == 0;
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

/* It says what the process lacks, and begins when that is there. */
static void says_what_is_missing(void)
{
	struct looked l = { .fd = -1, .until = WATCHER_NEVER };
	struct rlimit before, none;

	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	none.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK(try_start(&l) == -EMFILE && !l.w.runs);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK(start(&l));
	wait_for(&l.looks, 1);
	watcher_end(&l.w, &lock);
}

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
	(void)signal;
	caught = 1;
}

/* Its thread takes no signal of the process. */
static void takes_no_signal(void)
{
	struct looked l = { .fd = -1, .until = WATCHER_NEVER };
	sigset_t usr1, before;

	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	CHECK(start(&l));
	wait_for(&l.looks, 1);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &usr1, &before));
	CHECK(!kill(getpid(), SIGUSR1));
	/* The thread would have had it before it ends. */
	watcher_end(&l.w, &lock);
	CHECK(!caught);
	CHECK(!pthread_sigmask(SIG_SETMASK, &before, NULL));
	CHECK(caught);
}

int main(void)
{
	CASE(sees_each_nudge);
	CASE(looks_when_due);
	CASE(looks_at_a_file);
	CASE(ends_for_good);
	CASE(ends_among_nudges);
	CASE(says_what_is_missing);
	CASE(takes_no_signal);
	return test_summary();
}
