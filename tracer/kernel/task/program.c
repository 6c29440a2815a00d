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

struct code {
	struct bpf_insn *at;
	size_t count;
};

static void add(struct code *c, uint8_t op, uint8_t to, uint8_t from, int16_t offset, int32_t value)
{
	c->at[c->count++] = (struct bpf_insn){ .code = op, .dst_reg = to & 15, .src_reg = from & 15,
					       .off = offset, .imm = value };
}

static void copy(struct code *c, uint8_t to, uint8_t from)
{
	add(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void set(struct code *c, uint8_t to, int32_t value)
{
	add(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

static void increase(struct code *c, uint8_t to, int32_t value)
{
	add(c, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}

static void load(struct code *c, uint8_t size, uint8_t to, uint8_t from, int16_t offset)
{
	add(c, (uint8_t)(BPF_LDX | BPF_MEM | size), to, from, offset, 0);
}

static void call(struct code *c, int32_t helper)
{
	add(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* Copies memory of the kernel, from the address in register 3, to the stack. */
static void fetch(struct code *c, int32_t place, int32_t size)
{
	copy(c, 1, 10);
	increase(c, 1, place);
	set(c, 2, size);
	call(c, BPF_FUNC_probe_read_kernel);
}

/* Copies a member of the structure whose address is in a register. */
static void fetch_member(struct code *c, uint8_t base, uint32_t offset, int32_t place, int32_t size)
{
	copy(c, 3, base);
	increase(c, 3, (int32_t)offset);
	fetch(c, place, size);
}

/*
 * Register 6 has the iterator's context, { meta, task }, 7 the task. The level of the reader's
 * namespace says which of a thread's numbers belongs to it.
 */
size_t task_program_make(const struct task_layout *l, struct bpf_insn code[TASK_PROGRAM_MAX])
{
	struct code c = { code, 0 };
	size_t end;

	copy(&c, 6, 1);
	load(&c, BPF_DW, 7, 6, 8);
	end = c.count;
	add(&c, BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 0, 0);         /* the offset follows below */
	call(&c, BPF_FUNC_get_current_task);
	fetch_member(&c, 0, l->numbers, POINTER, 8);
	load(&c, BPF_DW, 3, 10, POINTER);
	fetch_member(&c, 3, l->level, LEVEL, 4);
	fetch_member(&c, 7, l->numbers, POINTER, 8);
	load(&c, BPF_W, 4, 10, LEVEL);
	add(&c, BPF_ALU64 | BPF_MUL | BPF_K, 4, 0, 0, (int32_t)l->step);
	load(&c, BPF_DW, 3, 10, POINTER);
	add(&c, BPF_ALU64 | BPF_ADD | BPF_X, 3, 4, 0, 0);
	fetch_member(&c, 3, l->first + l->number, LINE + (int)offsetof(struct task_line, number),
		     4);
	fetch_member(&c, 7, l->tid, LINE + (int)offsetof(struct task_line, tid), 4);
	fetch_member(&c, 7, l->pid, LINE + (int)offsetof(struct task_line, pid), 4);
	fetch_member(&c, 7, l->comm, LINE + (int)offsetof(struct task_line, comm), 16);
	add(&c, BPF_ST | BPF_MEM | BPF_W, 10, 0, LINE + (int)offsetof(struct task_line, unused), 0);
	load(&c, BPF_DW, 1, 6, 0);
	load(&c, BPF_DW, 1, 1, 0);
	copy(&c, 2, 10);
	increase(&c, 2, LINE);
	set(&c, 3, (int32_t)sizeof(struct task_line));
	call(&c, BPF_FUNC_seq_write);
	code[end].off = (int16_t)(c.count - end - 1);
	set(&c, 0, 0);
	add(&c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return c.count;
}
