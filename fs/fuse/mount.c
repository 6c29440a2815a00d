/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 314
#endif
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/base/mounttable.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/file.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"
#include "fs/tree/node.h"
#include "tracer/face/tracer.h"

#define THREADS_MOST 64         /* requests that are served at a time; others wait in the kernel */
#define THREADS_IDLE 2          /* that stay and wait for requests */
#define REST_SECONDS 1          /* for which others stay, so that a load does not start threads */
/* A sanitizer makes frames several times as large, and an overflow ends without a report. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK (4096 * 1024)
#else
#define STACK (512 * 1024)
#endif
#define KEEP (64 * 1024)        /* a request buffer that was used beyond this is given back */

/*
 * A request can wait for a long time: for a lock, for the kernel's tracer, for a disk. So the last
 * thread that takes a request starts another one, and a thread ends when enough others wait.
 */
struct worker {
	struct mount *mount;
	pthread_t thread;
	bool used;              /* was started, and was not joined yet */
	bool ended;             /* returns now, or has returned */
};

struct mount {
	struct fuse_session *session;
	pthread_mutex_t lock;   /* guards the next six */
	struct worker workers[THREADS_MOST];
	unsigned waiting;       /* threads that wait for a request, or were called for that */
	unsigned resting;       /* that will end soon, and were not called */
	unsigned called;        /* that rested, and do not know yet that they were called */
	pthread_cond_t call;    /* called has grown, or stopping is set */
	bool stopping;          /* no thread starts or ends by itself */
	int ended;              /* eventfd: a thread saw the end of the mount */
	char *path;
	char device[24];        /* of the file system, as the mount table has it; "": not known */
	bool taken;             /* an earlier daemon has mounted */
};

static struct fuse_session *new_session(const char *options, bool allow_other)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *session = NULL;
	char *opts = NULL;

	log_use();
	if (asprintf(&opts, "subtype=trailfs,default_permissions%s%s%s",
		     allow_other ? ",allow_other" : "", *options ? "," : "", options) < 0)
		return NULL;
	if (!fuse_opt_add_arg(&args, "trailfs") && !fuse_opt_add_arg(&args, "-o") &&
	    !fuse_opt_add_arg(&args, opts))
		session = fuse_session_new(&args, &fuse_ops, sizeof(fuse_ops), NULL);
	free(opts);
	fuse_opt_free_args(&args);
	return session;
}

static struct mount *new_mount(struct fuse_session *session, const char *path, const char *device)
{
	struct mount *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;

	if (!m)
		return NULL;
	m->session = session;
	m->path = strdup(path);
	snprintf(m->device, sizeof(m->device), "%s", device);
	m->ended = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&m->call, &attr);
	pthread_condattr_destroy(&attr);
	notify_use(session);
	return m;
}

/* The kernel's first message. Before it, nothing can be handed over. */
static bool greet(struct fuse_session *session)
{
	const struct handover_head *h = handover_head();
	struct fuse_buf buf = { 0 };
	int n = 1;

	while (h && n > 0 && !h->init_reply_len) {
		n = session_io_receive(session, &buf);
		if (n > 0)
			fuse_session_process_buf(session, &buf);
		n = n == -EINTR ? 1 : n;
	}
	free(buf.mem);
	return h && h->init_reply_len;
}

static void hold(void)
{
	int rc = tracer_hold(fs.tracer, HELD_TABLE, handover_fd());

	if (!rc)
		rc = tracer_hold(fs.tracer, HELD_CONNECTION, session_io_connection());
	if (rc) {
		say(SAY_WARNING, "the mount will end with this daemon: %s", strerror(-rc));
		mount_forget(fs.tracer);
	}
}

/*
 * Gives the keeper what the next daemon needs. Without that the mount ends with the daemon. A
 * helper of auto_unmount unmounts then, so there is nothing to hand over.
 */
static void keep(struct mount *m, const char *options)
{
	struct handover_head *h = handover_head();
	bool possible = h && greet(m->session) && !strstr(options, "auto_unmount");

	if (possible) {
		h->library = (uint32_t)fuse_version();
		memcpy(h->device, m->device, sizeof(h->device));
		hold();
	} else {
		say(SAY_DEBUG, "the mount will end with this daemon");
	}
}

struct mount *mount_open(const char *path, const char *options, bool allow_other)
{
	struct fuse_session *session = new_session(options, allow_other);
	struct mount *m = NULL;
	struct mount_entry top = { .device = "" };
	int rc;

	if (!session)
		return NULL;
	if (fuse_session_mount(session, path)) {
		fuse_session_destroy(session);
		return NULL;
	}
	mounttable_find(0, path, NULL, &top);
	rc = handover_begin(path);
	if (rc < 0)
		say(SAY_DEBUG, "nothing can be handed over: %s", strerror(-rc));
	rc = session_io_use(session, fuse_session_fd(session));
	if (!rc)
		m = new_mount(session, path, top.device);
	if (!m) {
		fuse_session_unmount(session);
		session_io_end(session);
		handover_end();
		return NULL;
	}
	keep(m, options);
	return m;
}

/* libfuse is where it was with the earlier daemon: it gets the same first message. */
static bool repeat_greeting(struct fuse_session *session)
{
	char init[HANDOVER_REPLY];
	struct fuse_buf buf = { .mem = init, .size = channel_replay(init, sizeof(init)) };

	if (buf.size)
		fuse_session_process_buf(session, &buf);
	return buf.size && channel_agreed();
}

/* With the table of handover_take. Owns connection. 0 or -errno. */
static int continue_session(struct fuse_session *session, int connection)
{
	int rc = handover_head()->library == (uint32_t)fuse_version() ? 0 : -EPROTO;

	if (!rc)
		rc = session_io_use(session, connection);
	if (rc)
		close(connection);
	else if (!repeat_greeting(session))
		rc = -EPROTO;
	return rc;
}

int mount_try(int table, const char *options, bool allow_other)
{
	struct fuse_session *session = new_session(options, allow_other);
	int rc = session ? handover_try(table) : -ENOMEM, null;

	if (!rc) {
		/* Nothing is read from it: the first message is in the table. */
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		rc = null < 0 ? -errno : continue_session(session, null);
	}
	if (session)
		session_io_end(session);
	return rc;
}

struct mount *mount_take(int connection, int table, const char *options, bool allow_other)
{
	struct fuse_session *session = new_session(options, allow_other);
	const struct handover_head *h;
	struct mount *m = NULL;
	int rc = session ? handover_take(table) : -ENOMEM;

	if (rc) {
		close(table);
		close(connection);
	} else {
		rc = continue_session(session, connection);
	}
	h = handover_head();
	if (!rc)
		m = new_mount(session, h->path, h->device);
	if (!m) {
		say(SAY_WARNING, "the mount of the daemon before this one cannot be taken over: %s",
		    rc == -EPROTO ? "its state is of another version"
				  : strerror(rc ? -rc : ENOMEM));
		if (session)
			session_io_end(session);
		handover_end();
		return NULL;
	}
	m->taken = true;
	/* Again: the keeper knows by that which daemon has the mount. */
	hold();
	rc = channel_resume(connection);
	if (rc == -EINVAL)
		say(SAY_WARNING, "the requests that the daemon before this one had end with EINTR: "
		    "the kernel is older than 6.9 and does not send them again");
	else if (rc)
		say(SAY_WARNING, "requests that the daemon before this one had: %s", strerror(-rc));
	node_recall_all(channel_unanswered);
	file_recall_all(channel_unanswered, channel_wake, connection);
	file_left();
	return m;
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static void free_buffer(void *buf)
{
	free(((struct fuse_buf *)buf)->mem);
}

static void *work(void *worker);

/* Starts a thread, if there is room for one. Caller holds m->lock. 0 or an errno. */
static int start_worker(struct mount *m)
{
	pthread_attr_t attr;
	struct worker *w = m->workers;
	int rc;

	while (w < m->workers + THREADS_MOST && w->used && !w->ended)
		w++;
	if (w == m->workers + THREADS_MOST)
		return EAGAIN;
	if (w->used)
		pthread_join(w->thread, NULL);          /* it returns without a further lock */
	*w = (struct worker){ .mount = m };
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_create(&w->thread, &attr, work, w);
	pthread_attr_destroy(&attr);
	w->used = !rc;
	m->waiting += w->used;
	return rc;
}

/* The thread has a request: another one must wait for the next. */
static void leave_queue(struct mount *m)
{
	pthread_mutex_lock(&m->lock);
	if (!--m->waiting && !m->stopping) {
		if (m->resting) {
			m->resting--;
			m->called++;
			m->waiting++;
			pthread_cond_signal(&m->call);
		} else {
			start_worker(m);        /* if memory is short, busy ones come back */
		}
	}
	pthread_mutex_unlock(&m->lock);
}

/* Waits to be called. False: it was not. Caller holds m->lock. */
static bool rest(struct mount *m)
{
	struct timespec until;
	bool late = false;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += REST_SECONDS;
	m->resting++;
	while (!m->called && !m->stopping && !late)
		late = pthread_cond_timedwait(&m->call, &m->lock, &until) == ETIMEDOUT;
	if (m->called) {        /* any of those that rest may go */
		m->called--;
		return true;
	}
	m->resting--;
	return false;
}

/* Sets ended if enough others wait, and none of them takes a request for a while. */
static void join_queue(struct worker *w)
{
	struct mount *m = w->mount;

	pthread_mutex_lock(&m->lock);
	if (m->waiting < THREADS_IDLE || m->stopping)
		m->waiting++;
	else
		w->ended = !rest(m);
	pthread_mutex_unlock(&m->lock);
}

/* A thread can be cancelled while it waits for a request, and only there. */
static void *work(void *worker)
{
	struct worker *self = worker;
	struct mount *m = self->mount;
	struct fuse_buf buf = { 0 };
	uint64_t one = 1;
	int n;

	channel_thread((unsigned)(self - m->workers));
	pthread_cleanup_push(free_buffer, &buf);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!self->ended && !fuse_session_exited(m->session)) {
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		n = session_io_receive(m->session, &buf);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (n == -ENOMEM)
			pause_briefly();
		if (n == -EINTR || n == -EAGAIN || n == -ENOMEM)
			continue;
		if (n <= 0)
			break;
		leave_queue(m);
		fuse_session_process_buf(m->session, &buf);
		if (n > KEEP) {
			free(buf.mem);
			buf.mem = NULL;
		}
		join_queue(self);
	}
	pthread_cleanup_pop(1);
	if (self->ended)
		return NULL;
	/* Cannot fail: an eventfd takes any count of ones. */
	n = (int)write(m->ended, &one, sizeof(one));
	return NULL;
}

int mount_start(struct mount *m)
{
	int rc = m->ended < 0 ? EMFILE : 0;
	bool runs;

	pthread_mutex_lock(&m->lock);
	for (int i = 0; !rc && i < THREADS_IDLE; i++)
		rc = start_worker(m);
	runs = m->workers[0].used;
	pthread_mutex_unlock(&m->lock);
	return runs ? 0 : -rc;
}

static void stop(struct mount *m)
{
	fuse_session_exit(m->session);
	pthread_mutex_lock(&m->lock);
	m->stopping = true;
	pthread_cond_broadcast(&m->call);
	pthread_mutex_unlock(&m->lock);
	/* No thread starts from here on. */
	for (int i = 0; i < THREADS_MOST; i++)
		if (m->workers[i].used)
			pthread_cancel(m->workers[i].thread);
	for (int i = 0; i < THREADS_MOST; i++)
		if (m->workers[i].used)
			pthread_join(m->workers[i].thread, NULL);
}

int mount_wait(struct mount *m, int signals, pid_t *sender)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
				{ .fd = m->ended, .events = POLLIN },
				{ .fd = chores_wake(), .events = POLLIN },
				{ 0 } };
	struct signalfd_siginfo info = { 0 };
	int left, n;

	do {
		left = chores_do();
		fds[3].fd = tracer_keeper(fs.tracer);
		n = poll(fds, 4, left);
		if (n > 0 && fds[3].revents)
			chores_kick();
	} while (n <= 0 || !(fds[0].revents || fds[1].revents));
	/* Who unmounts and then sends a signal to be sure has unmounted. */
	if (!fds[1].revents && read(signals, &info, sizeof(info)) != sizeof(info))
		info = (struct signalfd_siginfo){ 0 };
	*sender = (pid_t)info.ssi_pid;
	return (int)info.ssi_signo;
}

const char *mount_device(const struct mount *m)
{
	return m->device;
}

/*
 * True if an unmount of the path would remove another mount than ours: ours was unmounted in this
 * mount namespace (copies of it elsewhere kept the daemon alive), or is below another one.
 */
static bool is_foreign(const struct mount *m)
{
	struct mount_entry top;

	return m->path && m->device[0] && mounttable_find(0, m->path, NULL, &top) &&
	       strcmp(top.device, m->device) != 0;
}

/*
 * Ends the connection before fuse_session_unmount, which then unmounts nothing: it takes a
 * descriptor that polls as POLLERR, as a pipe without a reader does, for a mount that is already
 * unmounted.
 */
static void cut_connection(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	dup3(ends[1], session_io_connection(), O_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
}

void mount_forget(struct tracer *t)
{
	tracer_release(t, HELD_START);
	tracer_release(t, HELD_CONNECTION);
	tracer_release(t, HELD_TABLE);
}

void mount_close(struct mount *m, bool unmounted)
{
	stop(m);
	/* While the keeper has the connection, it does not end. */
	if (!unmounted)
		mount_forget(fs.tracer);
	if (is_foreign(m))
		cut_connection();
	else if (m->taken && umount2(m->path, MNT_DETACH | UMOUNT_NOFOLLOW))
		say(SAY_DEBUG, "%s: %s", m->path, strerror(errno));
	fuse_session_unmount(m->session);
	session_io_end(m->session);
	channel_end();
	close(m->ended);
	pthread_cond_destroy(&m->call);
	pthread_mutex_destroy(&m->lock);
	free(m->path);
	free(m);
}
