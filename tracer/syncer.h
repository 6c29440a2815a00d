/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files on their way to the disk: threads that call fsync, so that nobody else has to wait for it; one for each group, so that no disk
 * keeps another group waiting either. Private to tracer/.
 */
#ifndef TRACER_SYNCER_H
#define TRACER_SYNCER_H

#include <stdint.h>

struct syncgroup;       /* files that belong together */

struct syncgroup *syncgroup_create(void);
void syncgroup_put(struct syncgroup *g);        /* NULL is allowed; files that are waiting are synced all the same */
/* Takes over the descriptor; -1 is allowed. If there is no memory, or too many wait, it is closed without, and that is the error of the group. */
void syncgroup_add(struct syncgroup *g, int fd);
uint64_t syncgroup_pending(const struct syncgroup *g);
int syncgroup_error(const struct syncgroup *g); /* of any so far, or 0 */
/* Waits until all is on the disk, but not longer than so many seconds; before the process ends. */
void syncer_finish(int seconds);

#endif
