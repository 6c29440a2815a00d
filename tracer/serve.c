// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that serves applications: it watches the apps directories and answers who attaches. It sleeps until something
 * happens, and nothing that an application does or fails to do can keep it: every socket is non-blocking, every
 * connection has its second.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/core.h"

#define CONNS_MAX 2048u
#define CONNS_PER_USER 512u
#define CONN_SECONDS 1

struct conn {
	struct cds_list_head node;
	int fd;
	struct ucred peer;
	int64_t since;
	bool answered;
	uint32_t object_count;
	char (*objects)[33];            /* names of the registrations that it attaches */
};

struct server {
	struct tracer *tracer;
	pthread_t thread;
	int epoll, listener, inotify, timer, wake;
	bool stop;                      /* atomic; set before wake is written */
	/* Only the thread's own: */
	struct cds_list_head conns;
	uint32_t conn_count;
};

/* ---- plans ---- */

struct plan {
	struct md_buf slots;            /* struct trail_plan_slot */
	uint32_t slot_count, region_count;
	struct trail_plan_region regions[TRAIL_REGION_MAX];
	struct region *held[TRAIL_REGION_MAX];
};

static int plan_region(struct plan *p, struct region *r, bool own)
{
	for (uint32_t i = 0; i < p->region_count; i++)
		if (p->held[i] == r)
			return (int)i;
	if (p->region_count == TRAIL_REGION_MAX)
		return -ENOSPC;
	p->held[p->region_count] = r;
	p->regions[p->region_count] = (struct trail_plan_region){
		.key = r->key, .size = r->size, .flags = own ? TRAIL_REGION_PROCESS : 0,
	};
	return (int)p->region_count++;
}

/* The slot of one event in one channel: its id, its buffer, and the switch on. */
static int plan_slot(struct plan *p, struct channel *c, const struct app *a, uint32_t object, uint32_t event, bool threads)
{
	const struct regfile_event *e = &a->file->events[event];
	struct class *cl = owner_class(c, a);
	struct trail_plan_slot slot = { .object = (uint16_t)object, .event = event, .word = a->words[event], .on = 1 };
	struct buffer *b, *other;
	int err = 0, region;

	if (!cl)
		return -ENOMEM;
	if (class_find_event(cl, e->digest, &slot.id))
		err = class_event(cl, e->digest, regfile_event(a->file, event), &slot.id);
	b = err ? NULL : class_buffer(cl, threads ? TRAIL_RINGS_THREAD : TRAIL_RINGS_CPU, threads ? a->pid : 0);
	if (!b)
		return err ? err : -ENOMEM;
	region = plan_region(p, b->region, threads || c->per_process);
	if (region < 0)
		return region;
	cds_list_for_each_entry(other, &cl->buffers, node)
		region_switch(other->region, slot.id, true);
	slot.region = (uint16_t)region;
	md_buf_put(&p->slots, &slot, sizeof(slot));
	p->slot_count++;
	return 0;
}

static void plan_app(struct plan *p, struct tracer *t, const struct app *a, uint32_t object, bool threads)
{
	struct session *s;
	struct channel *c;
	int err;

	for (uint32_t e = 0; e < a->file->event_count; e++) {
		if (!a->signatures[e])
			continue;
		cds_list_for_each_entry(s, &t->sessions, node) {
			if (!session_wants(s, a->file->uid))
				continue;
			cds_list_for_each_entry(c, &s->channels, node) {
				if (!channel_wants(c, a->file->events[e].name, a->file->events[e].level))
					continue;
				err = plan_slot(p, c, a, object, e, threads);
				if (err)
					tracer_report(t, "session %s: event %s cannot be recorded: %s", s->name,
						      a->file->events[e].name, strerror(-err));
			}
		}
	}
}

static int plan_memfd(const struct plan *p, uint32_t *size)
{
	struct trail_plan head = {
		.magic = TRAIL_PLAN_MAGIC, .version = TRAIL_ABI_VERSION, .region_count = p->region_count, .slot_count = p->slot_count,
	};
	struct md_buf all = MD_BUF_INIT;
	int fd;

	md_buf_put(&all, &head, sizeof(head));
	md_buf_put(&all, p->regions, p->region_count * sizeof(p->regions[0]));
	md_buf_put(&all, p->slots.data, p->slots.len);
	*size = (uint32_t)all.len;
	fd = all.failed || p->slots.failed ? -1 : memfd_create("trail-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && (write(fd, all.data, all.len) != (ssize_t)all.len ||
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)) {
		close(fd);
		fd = -1;
	}
	md_buf_deinit(&all);
	return fd;
}

static int send_plan(struct conn *cn, const struct plan *p)
{
	union { char buf[CMSG_SPACE(sizeof(int) * (TRAIL_REGION_MAX + 1))]; struct cmsghdr align; } control = { 0 };
	struct trail_answer answer = { .magic = TRAIL_ANSWER_MAGIC, .region_count = p->region_count };
	struct iovec iov = { &answer, sizeof(answer) };
	size_t fds_size = sizeof(int) * (p->region_count + 1);
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = CMSG_SPACE(fds_size) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[TRAIL_REGION_MAX + 1], err;

	fds[0] = plan_memfd(p, &answer.plan_size);
	if (fds[0] < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->region_count; i++)
		fds[i + 1] = p->held[i]->fd;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(fds_size);
	memcpy(CMSG_DATA(c), fds, fds_size);
	err = sendmsg(cn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
	close(fds[0]);
	return err;
}

/* ---- connections ---- */

/* An attempt that was not completed is to be made again: soon, then less and less often. */
static void conn_failed(struct server *sv, const struct conn *cn)
{
	struct tracer *t = sv->tracer;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < cn->object_count; i++) {
		struct app *a = app_by_name(t, cn->objects[i]);

		if (a) {
			a->failures++;
			a->retry = true;
		}
	}
	server_retry(t);
	pthread_mutex_unlock(&t->lock);
}

static void conn_drop(struct server *sv, struct conn *cn, bool completed)
{
	if (!completed && cn->object_count)
		conn_failed(sv, cn);
	cds_list_del(&cn->node);
	sv->conn_count--;
	epoll_ctl(sv->epoll, EPOLL_CTL_DEL, cn->fd, NULL);     /* closing is not enough while a forked child has it too */
	close(cn->fd);
	free(cn->objects);
	free(cn);
}

static int answer(struct server *sv, struct conn *cn, const struct trail_hello *hello)
{
	struct tracer *t = sv->tracer;
	struct plan *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; p && i < hello->object_count; i++) {
		struct app *a;

		for (int b = 0; b < 16; b++)
			snprintf(cn->objects[i] + 2 * b, 3, "%02x", hello->objects[i][b]);
		cn->object_count = i + 1;
		a = app_by_name(t, cn->objects[i]);
		if (!a && app_found(t, cn->objects[i]) == 0)
			a = app_by_name(t, cn->objects[i]);
		if (!a || (a->file->uid != cn->peer.uid && cn->peer.uid != 0))
			continue;
		/* The kernel's word for who it is; the lock's holder is the same, but for files in other PID namespaces. */
		if (cn->peer.pid > 0)
			a->pid = (uint32_t)cn->peer.pid;
		plan_app(p, t, a, i, hello->flags & TRAIL_HELLO_NO_RSEQ);
	}
	if (p)
		err = send_plan(cn, p);
	pthread_mutex_unlock(&t->lock);
	if (p)
		md_buf_deinit(&p->slots);
	free(p);
	return err;
}

static void completed(struct server *sv, const struct conn *cn)
{
	pthread_mutex_lock(&sv->tracer->lock);
	for (uint32_t i = 0; i < cn->object_count; i++) {
		struct app *a = app_by_name(sv->tracer, cn->objects[i]);

		if (a)
			a->failures = 0;
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
	if (answer(sv, cn, &msg.hello))
		conn_drop(sv, cn, false);
}

static uint32_t conns_of(const struct server *sv, uid_t uid)
{
	struct conn *cn;
	uint32_t n = 0;

	cds_list_for_each_entry(cn, &sv->conns, node)
		n += cn->peer.uid == uid;
	return n;
}

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

static void accept_all(struct server *sv)
{
	for (;;) {
		int fd = accept4(sv->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event ev = { .events = EPOLLIN };
		socklen_t len = sizeof(struct ucred);
		struct conn *cn;

		if (fd < 0)
			return;
		cn = sv->conn_count < CONNS_MAX ? calloc(1, sizeof(*cn)) : NULL;
		if (!cn || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cn->peer, &len) < 0 ||
		    conns_of(sv, cn->peer.uid) >= CONNS_PER_USER) {
			free(cn);
			close(fd);
			continue;
		}
		cn->fd = fd;
		cn->since = wall_clock();
		ev.data.ptr = cn;
		cds_list_add_tail(&cn->node, &sv->conns);
		sv->conn_count++;
		if (epoll_ctl(sv->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
			conn_drop(sv, cn, true);
		else
			arm(sv, CONN_SECONDS * 1000);
	}
}

/* ---- timer ---- */

void server_retry(struct tracer *t)
{
	uint32_t least = UINT32_MAX;
	struct app *a;

	cds_list_for_each_entry(a, &t->apps, node)
		if (a->retry && a->failures < least)
			least = a->failures;
	if (t->server && least != UINT32_MAX)
		arm(t->server, 10ll << (least < 8 ? least : 8));
}

static void timer_event(struct server *sv)
{
	struct tracer *t = sv->tracer;
	struct conn *cn, *next;
	int64_t now = wall_clock();
	uint64_t count;
	struct app *a;

	if (read(sv->timer, &count, sizeof(count)) < 0)
		return;
	cds_list_for_each_entry_safe(cn, next, &sv->conns, node)
		if (now - cn->since > CONN_SECONDS * 1000000000ll || now < cn->since)
			conn_drop(sv, cn, false);
	if (sv->conn_count)
		arm(sv, CONN_SECONDS * 1000);
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &t->apps, node)
		if (a->retry) {
			a->retry = false;
			app_apply(t, a, true);
		}
	pthread_mutex_unlock(&t->lock);
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
	}
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
	while (!__atomic_load_n(&sv->stop, __ATOMIC_ACQUIRE)) {
		int n = epoll_wait(sv->epoll, events, 64, -1);

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
			/* A timer may have dropped a connection that is further on in this batch: look again. */
			if (what == &sv->timer)
				break;
		}
		buffers_keep(sv->tracer);
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
		if (inotify_add_watch(sv->inotify, path, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR) < 0)
			return -errno;
	}
	return 0;
}

static void server_free(struct server *sv)
{
	int fds[] = { sv->epoll, sv->listener, sv->inotify, sv->timer, sv->wake };

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
