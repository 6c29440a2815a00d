/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 314
#endif
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/fuse/channel.h"
#include "fs/fuse/reply.h"

static struct fuse_session *notified;

void reply_data(struct fuse_req *req, const void *data, size_t size)
{
	fuse_reply_buf(req, data, size);
}

void reply_parts(struct fuse_req *req, const struct iovec *parts, int count)
{
	fuse_reply_iov(req, parts, count);
}

void reply_error(struct fuse_req *req, int code)
{
	fuse_reply_err(req, code);
}

void reply_no_copy(struct fuse_req *req, uint64_t in, off_t in_offset, struct fuse_file_info *in_fi,
		   uint64_t out, off_t out_offset, struct fuse_file_info *out_fi, size_t size,
		   int flags)
{
	(void)in, (void)in_offset, (void)in_fi, (void)out, (void)out_offset, (void)out_fi;
	(void)size, (void)flags;
	fuse_reply_err(req, EINVAL);
}

void reply_watch(struct fuse_req *req, void (*interrupted)(struct fuse_req *req, void *unused))
{
	fuse_req_interrupt_func(req, interrupted, NULL);
}

bool reply_interrupted(struct fuse_req *req)
{
	return fuse_req_interrupted(req);
}

void poll_wake(struct fuse_pollhandle *ph)
{
	if (!ph)
		return;
	fuse_lowlevel_notify_poll(ph);
	fuse_pollhandle_destroy(ph);
}

void poll_free(struct fuse_pollhandle *ph)
{
	if (ph)
		fuse_pollhandle_destroy(ph);
}

void notify_use(struct fuse_session *session)
{
	notified = session;
}

void notify_forget_name(uint64_t parent, const char *name)
{
	fuse_lowlevel_notify_inval_entry(notified, parent, name, strlen(name));
}

void notify_forget_attr(uint64_t id)
{
	fuse_lowlevel_notify_inval_inode(notified, id, -1, 0);
}

void notify_size(uint64_t id)
{
	struct fuse_bufvec byte = FUSE_BUFVEC_INIT(1);

	byte.buf[0].mem = "";
	fuse_lowlevel_notify_store(notified, id, (off_t)1 << 40, &byte, 0);
}

/* While libfuse is asked for something that it may not have: it complains then. */
static __thread bool asks_libfuse;

static void log_libfuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[512];
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	if (asks_libfuse)
		level = FUSE_LOG_DEBUG;

	while (n > 0 && n < (int)sizeof(line) && line[n - 1] == '\n')
		line[--n] = 0;
	say(level <= FUSE_LOG_ERR      ? SAY_ERROR
	    : level <= FUSE_LOG_NOTICE ? SAY_WARNING
				       : SAY_DEBUG,
	    "%s", line);
}

void log_use(void)
{
	fuse_set_log_func(log_libfuse);
}

/* ---- messages ---- */

/*
 * By fuse_session_custom_io where libfuse was built with it. Where it was not, as Debian's 3.18,
 * session_io_receive reads for libfuse, and the writev(2) with which libfuse answers is the one
 * below.
 */
static const struct fuse_custom_io custom = { .read = channel_read, .writev = channel_writev };

/* Constant while threads serve. */
static struct {
	bool plain;             /* libfuse was built without custom io */
	int connection;         /* /dev/fuse */
	int session_fd;         /* what libfuse writes to; -1 if it has not mounted */
} io = { .connection = -1 };

int session_io_use(struct fuse_session *session, int connection)
{
	int rc;

	asks_libfuse = true;
	rc = fuse_session_custom_io(session, &custom, connection);
	asks_libfuse = false;
	if (rc && rc != -EOPNOTSUPP)
		return rc;
	io.session_fd = fuse_session_fd(session);
	io.connection = connection;
	io.plain = rc != 0;
	return 0;
}

int session_io_connection(void)
{
	return io.connection;
}

int session_io_receive(struct fuse_session *session, struct fuse_buf *buf)
{
	ssize_t n;

	if (!io.plain)
		return fuse_session_receive_buf(session, buf);
	if (!buf->mem && !(buf->mem = malloc(CHANNEL_MESSAGE)))
		return -ENOMEM;
	buf->flags = 0;
	n = channel_read(io.connection, buf->mem, CHANNEL_MESSAGE, NULL);
	if (n >= 0) {
		buf->size = (size_t)n;
		return (int)n;
	}
	/* ENOENT: the request was interrupted before it was read. ENODEV: unmounted. */
	if (errno == ENODEV)
		fuse_session_exit(session);
	return errno == ENODEV ? 0 : errno == ENOENT ? -EINTR : -errno;
}

void session_io_end(struct fuse_session *session)
{
	bool owned = io.plain && io.session_fd != io.connection;

	fuse_session_destroy(session);
	if (owned)
		close(io.connection);
	io.plain = false;
	io.connection = -1;
}

/*
 * In place of libc's, for this program and for its libraries: what libfuse answers goes to
 * channel.h; all else is the system call.
 */
ssize_t writev(int fd, const struct iovec *iov, int count)
{
	if (io.plain && fd == io.session_fd)
		return channel_writev(io.connection, (struct iovec *)iov, count, NULL);
	return syscall(SYS_writev, fd, iov, count);
}
