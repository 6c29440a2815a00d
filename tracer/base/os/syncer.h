/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syncing of files by threads of its own, so that no other thread waits for the disk. Each group
 * has a thread, so that a slow disk delays only its own group. Any thread may call these functions.
 */
#ifndef TRACER_OS_SYNCER_H
#define TRACER_OS_SYNCER_H

#include <stdint.h>

struct syncgroup;       /* files that belong together */

struct syncgroup *syncgroup_create(void);
void syncgroup_put(struct syncgroup *g);        /* g may be NULL; queued files are still synced */
/*
 * Queues a file for fsync; takes over fd. An out-of-memory error becomes the group's error. If many
 * files are queued, their whole file system is synced instead (syncfs(2)). fd may be a negative
 * errno, which is returned; for -ENOENT and -ESTALE 0 is returned, because a removed file needs no
 * sync.
 */
int syncgroup_add(struct syncgroup *g, int fd);
int syncgroup_add_copy(struct syncgroup *g, int fd);    /* the same; the caller keeps fd */
/* The same for the whole file system of fd. */
int syncgroup_add_system_of(struct syncgroup *g, int fd);
void syncgroup_fail(struct syncgroup *g, int error);    /* sets the error, -errno; 0 is ignored */
uint64_t syncgroup_pending(const struct syncgroup *g);  /* files queued */
int syncgroup_error(const struct syncgroup *g);         /* the last error, as an errno; or 0 */
/* Waits at most `seconds` until all is on the disk; before the process ends. */
void syncer_finish(int seconds);

#endif
