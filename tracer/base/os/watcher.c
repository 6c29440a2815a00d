// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/os/watcher.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/clock.h"
#include "tracer/base/os/thread.h"

int watcher_start(struct watcher *w, void *(*run)(void *arg), void *arg)
{
	int ret;

	if (w->runs || w->ends)
		return 0;
	w->nudge = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->nudge < 0)
		return -errno;
	ret = thread_create(&w->thread, NULL, run, arg);
	w->runs = !ret;
	if (ret)
		close(w->nudge);
	return ret;
}

void watcher_nudge(struct watcher *w)
{
	if (w->runs)
		eventfd_write(w->nudge, 1);
}

void watcher_end(struct watcher *w, pthread_mutex_t *lock)
{
	bool runs;

	pthread_mutex_lock(lock);
	/* Release: pairs with the acquire in watcher_next. */
	__atomic_store_n(&w->ends, true, __ATOMIC_RELEASE);
	watcher_nudge(w);
	runs = w->runs;
	w->runs = false;
	pthread_mutex_unlock(lock);
	if (!runs)
		return;
	pthread_join(w->thread, NULL);
	close(w->nudge);
}

bool watcher_next(struct watcher *w)
{
	eventfd_t nudges;

	eventfd_read(w->nudge, &nudges);
	/* Acquire: pairs with the release in watcher_end. */
	return !__atomic_load_n(&w->ends, __ATOMIC_ACQUIRE);
}

void watcher_sleep(const struct watcher *w, int fd, uint64_t until)
{
	uint64_t now = monotonic_now(), left = until > now ? until - now : 0;
	struct timespec ts = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	struct pollfd fds[] = { { .fd = w->nudge, .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };

	ppoll(fds, 2, until == WATCHER_NEVER ? NULL : &ts, NULL);
}
