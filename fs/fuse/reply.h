/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon uses of libfuse besides the operations (fuse_ops.c) and the mount (mount.c): late
 * replies, messages, and notes to the kernel.
 */
#ifndef FS_FUSE_REPLY_H
#define FS_FUSE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fuse_buf;
struct fuse_file_info;
struct fuse_lowlevel_ops;
struct fuse_pollhandle;
struct fuse_req;
struct fuse_session;
struct iovec;

extern const struct fuse_lowlevel_ops fuse_ops;

/* Each of the three answers the request, and frees it. */
void reply_data(struct fuse_req *req, const void *data, size_t size);
void reply_parts(struct fuse_req *req, const struct iovec *parts, int count);
void reply_error(struct fuse_req *req, int code);       /* a positive errno */
/*
 * The answer to copy_file_range(2) is EINVAL: programs read and write themselves then. If libfuse
 * answers that there is no such operation, Linux 7.3 says EIO, which ends a program.
 */
void reply_no_copy(struct fuse_req *req, uint64_t in, off_t in_offset, struct fuse_file_info *in_fi,
		   uint64_t out, off_t out_offset, struct fuse_file_info *out_fi, size_t size,
		   int flags);

/*
 * From now on calls interrupted(req, NULL) when the process of the request gets a signal; at once,
 * if it had one. Call it once for a request, with no lock held.
 */
void reply_watch(struct fuse_req *req, void (*interrupted)(struct fuse_req *req, void *unused));
bool reply_interrupted(struct fuse_req *req);

/* Wakes the pollers, and frees the handle. NULL is allowed. */
void poll_wake(struct fuse_pollhandle *ph);
void poll_free(struct fuse_pollhandle *ph);     /* NULL is allowed */

/* libfuse's messages are the daemon's from now on. Call it before there is a session. */
void log_use(void);

/* The session that the notes below go to. Call it before the first request. */
void notify_use(struct fuse_session *session);
/*
 * The kernel forgets a name in a directory. Waits for requests about the directory, so no thread
 * that serves requests may call it.
 */
void notify_forget_name(uint64_t parent, const char *name);
/* The kernel forgets the attributes of a node. */
void notify_forget_attr(uint64_t id);
/*
 * Lets sendfile(2) fail on a node whose contents have no size, so that the program falls back to
 * read(2).
 *
 * Since Linux 6.5 sendfile(2) reads through the page cache even where a file was opened for direct
 * I/O. So it takes pipe and streams, whose size is 0, for empty, and text for as long as it was
 * before the open. (busybox cat begins with sendfile.) If the kernel believes in some size until it
 * asks again, it asks for a page; file_read refuses that. This function makes the kernel believe in
 * a size of 1 TiB: it stores one byte there, which the kernel drops when the open returns.
 */
void notify_size(uint64_t id);

/*
 * How the kernel's messages reach libfuse, and libfuse's answers the kernel: always by channel.h,
 * whether libfuse was built with custom io or not. There is one session that does so.
 */
/*
 * Before the first message. The connection, an open /dev/fuse, is the session's from now on; after
 * an error it is the caller's. 0 or -errno.
 */
int session_io_use(struct fuse_session *session, int connection);
/* /dev/fuse; -1: none */
int session_io_connection(void);
/* As fuse_session_receive_buf(3). Thread-safe for different buffers; a cancellation point. */
int session_io_receive(struct fuse_session *session, struct fuse_buf *buf);
/* Frees the session, and closes the connection. No thread serves. */
void session_io_end(struct fuse_session *session);

#endif
