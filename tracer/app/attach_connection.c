// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections of applications: who may have one, the question that comes over it, and the answer.
 * A crowd of silent connections keeps no other user's programs from attaching: each user has a
 * limit, and at the limit a new connection takes the place of the user's oldest one. Nor does a
 * user who connects, or asks, as fast as the daemon can serve: see user_queue.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tracer/app/attach_reply.h"
#include "tracer/app/attach_server.h"
#include "tracer/app/trouble.h"

#define CONNS_MAX 16384u
#define CONNS_PER_USER 8192u /* a thousand processes may come at once */
#define ANSWERS_AT_ONCE 8u /* while connections are accepted */

/* A question, and one byte more: a longer message is seen to be too long. Or what follows it. */
union question {
	struct trail_hello hello;
	struct trail_taken taken;
	uint8_t bytes[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16 + 1];
};

/* Has the application asked to attach again: soon at first, then later with each failure. */
static void retry_app(struct server *sv, struct app *a)
{
	int64_t ms = (int64_t)RETRY_FIRST << (a->failures < 8 ? a->failures : 8);

	a->failures++;
	a->retry_at = wall_clock() + ms * 1000000;
	cds_list_del(&a->retry);        /* from the list, or from itself */
	cds_list_add_tail(&a->retry, &apps_of(sv->tracer)->retries);
	server_arm(sv, ms);
}

static void print_object_name(const struct trail_hello *hello, uint32_t i, char name[33])
{
	for (int b = 0; b < 16; b++)
		snprintf(name + 2 * b, 3, "%02x", hello->objects[i][b]);
}

/* The application of this name, if a peer of user `uid` may act for it; or NULL. */
static struct app *find_app_for(struct tracer *t, const char *name, uid_t uid)
{
	struct app *a = app_by_name(t, name);

	return a && (a->file->uid == uid || !uid) ? a : NULL;
}

static void retry_connection(struct server *sv, const struct conn *cn)
{
	struct tracer *t = sv->tracer;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < cn->object_count; i++) {
		struct app *a = find_app_for(t, cn->objects[i], cn->peer.uid);

		if (a)
			retry_app(sv, a);
	}
	pthread_mutex_unlock(&t->lock);
}

static void count_for_user(struct server *sv, struct user *u, int n)
{
	pthread_mutex_lock(&sv->tracer->lock);
	u->conns += (uint32_t)n;
	user_release(sv->tracer, u);
	pthread_mutex_unlock(&sv->tracer->lock);
}

void connection_drop(struct server *sv, struct conn *cn, bool completed)
{
	if (!completed && cn->object_count)
		retry_connection(sv, cn);
	cds_list_del(&cn->node);
	cds_list_add(&cn->node, &sv->dropped);
	sv->conn_count--;
	count_for_user(sv, cn->user, -1);
	pulse_remove(sv->pulse, cn->fd);
	/* Closing is not enough while a forked child has it too. */
	epoll_ctl(cn->queue->epoll, EPOLL_CTL_DEL, cn->fd, NULL);
	if (!--cn->queue->conn_count)
		sv->has_unused = true;
	close(cn->fd);
	cn->fd = -1;
}

void connections_free_dropped(struct server *sv)
{
	struct conn *cn, *next;

	cds_list_for_each_entry_safe(cn, next, &sv->dropped, node) {
		cds_list_del(&cn->node);
		free(cn->objects);
		free(cn);
	}
}

/* A peer that has given up does not read an answer, and others wait for theirs. */
static bool hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static int send_answer(struct server *sv, struct conn *cn, const struct trail_hello *hello)
{
	struct tracer *t = sv->tracer;
	bool late = hung_up(cn->fd);
	struct attach_reply *p = late ? NULL : attach_reply_create();
	int err = late ? -EPIPE : p ? 0 : -ENOMEM;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < hello->object_count; i++) {
		struct app *a;

		print_object_name(hello, i, cn->objects[i]);
		cn->object_count = i + 1;
		if (p && !app_by_name(t, cn->objects[i]))
			app_found(t, cn->objects[i]);
		a = p ? find_app_for(t, cn->objects[i], cn->peer.uid) : NULL;
		if (!a)
			continue;
		/*
		 * The kernel's number for the peer. The holder of the file's lock has the same,
		 * unless the registration was made in another PID namespace.
		 */
		if (cn->peer.pid > 0 ? a->pid != (uint32_t)cn->peer.pid : !a->pid && !a->outside) {
			app_set_pid(t, a, (uint32_t)cn->peer.pid);
			a->outside = !a->pid;
			/* The sessions that want it are known now. */
			app_apply(t, a, false);
		}
		attach_reply_app(p, t, a, i, hello->flags);
	}
	if (p)
		err = attach_reply_send(p, cn->fd, hello->flags & TRAIL_HELLO_INLINE);
	pthread_mutex_unlock(&t->lock);
	attach_reply_destroy(p);
	return err;
}

static void note_completed(struct server *sv, const struct conn *cn)
{
	pthread_mutex_lock(&sv->tracer->lock);
	for (uint32_t i = 0; i < cn->object_count; i++) {
		struct app *a = find_app_for(sv->tracer, cn->objects[i], cn->peer.uid);

		if (a)
			app_attached(sv->tracer, a);
	}
	pthread_mutex_unlock(&sv->tracer->lock);
}

/* The regions that the application could not map. */
static void note_unmapped(struct server *sv, const struct conn *cn, const struct trail_taken *m)
{
	pthread_mutex_lock(&sv->tracer->lock);
	for (uint32_t i = 0; i < m->count && i < TROUBLES_MAX; i++)
		trouble_unmapped(sv->tracer, &cn->peer, cn->comm, &m->regions[i]);
	pthread_mutex_unlock(&sv->tracer->lock);
}

/* A message of n bytes after the answer; -1: none. True: the application has taken that over. */
static bool read_confirmation(struct server *sv, const struct conn *cn, const union question *msg,
			      ssize_t n)
{
	const struct trail_taken *m = &msg->taken;

	if (n == 1)
		return true;
	if (n < (ssize_t)sizeof(*m) || m->magic != TRAIL_TAKEN_MAGIC ||
	    n != (ssize_t)(sizeof(*m) + m->count * sizeof(m->regions[0])))
		return false;
	note_unmapped(sv, cn, m);
	return !(m->flags & TRAIL_TAKEN_UNCOUNTED);
}

void connection_read(struct server *sv, struct conn *cn)
{
	union question msg;
	ssize_t n;

	if (cn->fd < 0)
		return; /* dropped since epoll_wait */
	n = recv(cn->fd, &msg, sizeof(msg), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (cn->answered) {
		bool completed = read_confirmation(sv, cn, &msg, n);

		if (completed)
			note_completed(sv, cn);
		connection_drop(sv, cn, completed);
		return;
	}
	if (n < (ssize_t)sizeof(msg.hello) || msg.hello.lane != sv->tracer->lane ||
	    msg.hello.magic != TRAIL_HELLO_MAGIC || msg.hello.version != TRAIL_ABI_VERSION ||
	    msg.hello.object_count > TRAIL_OBJECT_MAX ||
	    n != (ssize_t)(sizeof(msg.hello) + msg.hello.object_count * 16) ||
	    !(cn->objects = calloc(msg.hello.object_count + 1, sizeof(*cn->objects)))) {
		connection_drop(sv, cn, true);
		return;
	}
	cn->answered = true;
	/* A short program may have ended as soon as it has the answer, and its name with it. */
	app_comm((uint32_t)cn->peer.pid, cn->comm, sizeof(cn->comm));
	if (send_answer(sv, cn, &msg.hello) == 0)
		pulse_remove(sv->pulse, cn->fd);
	else
		connection_drop(sv, cn, false);
}

/*
 * Closes a connection for which there is no place. If its question is here, the objects that it
 * names are asked to attach again.
 */
static void refuse_connection(struct server *sv, int fd, uid_t uid)
{
	union question msg;
	ssize_t n = recv(fd, &msg, sizeof(msg), MSG_DONTWAIT);
	struct tracer *t = sv->tracer;
	char name[33];
	struct app *a;

	if (n >= (ssize_t)sizeof(msg.hello) && msg.hello.magic == TRAIL_HELLO_MAGIC &&
	    msg.hello.object_count <= TRAIL_OBJECT_MAX &&
	    n == (ssize_t)(sizeof(msg.hello) + msg.hello.object_count * 16)) {
		pthread_mutex_lock(&t->lock);
		for (uint32_t i = 0; i < msg.hello.object_count; i++) {
			print_object_name(&msg.hello, i, name);
			a = find_app_for(t, name, uid);
			if (a)
				retry_app(sv, a);
		}
		pthread_mutex_unlock(&t->lock);
	}
	close(fd);
}

/* The oldest connection of the user; NULL: of the user who has the most. */
static struct conn *find_oldest(struct server *sv, const struct user *u)
{
	struct conn *cn, *oldest = NULL;

	cds_list_for_each_entry(cn, &sv->conns, node) {
		if (u && cn->user == u)
			return cn;
		if (!u && (!oldest || cn->user->conns > oldest->user->conns))
			oldest = cn;
	}
	return oldest;
}

/* False: there is no connection to drop. */
static bool evict_oldest(struct server *sv, const struct user *u)
{
	struct conn *cn = find_oldest(sv, u);

	if (cn)
		connection_drop(sv, cn, false);
	return cn != NULL;
}

/*
 * Counts a connection for the user. At the user's limit it takes the place of the user's own oldest
 * one, so that silent connections keep no program of the user from attaching. At the limit of all
 * it takes the place of the oldest one of the user who has the most: users who reach that limit
 * together keep no other user's programs from attaching. NULL: no place, or no memory.
 */
static struct user *admit_user(struct server *sv, uid_t uid)
{
	struct user *u;
	bool is_full, all_full;

	pthread_mutex_lock(&sv->tracer->lock);
	u = user_find(sv->tracer, uid);
	is_full = u && u->conns >= CONNS_PER_USER;
	all_full = u && !is_full && sv->conn_count >= CONNS_MAX;
	if (u)
		u->conns++;
	pthread_mutex_unlock(&sv->tracer->lock);
	if ((!is_full && !all_full) || evict_oldest(sv, is_full ? u : NULL))
		return u;
	count_for_user(sv, u, -1);
	return NULL;
}

void connections_listen(struct server *sv, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0, .data.ptr = &sv->listener };

	sv->deaf = !on;
	epoll_ctl(sv->epoll, EPOLL_CTL_MOD, sv->listener, &ev);
	ev.data.ptr = &sv->pathless;
	if (sv->pathless >= 0)
		epoll_ctl(sv->epoll, EPOLL_CTL_MOD, sv->pathless, &ev);
	queues_listen(sv, on);
}

/* A daemon that is not root's serves its own user; its socket without a path has no mode. */
static bool is_served(const struct server *sv, uid_t uid)
{
	return sv->tracer->lane == TRAIL_LANE_ROOT || !uid || uid == geteuid();
}

/* Takes a new connection over; closes it if there is no place for it. NULL: it is closed. */
static struct conn *connection_create(struct server *sv, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct ucred peer = { .uid = (uid_t)-1 };
	struct conn *cn = calloc(1, sizeof(*cn));
	socklen_t len = sizeof(peer);
	struct user_queue *q = NULL;
	struct user *u = NULL;

	if (cn && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    is_served(sv, peer.uid))
		u = admit_user(sv, peer.uid);
	if (u)
		q = queue_get(sv, u);
	if (!q) {
		if (u)
			count_for_user(sv, u, -1);
		free(cn);
		pulse_remove(sv->pulse, fd);
		refuse_connection(sv, fd, peer.uid);
		return NULL;
	}
	*cn = (struct conn){ .fd = fd, .peer = peer, .user = u, .queue = q, .since = wall_clock() };
	ev.data.ptr = cn;
	cds_list_add_tail(&cn->node, &sv->conns);
	sv->conn_count++;
	q->conn_count++;
	pulse_add(sv->pulse, fd);
	if (epoll_ctl(q->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		connection_drop(sv, cn, true);
		return NULL;
	}
	return cn;
}

/* A connection that waits; -1: none, or no descriptor. */
static int accept_next(struct server *sv, int listener)
{
	int fd = listener == sv->listener ? pulse_accept(sv->pulse) : -1;

	if (fd < 0)
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
		/* Peers stay in the queue until a descriptor is free: see timer_event(). */
		connections_listen(sv, false);
		server_arm(sv, RETRY_FIRST);
	}
	return fd;
}

void connections_accept(struct server *sv, int listener, uint32_t max)
{
	for (uint32_t n = 0; n < max; n++) {
		int fd = accept_next(sv, listener);
		struct conn *cn;

		if (fd < 0)
			return;
		cn = connection_create(sv, fd);
		if (!cn)
			continue;
		server_arm(sv, CONNECTION_SECONDS_SHORT * 1000);
		/*
		 * Most send their question at once. The rest of a crowd takes its turn with all
		 * other events.
		 */
		if (n < ANSWERS_AT_ONCE)
			connection_read(sv, cn);
	}
	/* There may be more: the pulse wakes this thread only once for what it has accepted. */
	if (listener == sv->listener)
		server_wake(sv);
}
