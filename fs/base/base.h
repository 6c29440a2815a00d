/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base/: what all rooms of fs/ use.
 *
 *	log.c           messages for the administrator
 *	chores.c        the main thread's work, which no request waits for
 *	trim.c          gives freed memory back to the system
 *	process.c       which process a thread id belongs to (process.h)
 *	mounttable.c    /proc/PID/mountinfo (mounttable.h)
 *	handover.c      what the next daemon of this mount needs (handover.h)
 *	words.c         names, values, and text that is safe on a terminal (words.h)
 *
 * The rooms in order: base, config, tree, fuse, daemon. A room includes and calls only itself and
 * the rooms before it. Every function here may be called with any lock held.
 */
#ifndef FS_BASE_BASE_H
#define FS_BASE_BASE_H

#include <stdint.h>
#include <sys/types.h>

#ifndef TRAILFS_VERSION
#define TRAILFS_VERSION "0.2.0"
#endif

struct tracer;

/* The mount as a whole. Filled by main before the first request, constant afterwards. */
struct fs {
	struct tracer *tracer;
	uid_t uid;              /* the daemon's: 0 serves every user, any other only itself */
	gid_t gid;
	/* ns since the epoch: time stamp of files that have no better one */
	int64_t born;
	char zone[128];         /* the time zone that text is printed in, for `version` */
};

extern struct fs fs;

/* The credentials of a request. An open file keeps those of its opener. */
struct who {
	uid_t uid;
	gid_t gid;
	/* a thread id, as FUSE reports it; 0: not visible in our pid namespace */
	pid_t pid;
};

/*
 * ---- log.c: to the journal with fields, if standard error is the journal's or there is none; else
 * to standard error in the foreground, to the system log in the background ----
 */

enum say_level { SAY_ERROR, SAY_WARNING, SAY_INFO, SAY_DEBUG };

void say(enum say_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* About a session: the journal has its name as the field SESSION. session NULL: about none. */
void say_about(enum say_level level, const char *session, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The field MOUNTPOINT of the journal. Called before there are threads. */
void say_mountpoint(const char *path);
/* Drops messages that are less important than this. */
void say_level(enum say_level level);
/* Standard error is closed: from now on to the journal, or through syslog(3). */
void say_to_syslog(void);

/* ---- chores.c ---- */

/*
 * Before other threads start. work: what chores_do() calls; it returns when it is to be called
 * again (chores_clock; -1: after a kick). Returns 0 or -errno.
 */
int chores_init(int64_t (*work)(int64_t now));
/* Has the main thread call work soon. Any thread. */
void chores_kick(void);
/* The main thread's: polls this descriptor for input, then calls chores_do(). */
int chores_wake(void);
/*
 * Calls work, without a lock, if it was kicked or its time has come. Returns after how many
 * milliseconds to call this again without input, as poll(2) takes it. The main thread.
 */
int chores_do(void);
int64_t chores_clock(void);     /* ms, monotonic */

/* ---- trim.c: the C library keeps freed memory for later; a closed view leaves much of it ---- */

/* A view was closed, a trace image of trace/ has ended, or a directory or values were removed. */
void trim_later(void);
/* Gives memory back, some time after trim_later. A part of chores_do(). */
int64_t trim(int64_t now);

#endif
