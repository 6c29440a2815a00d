/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts, watches and ends a process that reads a foreign trace. Private to foreign/. Any thread.
 */
#ifndef TRACER_FOREIGN_SPAWN_H
#define TRACER_FOREIGN_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Executes /proc/self/exe with FOREIGN_VERB, so that neither memory nor locks of this process are
 * in the new one. sock: its descriptor FOREIGN_SOCKET. 0 or -errno.
 */
int spawn_start(int sock, pid_t *pid);
/* Sends a message with descriptors. 0 or -errno. */
int spawn_send(int sock, const void *data, size_t size, const int *fds, size_t count);
/*
 * Waits until there is an answer, or the end of the socket. False: the process is to be ended, and
 * *what says why: it used more than cpu_max seconds of CPU time since the call, or it waits for
 * something else than a disk. There is no other limit: a disk may be slow.
 */
bool spawn_wait(int sock, pid_t pid, unsigned int cpu_max, const char **what);
/* Kills it unless it has ended; returns its status (wait(2)), or -1: it will end later. */
int spawn_end(pid_t pid);
/* "ended by signal 11 (Segmentation fault)" */
void spawn_describe(int status, char *out, size_t size);

#endif
