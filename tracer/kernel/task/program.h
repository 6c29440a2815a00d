/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF program that prints a thread. Private to task/. */
#ifndef TRACER_KERNEL_TASK_PROGRAM_H
#define TRACER_KERNEL_TASK_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/base/probe/btf.h"
#include "tracer/kernel/bpf/code.h"

/* Where the kernel's structures have what the program reads. */
struct task_layout {
	uint32_t iterator;              /* the type of the iterator's function */
	uint32_t tid, pid, comm, numbers;       /* of task_struct; numbers: the pointer to them */
	uint32_t level, first;          /* of struct pid: the namespace's level; its numbers */
	uint32_t number, step;          /* of each of these: the number; the size */
};

/* What the program prints of each thread. */
struct task_line {
	int32_t number, tid, pid;
	char comm[16];
	int32_t unused;
};

/* 0, or -EOPNOTSUPP: the kernel's types lack something. */
int task_layout_find(const struct btf *b, struct task_layout *out);
void task_program_make(const struct task_layout *l, struct bpf_code *code);

#endif
