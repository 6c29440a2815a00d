/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounted.c: what the keeper does with the mount of a daemon that was killed. Private to the
 * keeper's process. One thread.
 *
 * If the daemon left its arguments (KEEPER_START), the keeper starts another one, at once; after
 * the second death within a minute, a second later; after the third, it starts no more, and answers
 * every request with EIO. If the daemon left none, someone else starts the next one: the keeper
 * waits for it for a minute, and then lets the mount end. It waits five minutes for one that has
 * said that it comes.
 *
 * A daemon that finds its mount taken away ends the sessions, and then the keeper. If no daemon ran
 * at the unmount, or the daemon dies before it has ended them, the keeper starts one that does.
 * After the third death within a minute, of those since the unmount, the sessions stay for the next
 * daemon.
 */
#ifndef TRACER_KEEPER_MOUNTED_H
#define TRACER_KEEPER_MOUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MOUNTED_DEATHS 3

struct mounted {
	int64_t deaths[MOUNTED_DEATHS];         /* when, in ms; the newest last; 0: none */
	int64_t due;            /* when to start a daemon, or to give up; 0: nothing to do */
	bool ending;            /* deaths has those since the unmount */
	bool started;           /* a daemon was started, and did not come yet */
	int process;            /* pidfd of that daemon; -1: not known */
	bool reaped;            /* that daemon had ended when it was looked for */
	bool refusing;          /* answers requests with EIO */
	bool abandoned;         /* a daemon died, and none may be started in its place */
	bool hopeless;          /* no daemon is started, and there is no memory for an answer */
	pid_t expected;         /* its pid; 0: not known */
	pid_t dead;             /* the daemon that died last, or did not come; 0: not known */
	const char *why;        /* what happened to it: a sentence, for the log */
	char *buf;              /* of a request; NULL: not refusing */
};

/*
 * The daemon ended without dropping its mount. restart: it left its arguments. pid: of its process;
 * 0: not known.
 */
void mounted_died(struct mounted *m, int connection, bool restart, pid_t pid);
/*
 * The daemon replaces its program. A new program that does not come is as a daemon that died.
 * restart: the daemon left its arguments. pid: of the process, which stays the same; 0: not known.
 */
void mounted_replaced(struct mounted *m, bool restart, pid_t pid);
/* The process ended that m->process refers to: it is as a daemon that died. */
void mounted_failed(struct mounted *m, int connection);
/* The mount was taken away while the keeper answered EIO: a daemon is to end the sessions. */
void mounted_left(struct mounted *m);
/* A daemon runs that will take the mount, but may have to wait for a disk before. */
void mounted_awaits(struct mounted *m, bool restart);
/* A daemon has the mount, or it was dropped. */
void mounted_served(struct mounted *m);
/* How long to wait until mounted_work, in ms; -1: without a limit. */
int mounted_patience(const struct mounted *m);
/*
 * Does what is due. start: the file with the arguments; -1: none. False: the mount must end, by
 * closing the connection.
 */
bool mounted_work(struct mounted *m, int connection, int start);
/* Answers one request, while it is refusing. False: the connection has ended. */
bool mounted_refuse(struct mounted *m, int connection);

#endif
