// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that serves applications: it watches the apps directories, and answers applications
 * that attach. It sleeps until something happens. No application can make it wait: every socket is
 * non-blocking, and a silent connection is closed after some seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/app/attach_server.h"
#include "tracer/base/os/slice.h"

/* For a peer to send its next message; on a loaded machine a crowd needs some. */
#define CONNECTION_SECONDS 10
#define SCAN_AGAIN 1000 /* ms */
#define ACCEPTS_AT_ONCE 64u /* before the other events take their turn */
#define LATE_READS 16 /* of connections that are to be dropped, at once */
#define RETRY_BATCH 64 /* at once: as many as can be answered before they give up */

void server_arm(struct server *sv, int64_t ms)
{
	struct itimerspec when, now;

	/* Never later than it is armed for already. */
	if (timerfd_gettime(sv->timer, &now) == 0 &&
	    (now.it_value.tv_sec || now.it_value.tv_nsec) &&
	    now.it_value.tv_sec * 1000 + now.it_value.tv_nsec / 1000000 <= ms)
		return;
	when = (struct itimerspec){ .it_value = { ms / 1000, ms % 1000 * 1000000 + 1 } };
	timerfd_settime(sv->timer, 0, &when, NULL);
}

void server_wake(struct server *sv)
{
	const uint64_t one = 1;

	if (write(sv->wake, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

/*
 * Gives applications whose time has come a new generation, which makes them attach again. Only some
 * at a time: a crowd would time out again.
 */
static void retry_apps(struct server *sv, int64_t now)
{
	struct tracer *t = sv->tracer;
	struct app *a, *next;
	int64_t soonest = INT64_MAX;
	int n = 0;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry_safe(a, next, &apps_of(t)->retries, retry) {
		/* A wall clock may be set back. */
		int64_t wait = a->retry_at - now > 10000000000 ? 0 : a->retry_at - now;

		if (wait > 0 || n == RETRY_BATCH) {
			soonest = wait < soonest ? wait : soonest;
			continue;
		}
		n++;
		app_retry(t, a);
	}
	pthread_mutex_unlock(&t->lock);
	if (soonest != INT64_MAX)
		server_arm(sv, soonest / 1000000 < RETRY_FIRST ? RETRY_FIRST : soonest / 1000000);
}

/* For registrations that there was no descriptor for when they came. */
static void scan_again(struct server *sv, int64_t now)
{
	struct tracer *t = sv->tracer;

	pthread_mutex_lock(&t->lock);
	if (apps_of(t)->rescan_pending &&
	    (now - sv->scanned >= SCAN_AGAIN * 1000000ll || now < sv->scanned)) {
		sv->scanned = now;
		apps_scan(t);
	}
	if (apps_of(t)->rescan_pending)
		server_arm(sv, SCAN_AGAIN);
	pthread_mutex_unlock(&t->lock);
}

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* Descriptors are short: for connections, or for registration files. */
static bool is_short(struct server *sv)
{
	bool pending;

	pthread_mutex_lock(&sv->tracer->lock);
	pending = apps_of(sv->tracer)->rescan_pending;
	pthread_mutex_unlock(&sv->tracer->lock);
	return pending || sv->deaf;
}

/* ---- the apps directories ---- */

/*
 * One read of the kernel's queue. Returns of how many bytes; 0 or less: it was empty. Caller holds
 * tracer.lock, so what one thread has read is handled before another can look.
 */
static ssize_t take_changes(struct server *sv)
{
	union { struct inotify_event ev; char buf[16384]; } in;
	struct tracer *t = sv->tracer;
	ssize_t n = read(sv->inotify, in.buf, sizeof(in.buf));
	const struct inotify_event *ev;

	for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*ev) + ev->len)) {
		ev = (const struct inotify_event *)(in.buf + at);
		if (ev->mask & IN_Q_OVERFLOW)
			apps_scan(t);
		else if (ev->len && ev->mask & (IN_CREATE | IN_MOVED_TO))
			app_created(t, ev->name);
		if (ev->len && ev->mask & IN_MOVED_TO)
			app_arrived(t, ev->name);
		else if (ev->len && !(ev->mask & IN_CREATE))
			app_closed(t, ev->name);
		/* A file that got its name by link(2) is complete now. */
		if (ev->len && ev->mask & IN_DELETE && ev->name[0] == '.')
			app_arrived(t, ev->name + 1);
	}
	return n;
}

static void follow_directories(struct server *sv)
{
	struct tracer *t = sv->tracer;
	unsigned int again;

	pthread_mutex_lock(&t->lock);
	take_changes(sv);
	apps_check_room(t);
	again = apps_check_closed(t);
	if (again)
		server_arm(sv, again);
	if (apps_of(t)->rescan_pending || !cds_list_empty(&apps_of(t)->retries))
		server_arm(sv, SCAN_AGAIN);
	pthread_mutex_unlock(&t->lock);
}

/*
 * Some of the changes that were queued at the first call, for which *left is negative. True: there
 * are more. Caller holds tracer.lock.
 */
static bool catch_up(struct tracer *t, int *left)
{
	struct server *sv = apps_of(t)->server;
	ssize_t n = 0;

	if (sv && *left < 0 && ioctl(sv->inotify, FIONREAD, left) < 0)
		*left = 0;
	if (sv && *left > 0)
		n = take_changes(sv);
	apps_check_closed(t);
	if (n <= 0)
		return false;
	/* Its thread has the rest to do: sockets for new users, the timer. */
	server_wake(sv);
	*left -= (int)n;
	return *left > 0;
}

void apps_catch_up_locked(struct tracer *t)
{
	int left = -1;

	while (catch_up(t, &left))
		;
}

void apps_catch_up(struct tracer *t)
{
	bool more;
	int left = -1;

	do {
		pthread_mutex_lock(&t->lock);
		more = catch_up(t, &left);
		pthread_mutex_unlock(&t->lock);
	} while (more);
}

void apps_catch_up_until(struct tracer *t, int64_t until)
{
	const struct timespec ts = { until / 1000000000, until % 1000000000 };
	bool more = true;
	int left = -1;

	while (more && !pthread_mutex_timedlock(&t->lock, &ts)) {
		more = catch_up(t, &left) && wall_clock() < until;
		pthread_mutex_unlock(&t->lock);
	}
}

/* ---- timer ---- */

static void timer_event(struct server *sv)
{
	struct conn *cn, *next;
	int64_t now = wall_clock(), limit;
	uint64_t count;
	int reads = 0;

	if (read(sv->timer, &count, sizeof(count)) < 0)
		return;
	limit = is_short(sv) ? CONNECTION_SECONDS_SHORT : CONNECTION_SECONDS;
	if (sv->deaf)
		connections_listen(sv, true);
	cds_list_for_each_entry_safe(cn, next, &sv->conns, node) {
		if (now - cn->since <= limit * 1000000000 && now >= cn->since)
			continue;
		/* The application is not late if its message is here already. */
		if (!is_readable(cn->fd))
			connection_drop(sv, cn, false);
		else if (reads++ < LATE_READS)
			connection_read(sv, cn);
	}
	if (sv->conn_count)
		server_arm(sv, CONNECTION_SECONDS_SHORT * 1000);
	scan_again(sv, now);
	follow_directories(sv);
	sessions_save_again(sv->tracer);
	retry_apps(sv, now);
}

/* Another thread may have handled changes of the directories: see apps_catch_up(). */
static void wake_event(struct server *sv)
{
	uint64_t count;

	if (read(sv->wake, &count, sizeof(count)) < 0)
		return;
	connections_accept(sv, sv->listener, ACCEPTS_AT_ONCE);
	follow_directories(sv);
}

static int watch_fd(struct server *sv, int *fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = fd };

	return *fd < 0 || epoll_ctl(sv->epoll, EPOLL_CTL_ADD, *fd, &ev) < 0 ? -errno : 0;
}

/* Files in a directory that was watched before and has no descriptor any more stay watched. */
static int watch_directories(struct server *sv)
{
	char path[64];

	for (int i = 0; i < 2; i++) {
		if (apps_of(sv->tracer)->fds[i] < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", apps_of(sv->tracer)->fds[i]);
		if (inotify_add_watch(sv->inotify, path,
				      IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE |
					      IN_ONLYDIR | IN_EXCL_UNLINK) < 0)
			return -errno;
	}
	return 0;
}

/* Root's daemon mounts the system's directory when it starts, which may be later than we did. */
static void mounts_event(struct server *sv)
{
	struct tracer *t = sv->tracer;

	pthread_mutex_lock(&t->lock);
	if (apps_look_again(t)) {
		watch_directories(sv);
		apps_scan(t);
	}
	pthread_mutex_unlock(&t->lock);
}

/* Without it, the directory stays the one that was found at the start. */
static void watch_mounts(struct server *sv)
{
	struct epoll_event ev = { .events = EPOLLPRI, .data.ptr = &sv->mounts };

	if (sv->tracer->lane == TRAIL_LANE_ROOT)
		return;
	/* poll(2) says that the table has changed (proc(5)). */
	sv->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (sv->mounts >= 0)
		epoll_ctl(sv->epoll, EPOLL_CTL_ADD, sv->mounts, &ev);
}

/* Whether an application waits for this thread, or may begin to while it is busy. */
static bool has_application(struct server *sv, const struct epoll_event *events, int n)
{
	bool found = !cds_list_empty(&sv->queues) || !cds_list_empty(&sv->conns);

	for (int i = 0; i < n && !found; i++)
		found = events[i].data.ptr == &sv->listener || events[i].data.ptr == &sv->pathless;
	return found;
}

static void *serve(void *arg)
{
	struct server *sv = arg;
	struct epoll_event events[64];
	struct conn *cn, *next;

	/*
	 * Applications wait for a sign of life for 10 ms at most, so this thread runs ahead of busy
	 * ones. At most a quarter of a CPU, so that applications cannot use it to keep others from
	 * running. One run is long enough to describe 5,000 events of a program to a new session
	 * without a pause.
	 */
	slice_reserve(20000000, 80000000);
	queues_update(sv);
	/* For what the scan at start left to a later one. */
	server_arm(sv, SCAN_AGAIN);
	while (!__atomic_load_n(&sv->stop, __ATOMIC_ACQUIRE)) {
		int n = epoll_wait(sv->epoll, events, 64, -1);

		if (has_application(sv, events, n))
			pulse_busy(sv->pulse);
		for (int i = 0; i < n; i++) {
			void *what = events[i].data.ptr;

			if (what == &sv->listener)
				connections_accept(sv, sv->listener, ACCEPTS_AT_ONCE);
			else if (what == &sv->pathless)
				connections_accept(sv, sv->pathless, ACCEPTS_AT_ONCE);
			else if (what == &sv->inotify)
				follow_directories(sv);
			else if (what == &sv->timer)
				timer_event(sv);
			else if (what == &sv->wake)
				wake_event(sv);
			else if (what == &sv->mounts)
				mounts_event(sv);
			else
				queue_serve(sv, what);
		}
		connections_free_dropped(sv);
		queues_update(sv);
		buffers_keep(sv->tracer);
		if (__atomic_load_n(&sv->tracer->keeper_pending, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&sv->tracer->save_pending, __ATOMIC_RELAXED))
			server_arm(sv, SCAN_AGAIN);
		pulse_idle(sv->pulse);
	}
	cds_list_for_each_entry_safe(cn, next, &sv->conns, node)
		connection_drop(sv, cn, true);
	connections_free_dropped(sv);
	queues_free(sv);
	return NULL;
}

static void server_free(struct server *sv)
{
	int fds[] = { sv->epoll, sv->listener, sv->pathless, sv->inotify,
		      sv->timer, sv->wake,     sv->mounts };

	pulse_destroy(sv->pulse);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(sv);
}

int server_start(struct tracer *t)
{
	struct server *sv = calloc(1, sizeof(*sv));
	pthread_attr_t attr;
	int err;

	if (!sv)
		return -ENOMEM;
	CDS_INIT_LIST_HEAD(&sv->conns);
	CDS_INIT_LIST_HEAD(&sv->dropped);
	CDS_INIT_LIST_HEAD(&sv->queues);
	sv->tracer = t;
	sv->mounts = -1;
	sv->epoll = epoll_create1(EPOLL_CLOEXEC);
	sv->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	err = sv->inotify < 0 ? -errno : 0;
	sv->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	sv->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	sv->listener = listen_to_all(t);
	sv->pathless = listen_without_path(t);
	if (!err && sv->listener < 0)
		err = sv->listener;
	if (!err)
		err = watch_fd(sv, &sv->listener);
	if (!err)
		err = watch_fd(sv, &sv->inotify);
	if (!err)
		err = watch_fd(sv, &sv->timer);
	if (!err)
		err = watch_fd(sv, &sv->wake);
	if (!err)
		err = watch_directories(sv);
	if (!err)
		watch_mounts(sv);
	if (!err && t->lane == TRAIL_LANE_ROOT)
		sockets_prepare(t);
	if (!err)
		err = pulse_create(sv->listener, sv->wake, &sv->pulse);
	if (!err && sv->pathless >= 0 &&
	    (pulse_listen(sv->pulse, sv->pathless) || watch_fd(sv, &sv->pathless)))
		err = -ENOMEM;
	if (!err) {
		apps_of(t)->server = sv;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 256 * 1024);
		err = -pthread_create(&sv->thread, &attr, serve, sv);
		pthread_attr_destroy(&attr);
	}
	if (err) {
		apps_of(t)->server = NULL;
		server_free(sv);
	}
	return err;
}

void server_stop(struct tracer *t)
{
	struct server *sv = apps_of(t)->server;

	if (!sv)
		return;
	/* Pairs with the acquire load in serve(). */
	__atomic_store_n(&sv->stop, true, __ATOMIC_RELEASE);
	server_wake(sv);
	pthread_join(sv->thread, NULL);
	sockets_remove(t);
	pthread_mutex_lock(&t->lock);
	apps_of(t)->server = NULL;
	pthread_mutex_unlock(&t->lock);
	server_free(sv);
}
