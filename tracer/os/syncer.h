/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files on their way to the disk: threads that call fsync, so that nobody else has to wait for it; one for each group, so that no disk
 * keeps another group waiting either. Private to tracer/.
 */
#ifndef TRACER_OS_SYNCER_H
#define TRACER_OS_SYNCER_H

#include <stdint.h>

struct syncgroup;       /* files that belong together */

struct syncgroup *syncgroup_create(void);
void syncgroup_put(struct syncgroup *g);        /* NULL is allowed; files that are waiting are synced all the same */
/*
 * Takes over the descriptor. What cannot be taken (memory) is the error of the group. Descriptors do not pile up: if many wait, all of their file
 * system is synced in their place (syncfs(2)). A negative errno is allowed, and returned, as 0 if it is -ENOENT or -ESTALE: what is not there
 * any more need not be on the disk.
 */
int syncgroup_add(struct syncgroup *g, int fd);
int syncgroup_add_copy(struct syncgroup *g, int fd);    /* the same; fd stays the caller's */
int syncgroup_add_system_of(struct syncgroup *g, int fd);       /* likewise, for all that its file system has */
void syncgroup_fail(struct syncgroup *g, int error);    /* something is not synced; -errno; 0 is allowed */
uint64_t syncgroup_pending(const struct syncgroup *g);
int syncgroup_error(const struct syncgroup *g); /* of any so far, or 0 */
/* Waits until all is on the disk, but not longer than so many seconds; before the process ends. */
void syncer_finish(int seconds);

#endif
