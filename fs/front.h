/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The FUSE front: turns requests into calls of tree.h and file.h and their results into replies. What the rest of fs/ needs
 * of libfuse goes through these few functions.
 */
#ifndef FS_FRONT_H
#define FS_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_lowlevel_ops;
struct fuse_pollhandle;
struct fuse_req;
struct fuse_session;

extern const struct fuse_lowlevel_ops front_ops;

/* The session that notes to the kernel go to; before the first request. */
void front_use(struct fuse_session *session);


void front_data(struct fuse_req *req, const void *data, size_t size);
void front_fail(struct fuse_req *req, int code);        /* a positive errno */
/* From now on wait_interrupt(req) is called when its process gets a signal; call it once, with no lock held. */
void front_watch(struct fuse_req *req);
bool front_interrupted(struct fuse_req *req);
/* Wakes who polls; frees the handle. NULL is allowed. */
void front_wake(struct fuse_pollhandle *ph);
void front_drop(struct fuse_pollhandle *ph);
/* The kernel shall forget a name in a directory. Waits for requests about the directory: not for threads that serve them. */
void front_drop_name(uint64_t parent, const char *name);

#endif
