/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/task/: the kernel's own numbers of threads. Records of the kernel have the numbers
 * of the initial PID namespace. A daemon in another PID namespace knows threads by other numbers,
 * those of its /proc.
 *
 *   task.h       (this file)
 *   task_list.c  reads the threads of the daemon's namespace, with both numbers
 *   program.c    (program.h, private) the BPF program that prints them
 *
 * /proc and pidfds translate numbers inwards only. The kernel's iterator of threads passes each
 * thread of the reader's namespace to a BPF program, which prints the numbers of both namespaces.
 *
 * No lock: each list belongs to its caller. Any thread may call these functions.
 */
#ifndef TRACER_KERNEL_TASK_TASK_H
#define TRACER_KERNEL_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"

struct task {
	int32_t number;         /* of the thread, in the daemon's namespace, as /proc has it */
	int32_t tid, pid;       /* of the thread and of its process, as records have them */
	char comm[16];          /* ends with a NUL */
};

struct tasks {
	struct task *items;     /* sorted by number */
	size_t count;
};

/* Whether /proc has the numbers that records have. */
bool tasks_global(void);
/*
 * Reads the threads that exist now. The caller calls tasks_deinit. -EOPNOTSUPP: the kernel, or the
 * daemon's rights, do not permit it; -ENOMEM.
 */
int tasks_read(struct tasks *out, struct tr_err *err);
/* NULL: no thread has this number. */
const struct task *tasks_find(const struct tasks *t, int32_t number);
/* The number in records of a thread of /proc; with a list of no threads, the same number. */
int32_t tasks_translate(const struct tasks *t, int32_t number);
/* The reverse of tasks_translate. */
int32_t tasks_number(const struct tasks *t, int32_t tid);
void tasks_deinit(struct tasks *t);

#endif
