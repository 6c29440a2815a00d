/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/kernel/task/program.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ITERATOR "bpf_iter_task"

/* Places on the program's stack, below its end. */
enum {
	LINE = -40,             /* struct task_line */
	POINTER = -48,
	LEVEL = -52,
};

/* The offset of a member, in bytes. False: there is none, or it is a bit field. */
static bool find_member(const struct btf *b, uint32_t structure, const char *name,
			struct btf_member *m, uint32_t *out)
{
	if (!btf_find_member(b, structure, name, strlen(name), m) || m->bits || m->offset % 8 ||
	    m->offset / 8 > INT16_MAX)
		return false;
	*out = (uint32_t)(m->offset / 8);
	return true;
}

int task_layout_find(const struct btf *b, struct task_layout *out)
{
	uint32_t task = btf_structure(b, "task_struct", strlen("task_struct"));
	uint32_t pid = btf_structure(b, "pid", strlen("pid"));
	uint32_t each = btf_structure(b, "upid", strlen("upid"));
	struct btf_member m;

	out->iterator = btf_function_type(b, ITERATOR, strlen(ITERATOR));
	out->step = btf_structure_size(b, each);
	return out->iterator && out->step && find_member(b, task, "pid", &m, &out->tid) &&
			       find_member(b, task, "tgid", &m, &out->pid) &&
			       find_member(b, task, "comm", &m, &out->comm) &&
			       find_member(b, task, "thread_pid", &m, &out->numbers) &&
			       find_member(b, pid, "level", &m, &out->level) &&
			       find_member(b, pid, "numbers", &m, &out->first) &&
			       find_member(b, each, "nr", &m, &out->number)
		       ? 0
		       : -EOPNOTSUPP;
}

/* Copies memory of the kernel, from the address in register 3, to the stack. */
static void fetch(struct bpf_code *c, int32_t place, int32_t size)
{
	bpf_set_stack(c, BPF_REG_1, place);
	bpf_set(c, BPF_REG_2, size);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

/* Copies a member of the structure whose address is in a register. */
static void fetch_member(struct bpf_code *c, int base, uint32_t offset, int32_t place, int32_t size)
{
	bpf_move(c, BPF_REG_3, base);
	bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)offset);
	fetch(c, place, size);
}

static void fetch_to_line(struct bpf_code *c, uint32_t offset, size_t member, int32_t size)
{
	fetch_member(c, BPF_REG_7, offset, LINE + (int32_t)member, size);
}

/*
 * Register 6 has the iterator's context, { meta, task }, 7 the task. The level of the reader's
 * namespace says which of a thread's numbers belongs to it.
 */
void task_program_make(const struct task_layout *l, struct bpf_code *c)
{
	int end;

	bpf_code_begin(c);
	end = bpf_label(c);
	bpf_move(c, BPF_REG_6, BPF_REG_1);
	bpf_load_from(c, BPF_DW, BPF_REG_7, BPF_REG_6, 8);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_7, 0, end);
	bpf_call(c, BPF_FUNC_get_current_task);
	fetch_member(c, BPF_REG_0, l->numbers, POINTER, 8);
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, POINTER);
	fetch_member(c, BPF_REG_3, l->level, LEVEL, 4);
	fetch_member(c, BPF_REG_7, l->numbers, POINTER, 8);
	bpf_load_from(c, BPF_W, BPF_REG_4, BPF_REG_10, LEVEL);
	bpf_alu(c, BPF_MUL, BPF_REG_4, (int32_t)l->step);
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, POINTER);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_3, BPF_REG_4);
	fetch_member(c, BPF_REG_3, l->first + l->number,
		     LINE + (int32_t)offsetof(struct task_line, number), 4);
	fetch_to_line(c, l->tid, offsetof(struct task_line, tid), 4);
	fetch_to_line(c, l->pid, offsetof(struct task_line, pid), 4);
	fetch_to_line(c, l->comm, offsetof(struct task_line, comm), 16);
	bpf_store_number(c, BPF_W, BPF_REG_10, LINE + (int)offsetof(struct task_line, unused), 0);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_6, 0);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	bpf_set_stack(c, BPF_REG_2, LINE);
	bpf_set(c, BPF_REG_3, (int32_t)sizeof(struct task_line));
	bpf_call(c, BPF_FUNC_seq_write);
	bpf_here(c, end);
	bpf_set(c, BPF_REG_0, 0);
	bpf_exit(c);
}
