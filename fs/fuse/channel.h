/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to the kernel: all messages of libfuse pass here. So each request is noted in the
 * hand-over (fs/base/handover.h) while a thread has it, with its reply from just before the reply
 * is sent. When a daemon was killed, the next one has the kernel send its unanswered requests again
 * (FUSE_NOTIFY_RESEND, Linux 6.9). One whose reply was noted gets that, and is not executed twice.
 */
#ifndef FS_FUSE_CHANNEL_H
#define FS_FUSE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct iovec;

#define CHANNEL_WRITE (1u << 20)        /* bytes of a write(2) that the kernel passes on at most */
#define CHANNEL_MESSAGE (CHANNEL_WRITE + 4096u) /* of a message */

/* As struct fuse_custom_io of libfuse wants them. */
ssize_t channel_read(int fd, void *buf, size_t size, void *unused);
ssize_t channel_writev(int fd, struct iovec *iov, int count, void *unused);

/* The calling thread is number `index` of those that serve, from 0 on. Before its first message. */
void channel_thread(unsigned index);
/* The request that the calling thread has read last. */
uint64_t channel_unique(void);
/* An earlier daemon had begun to execute it; whether it was done is not known. */
bool channel_again(void);
/* The earlier daemon had this request, and has not answered it. */
bool channel_unanswered(uint64_t unique);

/*
 * The message INIT that the hand-over has, for libfuse; its reply is compared with the earlier
 * daemon's, and not sent.
 */
size_t channel_replay(void *buf, size_t size);
/* Whether that reply was the same. */
bool channel_agreed(void);
/*
 * Has the kernel send unanswered requests again. Call it when INIT was replayed, before a thread
 * serves. 0 or -errno; -EINVAL: the kernel is older than 6.9, and what was with the earlier daemon
 * was answered with EINTR.
 */
int channel_resume(int fd);
/* Polls of files that an earlier daemon had: their processes ask again. */
void channel_wake(int fd, uint64_t poll);
void channel_end(void);

#endif
