/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process that reads a hostile file gives up. Private to foreign/. */
#ifndef TRACER_FOREIGN_CONFINE_H
#define TRACER_FOREIGN_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * For ever: the ids of this user, no groups, no capabilities, no new privileges; no core file, no
 * more files than `files`, a limit of memory. Other processes of the user cannot trace the process.
 * 0 or -errno. (Builds with a sanitizer need more memory than the limit.)
 */
int confine_rights(uid_t uid, gid_t gid, unsigned int files);
/*
 * All threads of the process, for ever: another system call than those that reading an open file,
 * answering and allocating need ends the process. 0 or -errno. A kernel without filters: 0. (In
 * builds with a sanitizer, whose reports need other calls, it does nothing.)
 */
int confine_calls(void);
/* Limits the CPU time of the next answer; SIGXCPU ends a process that needs more. */
void confine_time(unsigned int seconds);

#endif
