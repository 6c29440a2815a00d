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
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/mounttable.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"

#define THREADS_MOST 64         /* requests that are served at a time; others wait in the kernel */
#define THREADS_IDLE 6          /* that stay and wait for requests */
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
	pthread_mutex_t lock;   /* guards the next three */
	struct worker workers[THREADS_MOST];
	unsigned waiting;       /* threads that wait for a request */
	bool stopping;          /* no thread starts or ends by itself */
	int ended;              /* eventfd: a thread saw the end of the mount */
	char *path;
	char device[24];        /* of the file system, as the mount table has it; "": not known */
};

static void log_libfuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[512];
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	while (n > 0 && n < (int)sizeof(line) && line[n - 1] == '\n')
		line[--n] = 0;
	say(level <= FUSE_LOG_ERR      ? SAY_ERROR
	    : level <= FUSE_LOG_NOTICE ? SAY_WARNING
				       : SAY_DEBUG,
	    "%s", line);
}

struct mount *mount_open(const char *path, const char *options, bool allow_other)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct mount *m = calloc(1, sizeof(*m));
	struct mount_entry top;
	char *opts = NULL;

	fuse_set_log_func(log_libfuse);
	if (!m ||
	    asprintf(&opts, "subtype=trailfs,default_permissions%s%s%s",
		     allow_other ? ",allow_other" : "", *options ? "," : "", options) < 0 ||
	    fuse_opt_add_arg(&args, "trailfs") || fuse_opt_add_arg(&args, "-o") ||
	    fuse_opt_add_arg(&args, opts))
		goto fail;
	m->session = fuse_session_new(&args, &fuse_ops, sizeof(fuse_ops), NULL);
	if (!m->session)
		goto fail;
	if (fuse_session_mount(m->session, path)) {
		fuse_session_destroy(m->session);
		goto fail;
	}
	notify_use(m->session);
	m->path = strdup(path);
	if (mounttable_find(0, path, NULL, &top))
		memcpy(m->device, top.device, sizeof(m->device));
	m->ended = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&m->lock, NULL);
	free(opts);
	fuse_opt_free_args(&args);
	return m;
fail:
	free(opts);
	fuse_opt_free_args(&args);
	free(m);
	return NULL;
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
	if (!--m->waiting && !m->stopping)
		start_worker(m);        /* if memory is short, busy ones come back */
	pthread_mutex_unlock(&m->lock);
}

/* Sets ended if enough others wait. */
static void join_queue(struct worker *w)
{
	struct mount *m = w->mount;

	pthread_mutex_lock(&m->lock);
	w->ended = m->waiting >= THREADS_IDLE && !m->stopping;
	m->waiting += !w->ended;
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

	pthread_cleanup_push(free_buffer, &buf);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!self->ended && !fuse_session_exited(m->session)) {
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		n = fuse_session_receive_buf(m->session, &buf);
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
				{ .fd = m->ended, .events = POLLIN } };
	struct signalfd_siginfo info = { 0 };

	while (poll(fds, 2, -1) < 0)
		;
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
static void cut_connection(struct mount *m)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	dup3(ends[1], fuse_session_fd(m->session), O_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
}

void mount_close(struct mount *m)
{
	stop(m);
	if (is_foreign(m))
		cut_connection(m);
	fuse_session_unmount(m->session);
	fuse_session_destroy(m->session);
	close(m->ended);
	pthread_mutex_destroy(&m->lock);
	free(m->path);
	free(m);
}
