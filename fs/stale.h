/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount of a daemon that was killed stays and answers everything with ENOTCONN.
 */
#ifndef FS_STALE_H
#define FS_STALE_H

#include <stdbool.h>

/*
 * The absolute path of a mount point, into a new string; works for a dead mount, too. NULL: errno says why there is none.
 */
char *stale_path(const char *path);
/* Takes away a dead mount of trailfs at the path, if there is one, and nothing else. 0 or -errno. */
int stale_unmount(const char *path);

#endif
