/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which process a thread id belongs to. FUSE reports threads; a trace image of trace/ belongs to a
 * process.
 */
#ifndef FS_BASE_PROCESS_H
#define FS_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/base/base.h"
#include "tracer/base/err.h"
#include "tracer/base/os/cred.h"

struct process {
	/* of the thread group; 0: not visible in the daemon's pid namespace */
	pid_t pid;
	uint64_t start;         /* when it began: a process id is used again */
	uid_t uid;              /* tells apart those that are not visible */
};

void process_of(const struct who *who, struct process *out);
/*
 * The ids of the opener and the supplementary groups of its process, as far as the daemon can see
 * the process.
 */
struct owner process_owner(const struct who *who);
/*
 * True if a path may mean another file to this process than to the daemon: it is in another mount
 * namespace or below another root, or the daemon may not look at it.
 */
bool process_elsewhere(const struct who *who);
/*
 * -EACCES with a sentence if that is so and a word of the text is an absolute path, also one in
 * quotes or after `!`.
 */
int process_check_paths(const struct who *who, const char *text, struct tr_err *err);
bool process_same(const struct process *a, const struct process *b);

#endif
