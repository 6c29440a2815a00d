// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that serves applications: it watches the apps directories and answers who attaches. It sleeps until something
 * happens, and nothing that an application does or fails to do can keep it: every socket is non-blocking, every
 * connection has its seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/session/session.h"
#include "tracer/app/attach_reply.h"
#include "tracer/app/pulse.h"

#define CONNS_MAX 16384u
#define CONNS_PER_USER 8192u    /* a thousand processes may well come at once */
#define CONN_SECONDS 10         /* for a peer to send its next message; on a loaded machine a crowd needs some */
#define CONN_SECONDS_SHORT 1    /* while descriptors are short */
#define RETRY_FIRST 10          /* ms until an attempt is asked for again; doubled with each that fails */
#define SCAN_AGAIN 1000         /* ms */
#define ANSWERS_AT_ONCE 8u      /* while connections are accepted */
#define RETRY_BATCH 64          /* at once: as many as can be answered before they give up */

struct conn {
	struct cds_list_head node;
	int fd;
	struct ucred peer;
	struct user *user;
	int64_t since;
	bool answered;
	uint32_t object_count;
	char (*objects)[33];            /* names of the registrations that it attaches */
};

struct server {
	struct tracer *tracer;
	pthread_t thread;
	struct pulse *pulse;
	int epoll, listener, inotify, timer, wake;
	bool stop;                      /* atomic; set before wake is written */
	/* Only the thread's own: */
	struct cds_list_head conns;
	uint32_t conn_count;
	int64_t scanned;                /* when registrations were last looked for again */
	bool deaf;                      /* accept is out of descriptors; tried again with the timer */
	bool dropped;                   /* a connection whose event may be in the current batch of epoll_wait */
};

/* ---- connections ---- */

static void arm(struct server *sv, int64_t ms)
{
	struct itimerspec when, now;

	/* Never later than it is armed for already. */
	if (timerfd_gettime(sv->timer, &now) == 0 && (now.it_value.tv_sec || now.it_value.tv_nsec) &&
	    now.it_value.tv_sec * 1000 + now.it_value.tv_nsec / 1000000 <= ms)
		return;
	when = (struct itimerspec){ .it_value = { ms / 1000, ms % 1000 * 1000000 + 1 } };
	timerfd_settime(sv->timer, 0, &when, NULL);
}

/* An attempt that was not completed is to be made again: soon, then less and less often. */
static void app_failed(struct server *sv, struct app *a)
{
	int64_t ms = (int64_t)RETRY_FIRST << (a->failures < 8 ? a->failures : 8);

	a->failures++;
	a->retry_at = wall_clock() + ms * 1000000;
	cds_list_del(&a->retry);        /* from the list, or from itself */
	cds_list_add_tail(&a->retry, &sv->tracer->retries);
	arm(sv, ms);
}

static void object_name(const struct trail_hello *hello, uint32_t i, char name[33])
{
	for (int b = 0; b < 16; b++)
		snprintf(name + 2 * b, 3, "%02x", hello->objects[i][b]);
}

static void conn_failed(struct server *sv, const struct conn *cn)
{
	struct tracer *t = sv->tracer;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < cn->object_count; i++) {
		struct app *a = app_by_name(t, cn->objects[i]);

		if (a && (a->file->uid == cn->peer.uid || !cn->peer.uid))
			app_failed(sv, a);
	}
	pthread_mutex_unlock(&t->lock);
}

static void user_conns(struct server *sv, struct user *u, int n)
{
	pthread_mutex_lock(&sv->tracer->lock);
	u->conns += (uint32_t)n;
	user_release(sv->tracer, u);
	pthread_mutex_unlock(&sv->tracer->lock);
}

static void conn_drop(struct server *sv, struct conn *cn, bool completed)
{
	if (!completed && cn->object_count)
		conn_failed(sv, cn);
	cds_list_del(&cn->node);
	sv->conn_count--;
	user_conns(sv, cn->user, -1);
	pulse_remove(sv->pulse, cn->fd);
	epoll_ctl(sv->epoll, EPOLL_CTL_DEL, cn->fd, NULL);     /* closing is not enough while a forked child has it too */
	close(cn->fd);
	free(cn->objects);
	free(cn);
}

/* Who has waited too long has gone: an answer would be work for nothing, while others wait. */
static bool hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static int answer(struct server *sv, struct conn *cn, const struct trail_hello *hello)
{
	struct tracer *t = sv->tracer;
	bool late = hung_up(cn->fd);
	struct attach_reply *p = late ? NULL : attach_reply_create();
	int err = late ? -EPIPE : p ? 0 : -ENOMEM;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < hello->object_count; i++) {
		struct app *a;

		object_name(hello, i, cn->objects[i]);
		cn->object_count = i + 1;
		a = app_by_name(t, cn->objects[i]);
		if (!a && p && app_found(t, cn->objects[i]) == 0)
			a = app_by_name(t, cn->objects[i]);
		if (!a || !p || (a->file->uid != cn->peer.uid && cn->peer.uid != 0))
			continue;
		/* The kernel's word for who it is; the lock's holder is the same, but for files in other PID namespaces. */
		if (cn->peer.pid > 0)
			app_set_pid(t, a, (uint32_t)cn->peer.pid);
		attach_reply_app(p, t, a, i, hello->flags & TRAIL_HELLO_NO_RSEQ);
	}
	if (p)
		err = attach_reply_send(p, cn->fd);
	pthread_mutex_unlock(&t->lock);
	attach_reply_destroy(p);
	return err;
}

static void completed(struct server *sv, const struct conn *cn)
{
	pthread_mutex_lock(&sv->tracer->lock);
	for (uint32_t i = 0; i < cn->object_count; i++) {
		struct app *a = app_by_name(sv->tracer, cn->objects[i]);

		if (a)
			app_attached(sv->tracer, a);
	}
	pthread_mutex_unlock(&sv->tracer->lock);
}

/* Something came, or the peer is gone. */
static void conn_event(struct server *sv, struct conn *cn)
{
	union { struct trail_hello hello; uint8_t bytes[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16 + 1]; } msg;
	ssize_t n = recv(cn->fd, &msg, sizeof(msg), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (cn->answered) {
		if (n == 1)
			completed(sv, cn);
		conn_drop(sv, cn, n == 1);
		return;
	}
	if (n < (ssize_t)sizeof(msg.hello) || msg.hello.lane != sv->tracer->lane || msg.hello.magic != TRAIL_HELLO_MAGIC || msg.hello.version != TRAIL_ABI_VERSION ||
	    msg.hello.object_count > TRAIL_OBJECT_MAX ||
	    n != (ssize_t)(sizeof(msg.hello) + msg.hello.object_count * 16) ||
	    !(cn->objects = calloc(msg.hello.object_count + 1, sizeof(*cn->objects)))) {
		conn_drop(sv, cn, true);
		return;
	}
	cn->answered = true;
	if (answer(sv, cn, &msg.hello) == 0)
		pulse_remove(sv->pulse, cn->fd);
	else
		conn_drop(sv, cn, false);
}

/* There are too many: whoever has said who he is already is told to come again. */
static void refuse(struct server *sv, int fd, uid_t uid)
{
	union { struct trail_hello hello; uint8_t bytes[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16 + 1]; } msg;
	ssize_t n = recv(fd, &msg, sizeof(msg), MSG_DONTWAIT);
	struct tracer *t = sv->tracer;
	char name[33];
	struct app *a;

	if (n >= (ssize_t)sizeof(msg.hello) && msg.hello.magic == TRAIL_HELLO_MAGIC &&
	    msg.hello.object_count <= TRAIL_OBJECT_MAX && n == (ssize_t)(sizeof(msg.hello) + msg.hello.object_count * 16)) {
		pthread_mutex_lock(&t->lock);
		for (uint32_t i = 0; i < msg.hello.object_count; i++) {
			object_name(&msg.hello, i, name);
			a = app_by_name(t, name);
			if (a && (a->file->uid == uid || !uid))
				app_failed(sv, a);
		}
		pthread_mutex_unlock(&t->lock);
	}
	close(fd);
}

/* Drops the user's connection that has been silent for the longest time. False: the user has none. */
static bool evict_oldest(struct server *sv, const struct user *u)
{
	struct conn *cn;

	cds_list_for_each_entry(cn, &sv->conns, node)
		if (cn->user == u) {
			conn_drop(sv, cn, false);
			sv->dropped = true;
			return true;
		}
	return false;
}

/*
 * Counts a connection for the user. At a limit it takes the place of the user's own oldest one, so that silent
 * connections keep no program of the user from attaching. NULL: no place, or no memory.
 */
static struct user *admit(struct server *sv, uid_t uid)
{
	struct user *u;
	bool is_full;

	pthread_mutex_lock(&sv->tracer->lock);
	u = user_find(sv->tracer, uid);
	is_full = u && (u->conns >= CONNS_PER_USER || sv->conn_count >= CONNS_MAX);
	if (u)
		u->conns++;
	pthread_mutex_unlock(&sv->tracer->lock);
	if (!is_full || evict_oldest(sv, u))
		return u;
	user_conns(sv, u, -1);
	return NULL;
}

static void listen_to(struct server *sv, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0, .data.ptr = &sv->listener };

	sv->deaf = !on;
	epoll_ctl(sv->epoll, EPOLL_CTL_MOD, sv->listener, &ev);
}

static void accept_all(struct server *sv)
{
	for (uint32_t n = 0;; n++) {
		int early = pulse_accept(sv->pulse);
		int fd = early >= 0 ? early : accept4(sv->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event ev = { .events = EPOLLIN };
		struct ucred peer = { .uid = (uid_t)-1 };
		socklen_t len = sizeof(peer);
		struct user *u = NULL;
		struct conn *cn;

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
			/* Peers stay in the listener's queue until a descriptor is free: see timer_event(). */
			listen_to(sv, false);
			arm(sv, RETRY_FIRST);
		}
		if (fd < 0)
			return;
		cn = calloc(1, sizeof(*cn));
		if (cn && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
			u = admit(sv, peer.uid);
		if (!u) {
			free(cn);
			pulse_remove(sv->pulse, fd);
			refuse(sv, fd, peer.uid);
			continue;
		}
		*cn = (struct conn){ .fd = fd, .peer = peer, .user = u, .since = wall_clock() };
		ev.data.ptr = cn;
		cds_list_add_tail(&cn->node, &sv->conns);
		sv->conn_count++;
		pulse_add(sv->pulse, fd);
		if (epoll_ctl(sv->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
			conn_drop(sv, cn, true);
			continue;
		}
		arm(sv, CONN_SECONDS_SHORT * 1000);
		/* Most send their question at once. The rest of a crowd takes its turn with all other events. */
		if (n < ANSWERS_AT_ONCE)
			conn_event(sv, cn);
	}
}

/* ---- timer ---- */

/* New generations for those whose time has come, but not for all at once: they would be in each other's way again. */
static void retry(struct server *sv, int64_t now)
{
	struct tracer *t = sv->tracer;
	struct app *a, *next;
	int64_t soonest = INT64_MAX;
	int n = 0;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry_safe(a, next, &t->retries, retry) {
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
		arm(sv, soonest / 1000000 < RETRY_FIRST ? RETRY_FIRST : soonest / 1000000);
}

/* For registrations that there was no descriptor for when they came. */
static void scan_again(struct server *sv, int64_t now)
{
	struct tracer *t = sv->tracer;

	pthread_mutex_lock(&t->lock);
	if (t->rescan_pending && (now - sv->scanned >= SCAN_AGAIN * 1000000ll || now < sv->scanned)) {
		sv->scanned = now;
		apps_scan(t);
	}
	if (t->rescan_pending)
		arm(sv, SCAN_AGAIN);
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
	pending = sv->tracer->rescan_pending;
	pthread_mutex_unlock(&sv->tracer->lock);
	return pending || sv->deaf;
}

static void timer_event(struct server *sv)
{
	struct conn *cn, *next;
	int64_t now = wall_clock(), limit;
	uint64_t count;

	if (read(sv->timer, &count, sizeof(count)) < 0)
		return;
	limit = is_short(sv) ? CONN_SECONDS_SHORT : CONN_SECONDS;
	if (sv->deaf)
		listen_to(sv, true);
	cds_list_for_each_entry_safe(cn, next, &sv->conns, node) {
		if (now - cn->since <= limit * 1000000000 && now >= cn->since)
			continue;
		/* The application is not late if its message is here already. */
		if (is_readable(cn->fd))
			conn_event(sv, cn);
		else
			conn_drop(sv, cn, false);
	}
	sv->dropped = true;
	if (sv->conn_count)
		arm(sv, CONN_SECONDS_SHORT * 1000);
	scan_again(sv, now);
	retry(sv, now);
}

/* ---- the apps directories ---- */

static void inotify_event(struct server *sv)
{
	union { struct inotify_event ev; char buf[16384]; } in;
	struct tracer *t = sv->tracer;
	ssize_t n = read(sv->inotify, in.buf, sizeof(in.buf));
	const struct inotify_event *ev;

	pthread_mutex_lock(&t->lock);
	for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*ev) + ev->len)) {
		ev = (const struct inotify_event *)(in.buf + at);
		if (ev->mask & IN_Q_OVERFLOW)
			apps_scan(t);
		else if (ev->len && ev->mask & IN_MOVED_TO)
			app_arrived(t, ev->name);
		else if (ev->len)
			app_check(t, ev->name);
		/* A file that got its name by link(2) is complete now. */
		if (ev->len && ev->mask & IN_DELETE && ev->name[0] == '.')
			app_arrived(t, ev->name + 1);
	}
	if (t->rescan_pending || !cds_list_empty(&t->retries))
		arm(sv, SCAN_AGAIN);
	pthread_mutex_unlock(&t->lock);
}

/*
 * Applications wait 10 ms for an answer at most: so ahead of busy threads, if we are allowed to, but with at most a quarter
 * of a CPU, so that nobody can make us starve others (sched(7): SCHED_DEADLINE). Else as near to that as a nice value gets.
 */
static void be_quick(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {
		.size = sizeof(attr), .policy = 6 /* SCHED_DEADLINE */, .flags = 1 /* RESET_ON_FORK */,
		.runtime = 5000000, .deadline = 20000000, .period = 20000000,
	};

	if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0)
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -15);
}

static void *serve(void *arg)
{
	struct server *sv = arg;
	struct epoll_event events[64];
	struct conn *cn, *next;

	be_quick();
	/* For what the scan at start left to a later one. */
	arm(sv, SCAN_AGAIN);
	while (!__atomic_load_n(&sv->stop, __ATOMIC_ACQUIRE)) {
		int n = epoll_wait(sv->epoll, events, 64, -1);
		uint64_t count;

		pulse_busy(sv->pulse);
		sv->dropped = false;
		for (int i = 0; i < n; i++) {
			void *what = events[i].data.ptr;

			if (what == &sv->listener)
				accept_all(sv);
			else if (what == &sv->inotify)
				inotify_event(sv);
			else if (what == &sv->timer)
				timer_event(sv);
			else if (what != &sv->wake)
				conn_event(sv, what);
			else if (read(sv->wake, &count, sizeof(count)) > 0)
				accept_all(sv);
			/* Its event may be further on in this batch: ask for the events again. */
			if (sv->dropped)
				break;
		}
		buffers_keep(sv->tracer);
		pulse_idle(sv->pulse);
	}
	cds_list_for_each_entry_safe(cn, next, &sv->conns, node)
		conn_drop(sv, cn, true);
	return NULL;
}

static int listen_at(const struct tracer *t)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", t->state_dir) >= (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	unlink(addr.sun_path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    chmod(addr.sun_path, t->lane == TRAIL_LANE_ROOT ? 0666 : 0600) == 0 && listen(fd, 4096) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int add(struct server *sv, int *fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = fd };

	return *fd < 0 || epoll_ctl(sv->epoll, EPOLL_CTL_ADD, *fd, &ev) < 0 ? -errno : 0;
}

static int watch(struct server *sv)
{
	char path[64];

	for (int i = 0; i < 2; i++) {
		if (sv->tracer->apps_fds[i] < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", sv->tracer->apps_fds[i]);
		if (inotify_add_watch(sv->inotify, path, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR | IN_EXCL_UNLINK) < 0)
			return -errno;
	}
	return 0;
}

static void server_free(struct server *sv)
{
	int fds[] = { sv->epoll, sv->listener, sv->inotify, sv->timer, sv->wake };

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
	sv->tracer = t;
	sv->epoll = epoll_create1(EPOLL_CLOEXEC);
	sv->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	sv->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	sv->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	sv->listener = listen_at(t);
	err = sv->listener < 0 ? sv->listener : 0;
	if (!err)
		err = add(sv, &sv->listener);
	if (!err)
		err = add(sv, &sv->inotify);
	if (!err)
		err = add(sv, &sv->timer);
	if (!err)
		err = add(sv, &sv->wake);
	if (!err)
		err = watch(sv);
	if (!err)
		err = pulse_create(sv->listener, sv->wake, &sv->pulse);
	if (!err) {
		t->server = sv;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 256 * 1024);
		err = -pthread_create(&sv->thread, &attr, serve, sv);
		pthread_attr_destroy(&attr);
	}
	if (err) {
		t->server = NULL;
		server_free(sv);
	}
	return err;
}

void server_stop(struct tracer *t)
{
	struct server *sv = t->server;
	uint64_t one = 1;

	if (!sv)
		return;
	/* Pairs with the acquire load in serve(). */
	__atomic_store_n(&sv->stop, true, __ATOMIC_RELEASE);
	if (write(sv->wake, &one, sizeof(one)) < 0)
		pthread_cancel(sv->thread);     /* cannot happen: the counter is 0 */
	pthread_join(sv->thread, NULL);
	t->server = NULL;
	server_free(sv);
}
