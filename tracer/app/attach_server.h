/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that serves applications, as its two files share it: attach_server.c has the thread,
 * its timer and the apps directories, attach_connection.c the connections. All functions are called
 * by this thread only, without tracer.lock.
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
	struct cds_list_head conns;     /* the oldest is first */
	uint32_t conn_count;
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
 * Accepts some peers that wait, and reads the questions of the first ones. If more may wait, epoll
 * says so again.
 */
void connections_accept(struct server *sv);

/* Switches the listening socket on or off in epoll. */
void connections_listen(struct server *sv, bool on);

#endif
