// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sockets that applications connect to, and the users' turns. Users have sockets of their own,
 * `sockets/UID` in the state directory: the kernel's queue of the common socket is first come,
 * first served, and a user who fills it keeps all others from connecting. So each user who has
 * registered an application gets a socket that other users cannot connect to. An application
 * without one uses the common socket.
 */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/app/attach_server.h"

#define TURNS 8 /* events of one user, before the next user's */
#define ACCEPTS_OF_USER 8u
#define SOCKETS_MAX 512u /* descriptors; above that, users who are gone lose theirs */

#if !defined(SO_PASSRIGHTS) && SO_BINDTODEVICE == 25 /* Linux 6.16; numbers as on most machines */
#define SO_PASSRIGHTS 83
#endif

/*
 * Questions have no descriptors. One that is sent all the same is closed by the thread that takes
 * or drops the message, and the last close of a TCP socket may last as long as its sender likes
 * (SO_LINGER). Kernels before 6.16 cannot refuse them.
 */
static void refuse_descriptors(int listener)
{
#ifdef SO_PASSRIGHTS
	const int off = 0;

	setsockopt(listener, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
#else
	(void)listener;
#endif
}

/* -errno, or a socket that listens at this path, which replaces what was there. */
static int listen_at(const char *path, uid_t owner, mode_t mode)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path) >=
	    (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	refuse_descriptors(fd);
	unlink(addr.sun_path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    chmod(addr.sun_path, mode) == 0 &&
	    (owner == geteuid() || chown(addr.sun_path, owner, (gid_t)-1) == 0) &&
	    listen(fd, 4096) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The socket that each application can connect to. */
int listen_to_all(const struct tracer *t)
{
	char path[sizeof(t->state_dir) + 8];

	snprintf(path, sizeof(path), "%s/socket", t->state_dir);
	return listen_at(path, geteuid(), t->lane == TRAIL_LANE_ROOT ? 0666 : 0600);
}

/*
 * The address that a process reaches from any root directory: the path of `socket` after a NUL. It
 * has no mode, so connection_create() looks at the peer. Fails if another process has it: only
 * processes after chroot(2) miss it, and they count what they miss.
 */
int listen_without_path(const struct tracer *t)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "%s/socket", t->state_dir);
	int fd;

	if (n < 0 || n >= (int)sizeof(addr.sun_path) - 1)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	refuse_descriptors(fd);
	if (bind(fd, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0 &&
	    listen(fd, 4096) == 0)
		return fd;
	n = -errno;
	close(fd);
	return n;
}

static bool socket_path(const struct server *sv, uid_t uid, char *path, size_t size)
{
	return snprintf(path, size, "%s/sockets/%u", sv->tracer->state_dir, (unsigned int)uid) <
	       (int)size;
}

void sockets_prepare(const struct tracer *t)
{
	char path[sizeof(t->state_dir) + 8];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sockets", t->state_dir);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return;
	chmod(path, 0755);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
}

void sockets_remove(const struct tracer *t)
{
	char path[sizeof(t->state_dir) + 8];

	snprintf(path, sizeof(path), "%s/sockets", t->state_dir);
	rmdir(path);
}

static void close_socket(struct server *sv, struct user_queue *q)
{
	char path[300];

	if (q->listener < 0)
		return;
	if (socket_path(sv, q->user->uid, path, sizeof(path)))
		unlink(path);
	pulse_unlisten(sv->pulse, q->listener);
	epoll_ctl(q->epoll, EPOLL_CTL_DEL, q->listener, NULL);
	close(q->listener);
	q->listener = -1;
	sv->socket_count--;
}

/* Caller holds tracer.lock. */
static void queue_free(struct server *sv, struct user_queue *q)
{
	struct user *u = q->user;

	close_socket(sv, q);
	epoll_ctl(sv->epoll, EPOLL_CTL_DEL, q->epoll, NULL);
	close(q->epoll);
	cds_list_del(&q->node);
	free(q);
	u->queue = NULL;
	u->was_fresh = false;
	user_release(sv->tracer, u);
}

/* Caller holds tracer.lock. */
static struct user_queue *queue_create(struct server *sv, struct user *u)
{
	struct user_queue *q = calloc(1, sizeof(*q));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = q };

	if (!q)
		return NULL;
	*q = (struct user_queue){
		.user = u, .listener = -1, .epoll = epoll_create1(EPOLL_CLOEXEC)
	};
	if (q->epoll < 0 || epoll_ctl(sv->epoll, EPOLL_CTL_ADD, q->epoll, &ev) < 0) {
		if (q->epoll >= 0)
			close(q->epoll);
		free(q);
		return NULL;
	}
	cds_list_add_tail(&q->node, &sv->queues);
	u->queue = q;
	return q;
}

struct user_queue *queue_get(struct server *sv, struct user *u)
{
	struct user_queue *q;

	pthread_mutex_lock(&sv->tracer->lock);
	q = u->queue ? u->queue : queue_create(sv, u);
	pthread_mutex_unlock(&sv->tracer->lock);
	return q;
}

void queue_serve(struct server *sv, struct user_queue *q)
{
	struct epoll_event events[TURNS];
	int n = epoll_wait(q->epoll, events, TURNS, 0);

	for (int i = 0; i < n; i++)
		if (events[i].data.ptr == &q->listener)
			connections_accept(sv, q->listener, ACCEPTS_OF_USER);
		else
			connection_read(sv, events[i].data.ptr);
}

void queues_listen(struct server *sv, bool on)
{
	struct user_queue *q;

	cds_list_for_each_entry(q, &sv->queues, node) {
		struct epoll_event ev = { .events = on ? EPOLLIN : 0, .data.ptr = &q->listener };

		if (q->listener >= 0)
			epoll_ctl(q->epoll, EPOLL_CTL_MOD, q->listener, &ev);
	}
}

/* Caller holds tracer.lock. */
static bool is_unused(const struct user_queue *q)
{
	return !q->conn_count && !q->user->apps && !q->user->conns;
}

/* Takes the socket of the user who has had it for the longest time, and is gone. */
static bool make_room(struct server *sv)
{
	struct user_queue *q;

	if (sv->socket_count < SOCKETS_MAX)
		return true;
	cds_list_for_each_entry(q, &sv->queues, node)
		if (q->listener >= 0 && is_unused(q)) {
			queue_free(sv, q);
			return true;
		}
	return false;
}

/* Without a socket of their own, the user's applications use the common one. */
static void open_socket(struct server *sv, struct user *u)
{
	struct user_queue *q = make_room(sv) ? u->queue ? u->queue : queue_create(sv, u) : NULL;
	struct epoll_event ev = { .events = sv->deaf ? 0 : EPOLLIN };
	char path[300];

	if (!q || q->listener >= 0 || !socket_path(sv, u->uid, path, sizeof(path)))
		return;
	q->listener = listen_at(path, u->uid, 0600);
	if (q->listener < 0) {
		q->listener = -1;
		unlink(path);
		sv->has_unused = true;
		return;
	}
	sv->socket_count++;
	ev.data.ptr = &q->listener;
	if (pulse_listen(sv->pulse, q->listener) ||
	    epoll_ctl(q->epoll, EPOLL_CTL_ADD, q->listener, &ev) < 0)
		close_socket(sv, q);
}

static void free_unused(struct server *sv)
{
	struct user_queue *q, *next;

	sv->has_unused = false;
	cds_list_for_each_entry_safe(q, next, &sv->queues, node)
		if (q->listener < 0 && is_unused(q))
			queue_free(sv, q);
}

void queues_update(struct server *sv)
{
	struct tracer *t = sv->tracer;
	struct user *u;

	if (!sv->has_unused && !users_have_fresh(t))
		return;
	pthread_mutex_lock(&t->lock);
	free_unused(sv);
	while ((u = user_take_fresh(t)))
		/* A daemon that is not root's serves one user. */
		if (t->lane == TRAIL_LANE_ROOT)
			open_socket(sv, u);
	pthread_mutex_unlock(&t->lock);
}

void queues_free(struct server *sv)
{
	struct user_queue *q, *next;

	pthread_mutex_lock(&sv->tracer->lock);
	cds_list_for_each_entry_safe(q, next, &sv->queues, node)
		queue_free(sv, q);
	pthread_mutex_unlock(&sv->tracer->lock);
}
