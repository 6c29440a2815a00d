/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel keeps names of what is gone in its cache for as long as it has memory to spare: what was open in a session while
 * it was removed, applications that ended. Each keeps its node here, and the session. So it is told to drop them.
 */
#ifndef FS_PRUNE_H
#define FS_PRUNE_H

#include <stdint.h>

/* Something was removed, an application ended. Only takes a note; wait_kick has it looked at. */
void prune_later(void);
/* Looks, if there is a note. By the helper thread (wait.h), with its timer's meaning. */
int64_t prune(int64_t now);

#endif
