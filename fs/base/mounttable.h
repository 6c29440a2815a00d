/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount table of a process, /proc/PID/mountinfo (proc(5)).
 */
#ifndef FS_BASE_MOUNTTABLE_H
#define FS_BASE_MOUNTTABLE_H

#include <stdbool.h>
#include <sys/types.h>

struct mount_entry {
	char type[40];          /* of the file system: "fuse.trailfs" */
	char device[24];        /* "MAJOR:MINOR", the same in all mounts of one file system */
	char point[4096];       /* the mount point, as the process sees it */
};

/*
 * The last entry of the table of `pid` (0: our own) that has this mount point and this device; NULL
 * is any. For a mount point that is the uppermost mount there. False: none, or the table cannot be
 * read.
 */
bool mounttable_find(pid_t pid, const char *point, const char *device, struct mount_entry *out);
/*
 * A process in another mount namespace than ours that has a file system of this type and device in
 * its table. `daemon`, the process that serves it, is returned if only it and its keeper have it.
 * 0: none that we may look at.
 */
pid_t mounttable_elsewhere(const char *type, const char *device, pid_t daemon,
			   struct mount_entry *out);

#endif
