/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper: a small process of its own that holds the memfds of all regions under names, so that a killed daemon loses no
 * buffer even when no application is left. The daemon starts it, in a session of its own; it goes when it is told to,
 * and outlives a daemon that is killed. It serves one daemon at a time on a Unix socket (`keeper` in the state directory, 0600;
 * SOCK_SEQPACKET; the peer must have its own uid or be root).
 */
#ifndef TRACER_KEEPER_KEEPER_H
#define TRACER_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct keeper;                  /* the daemon's end */

/*
 * Connects to the keeper of state_dir, or (exe is not NULL) starts one (fork + exec of exe with argv {"trail-keeper", "--keeper", STATE_DIR}, detached by a double
 * fork, setsid, all descriptors closed, cwd /). exe: usually "/proc/self/exe". *found tells whether an older one was there.
 */
int keeper_open(const char *state_dir, const char *exe, struct keeper **out, int *found);
/*
 * Hands over a duplicate of fd under a name (replaces one of that name). Names: up to 250 bytes. 0 or -errno. -ETIMEDOUT, after
 * half a second: no answer; the keeper gets the request when it runs again. Until then keeper_put and keeper_drop do not wait, and
 * return 0 without an answer. -EPIPE: the keeper has ended.
 */
int keeper_put(struct keeper *k, const char *name, int fd);
int keeper_drop(struct keeper *k, const char *name);
/* Calls fn for every descriptor held; fn owns fd (close-on-exec). */
int keeper_each(struct keeper *k, void (*fn)(void *arg, const char *name, int fd), void *arg);
/* Its process; 0: it has ended. */
pid_t keeper_pid(const struct keeper *k);
/* Waits until the keeper has ended (true), or stop can be read (false). Wakes up for nothing else. For one thread. */
bool keeper_watch(struct keeper *k, int stop);
/* After that, by the same thread: starts another keeper, which holds nothing yet. 0 or -errno. */
int keeper_replace(struct keeper *k);
/* quit: the keeper ends and drops everything. Frees k. NULL is allowed. */
void keeper_close(struct keeper *k, int quit);

/* The keeper's own main, called by the daemon's main for argv[1] = "--keeper". Returns an exit status. */
int keeper_main(const char *state_dir);

#endif
