/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * archives/ of a session's output, as its owner could read it: the directory belongs to the owner,
 * who may have put anything there. Links are not followed, and only regular files are shown.
 * Private to tracer/.
 */
#ifndef TRACER_SNAPSHOT_ARCHIVES_H
#define TRACER_SNAPSHOT_ARCHIVES_H

#include <stdint.h>
#include <sys/types.h>

struct archives;
struct session;

/* 0 and *out NULL: there are none. */
int archives_open(struct session *s, struct archives **out);
void archives_close(struct archives *a);        /* NULL is allowed */
/* Calls fn for each file: "NAME/ust/uid/0/64-bit/channel0_0". mtime: ns since the epoch. */
int archives_each(struct archives *a,
		  int (*fn)(void *arg, const char *path, uint64_t size, int64_t mtime), void *arg);
ssize_t archives_read(struct archives *a, const char *path, uint64_t offset, void *buf,
		      size_t size);

#endif
