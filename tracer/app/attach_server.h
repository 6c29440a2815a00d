/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that serves applications, as its three files share it: attach_server.c has the thread,
 * its timer and the apps directories, attach_connection.c the connections, user_queue.c the users'
 * turns. All functions are called by this thread only, without tracer.lock.
 */
#ifndef TRACER_APP_ATTACH_SERVER_H
#define TRACER_APP_ATTACH_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tracer/app/app.h"
#include "tracer/app/pulse.h"
#include "tracer/session/session.h"

#define CONNECTION_SECONDS_SHORT 1 /* while descriptors are short */
/* ms until an application is asked to attach again; doubled with each attempt that fails */
#define RETRY_FIRST 10

struct conn {
	struct cds_list_head node;
	int fd;
	struct ucred peer;
	char comm[16];                  /* the peer's name when it was answered; "": not known */
	struct user *user;
	struct user_queue *queue;
	int64_t since;
	bool answered;
	uint32_t object_count;
	char (*objects)[33];            /* names of the registrations that it attaches */
};

/*
 * What one user's applications want, in an epoll instance of its own that is a member of the
 * server's: each user gets some turns, then the next user does, however many connections one has.
 */
struct user_queue {
	struct cds_list_head node;      /* in server.queues */
	struct user *user;              /* whose `queue` this is */
	int epoll;
	int listener;                   /* the user's own socket; -1: none */
	uint32_t conn_count;
};

struct server {
	struct tracer *tracer;
	pthread_t thread;
	struct pulse *pulse;
	int epoll, listener, inotify, timer, wake;
	int mounts;     /* the table of mounts; -1: not watched */
	int pathless;   /* listens at an abstract address, for peers after chroot(2); -1: none */
	bool stop;                      /* atomic; set before wake is written */
	/* Only the thread's own: */
	struct cds_list_head conns;     /* the oldest is first */
	uint32_t conn_count;
	struct cds_list_head queues;    /* struct user_queue; the oldest is first */
	uint32_t socket_count;          /* users' own */
	bool has_unused;                /* some queue may be */
	int64_t scanned;                /* when registrations were last looked for again */
	struct cds_list_head dropped;   /* closed; events of this batch may name them */
	bool deaf; /* accept is out of descriptors; tried again with the timer */
};

/* Makes the timer expire in `ms` milliseconds, or earlier if it is set to. */
void server_arm(struct server *sv, int64_t ms);

/* Makes the thread look for connections that it can accept, and for `stop`. */
void server_wake(struct server *sv);

/* Reads what the peer has sent, and answers it. Drops the connection if it has ended. */
void connection_read(struct server *sv, struct conn *cn);

/*
 * Closes a connection. Events that epoll_wait returned before may still name it, and are ignored;
 * connections_free_dropped() frees it. `completed` is false if the peer is to attach again, because
 * it has named its objects and could not be answered.
 */
void connection_drop(struct server *sv, struct conn *cn, bool completed);

/* When all events of one epoll_wait have been handled. */
void connections_free_dropped(struct server *sv);

/*
 * Accepts up to `max` peers that wait, and reads the questions of the first ones. If more may wait,
 * epoll says so again. The common listener also gives what the pulse has accepted.
 */
void connections_accept(struct server *sv, int listener, uint32_t max);

/* Switches the listening sockets on or off in epoll. */
void connections_listen(struct server *sv, bool on);

/* -errno, or a socket that listens. */
int listen_to_all(const struct tracer *t);
int listen_without_path(const struct tracer *t);

/* Makes the directory of the users' sockets, and removes those of an earlier daemon. */
void sockets_prepare(const struct tracer *t);
void sockets_remove(const struct tracer *t);

/* The user's queue, made if there is none; NULL: no memory, or no descriptor. Takes tracer.lock. */
struct user_queue *queue_get(struct server *sv, struct user *u);
/* Some turns of one user. */
void queue_serve(struct server *sv, struct user_queue *q);
/*
 * Gives a socket to each user who has registered an application since the last call, and frees the
 * queues that are not used. Only when no event of an epoll_wait is left. Takes tracer.lock.
 */
void queues_update(struct server *sv);
void queues_listen(struct server *sv, bool on);
/* At the end, when there is no connection any more. */
void queues_free(struct server *sv);

#endif
