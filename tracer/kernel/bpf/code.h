/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of a BPF program, one after another. Registers are BPF_REG_0 to BPF_REG_10 of
 * linux/bpf.h: a call takes its arguments from 1 to 5, changes 0 to 5, and returns in 0; 10 is the
 * end of a stack of 512 bytes. Sizes are BPF_B, BPF_H, BPF_W and BPF_DW.
 *
 * A program that is too long, or that jumps to a place that was not set, is marked as bad, and
 * bpf_code_end says so: callers need not check each instruction. No lock: a code has one user.
 */
#ifndef TRACER_KERNEL_BPF_CODE_H
#define TRACER_KERNEL_BPF_CODE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

enum { BPF_CODE_MAX = 2560, BPF_LABELS_MAX = 640, BPF_STACK_MAX = 512 };

struct bpf_code {
	uint32_t count, labels;
	bool bad;
	int32_t places[BPF_LABELS_MAX];         /* of each label: its instruction; -1: not set */
	int16_t jumps[BPF_CODE_MAX];            /* of each instruction: its label + 1; 0: none */
	struct bpf_insn at[BPF_CODE_MAX];
};

void bpf_code_begin(struct bpf_code *c);
/* Sets the offsets of all jumps. 0; -E2BIG; -EINVAL: a label has no place, or is too far away. */
int bpf_code_end(struct bpf_code *c);

/* A place to jump to. It is set once, before or after the jumps. */
int bpf_label(struct bpf_code *c);
void bpf_here(struct bpf_code *c, int label);

/* Values: a register from another one, from 32 bits with their sign, from 64 bits. */
void bpf_move(struct bpf_code *c, int to, int from);
void bpf_set(struct bpf_code *c, int to, int32_t value);
void bpf_set_wide(struct bpf_code *c, int to, uint64_t value);
/* The address of a map, by its descriptor, for calls. */
void bpf_set_map(struct bpf_code *c, int to, int map);
/* The address of this byte of the value of an array with one value. */
void bpf_set_map_value(struct bpf_code *c, int to, int map, uint32_t offset);
/* The address of a place on the stack, below its end: offset is negative. */
void bpf_set_stack(struct bpf_code *c, int to, int32_t offset);

/* to = to OP value, to = to OP from, of 64 bits. op: BPF_ADD, BPF_AND, BPF_LSH, … */
void bpf_alu(struct bpf_code *c, uint8_t op, int to, int32_t value);
void bpf_alu_reg(struct bpf_code *c, uint8_t op, int to, int from);
/* Keeps the lower 16 bits of a register, changed from the order of networks to this machine's. */
void bpf_swap(struct bpf_code *c, int reg);
/* The lower half of a register; the upper one becomes 0. */
void bpf_low_half(struct bpf_code *c, int to, int from);

void bpf_load_from(struct bpf_code *c, uint8_t size, int to, int from, int offset);
void bpf_store(struct bpf_code *c, uint8_t size, int to, int offset, int from);
void bpf_store_number(struct bpf_code *c, uint8_t size, int to, int offset, int32_t value);
/*
 * Stores at any offset from a multiple of 8: in pieces where one store would lie across multiples
 * of its size, which the kernels of some processors (riscv64) refuse. Changes the register `from`.
 */
void bpf_store_apart(struct bpf_code *c, uint8_t size, int to, int offset, int from);
/* Stores so that other CPUs see all earlier stores first. Changes the register `from`. */
void bpf_publish(struct bpf_code *c, int to, int offset, int from);
/* Adds a register to 64 bits in memory, by one atomic instruction. */
void bpf_add_atomic(struct bpf_code *c, int to, int offset, int from);

void bpf_jump(struct bpf_code *c, int label);
/* Jumps if reg OP value, reg OP other, of 64 bits. op: BPF_JEQ, BPF_JGT (unsigned), BPF_JSGT, … */
void bpf_jump_if(struct bpf_code *c, uint8_t op, int reg, int32_t value, int label);
void bpf_jump_if_reg(struct bpf_code *c, uint8_t op, int reg, int other, int label);
/* Calls a function of enum bpf_func_id. */
void bpf_call(struct bpf_code *c, int32_t function);
/* Calls a function of the kernel itself, by its type in the kernel's types. */
void bpf_call_kernel(struct bpf_code *c, uint32_t type);
/* R0: 0 if it is negative, as after an error, and never more than `most`, which the kernel sees. */
void bpf_bound(struct bpf_code *c, int32_t most);
/* The same for a number that is not negative. */
void bpf_at_most(struct bpf_code *c, int32_t most);
/* Ends the program, with the value of register 0. */
void bpf_exit(struct bpf_code *c);
/*
 * Ends a program of a tracepoint so that performance events of others get the event, too: after the
 * result 0 they would not.
 */
void bpf_pass(struct bpf_code *c);
/* Ends a program that gets arguments: at a function, the kernel permits no other result than 0. */
void bpf_finish(struct bpf_code *c);

#endif
