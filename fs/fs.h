/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount as a whole: what every file of fs/ may know. Filled by main before the first request, constant afterwards.
 */
#ifndef FS_FS_H
#define FS_FS_H

#include <stdint.h>
#include <sys/types.h>

#ifndef TRAILFS_VERSION
#define TRAILFS_VERSION "0.1.0"
#endif

struct tracer;

struct fs {
	struct tracer *tracer;
	uid_t uid;              /* the daemon's: 0 serves every user, any other only itself */
	gid_t gid;
	int64_t born;           /* ns since the epoch: time stamp of what has no better one */
	char zone[128];         /* the time zone that text is printed in, for `version` */
};

extern struct fs fs;

/* Who asks: those of the process at a request, kept by an open file as those of its opener. */
struct who {
	uid_t uid;
	gid_t gid;
	pid_t pid;              /* a thread id, as FUSE reports it; 0: not visible from here */
};

#endif
