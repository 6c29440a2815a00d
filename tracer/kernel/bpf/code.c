// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/bpf/code.h"

#include <errno.h>

void bpf_code_begin(struct bpf_code *c)
{
	c->count = c->labels = 0;
	c->bad = false;
}

static void add(struct bpf_code *c, uint8_t op, int to, int from, int offset, int32_t value)
{
	if (c->count == BPF_CODE_MAX || offset < INT16_MIN || offset > INT16_MAX) {
		c->bad = true;
		return;
	}
	c->jumps[c->count] = 0;
	c->at[c->count++] = (struct bpf_insn){
		.code = op, .dst_reg = (uint8_t)to & 15, .src_reg = (uint8_t)from & 15,
		.off = (int16_t)offset, .imm = value,
	};
}

/* ---- labels ---- */

int bpf_label(struct bpf_code *c)
{
	if (c->labels == BPF_LABELS_MAX) {
		c->bad = true;
		return 0;
	}
	c->places[c->labels] = -1;
	return (int)c->labels++;
}

void bpf_here(struct bpf_code *c, int label)
{
	c->bad |= c->places[label] >= 0;
	c->places[label] = (int32_t)c->count;
}

static void add_jump(struct bpf_code *c, uint8_t op, int to, int from, int32_t value, int label)
{
	add(c, op, to, from, 0, value);
	if (!c->bad)
		c->jumps[c->count - 1] = (int16_t)(label + 1);
}

int bpf_code_end(struct bpf_code *c)
{
	if (c->bad)
		return -E2BIG;
	for (uint32_t i = 0; i < c->count; i++) {
		int32_t place, distance;

		if (!c->jumps[i])
			continue;
		place = c->places[c->jumps[i] - 1];
		distance = place - (int32_t)i - 1;
		if (place < 0 || distance > INT16_MAX || distance < INT16_MIN)
			return -EINVAL;
		c->at[i].off = (int16_t)distance;
	}
	return 0;
}

/* ---- values ---- */

void bpf_move(struct bpf_code *c, int to, int from)
{
	add(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void bpf_set(struct bpf_code *c, int to, int32_t value)
{
	add(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

/* One instruction of the double length. */
static void add_wide(struct bpf_code *c, int to, int from, uint64_t value)
{
	add(c, BPF_LD | BPF_IMM | BPF_DW, to, from, 0, (int32_t)(uint32_t)value);
	add(c, 0, 0, 0, 0, (int32_t)(uint32_t)(value >> 32));
}

void bpf_set_wide(struct bpf_code *c, int to, uint64_t value)
{
	add_wide(c, to, 0, value);
}

void bpf_set_map(struct bpf_code *c, int to, int map)
{
	add_wide(c, to, BPF_PSEUDO_MAP_FD, (uint32_t)map);
}

void bpf_set_map_value(struct bpf_code *c, int to, int map, uint32_t offset)
{
	add_wide(c, to, BPF_PSEUDO_MAP_VALUE, (uint32_t)map | (uint64_t)offset << 32);
}

void bpf_set_stack(struct bpf_code *c, int to, int32_t offset)
{
	bpf_move(c, to, BPF_REG_10);
	bpf_alu(c, BPF_ADD, to, offset);
}

void bpf_alu(struct bpf_code *c, uint8_t op, int to, int32_t value)
{
	add(c, BPF_ALU64 | BPF_K | op, to, 0, 0, value);
}

void bpf_alu_reg(struct bpf_code *c, uint8_t op, int to, int from)
{
	add(c, BPF_ALU64 | BPF_X | op, to, from, 0, 0);
}

void bpf_swap(struct bpf_code *c, int reg)
{
	add(c, BPF_ALU | BPF_END | BPF_TO_BE, reg, 0, 0, 16);
}

void bpf_low_half(struct bpf_code *c, int to, int from)
{
	add(c, BPF_ALU | BPF_MOV | BPF_X, to, from, 0, 0);
}

/* ---- memory ---- */

void bpf_load_from(struct bpf_code *c, uint8_t size, int to, int from, int offset)
{
	add(c, (uint8_t)(BPF_LDX | BPF_MEM | size), to, from, offset, 0);
}

void bpf_store(struct bpf_code *c, uint8_t size, int to, int offset, int from)
{
	add(c, (uint8_t)(BPF_STX | BPF_MEM | size), to, from, offset, 0);
}

void bpf_store_apart(struct bpf_code *c, uint8_t size, int to, int offset, int from)
{
	int bytes = size == BPF_DW ? 8 : size == BPF_W ? 4 : size == BPF_H ? 2 : 1, piece = bytes;

	while (offset & (piece - 1))
		piece /= 2;
	size = piece == 8 ? BPF_DW : piece == 4 ? BPF_W : piece == 2 ? BPF_H : BPF_B;
	for (int at = 0; at < bytes; at += piece) {
		int place = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? bytes - piece - at : at;

		if (at)
			bpf_alu(c, BPF_RSH, from, 8 * piece);
		bpf_store(c, size, to, offset + place, from);
	}
}

void bpf_store_number(struct bpf_code *c, uint8_t size, int to, int offset, int32_t value)
{
	add(c, (uint8_t)(BPF_ST | BPF_MEM | size), to, 0, offset, value);
}

void bpf_publish(struct bpf_code *c, int to, int offset, int from)
{
	/* An exchange is a full barrier. x86 keeps the order of stores without one. */
#if defined(__x86_64__)
	bpf_store(c, BPF_DW, to, offset, from);
#else
	add(c, BPF_STX | BPF_ATOMIC | BPF_DW, to, from, offset, BPF_XCHG);
#endif
}

void bpf_add_atomic(struct bpf_code *c, int to, int offset, int from)
{
	add(c, BPF_STX | BPF_ATOMIC | BPF_DW, to, from, offset, BPF_ADD);
}

/* ---- control ---- */

void bpf_jump(struct bpf_code *c, int label)
{
	add_jump(c, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

void bpf_jump_if(struct bpf_code *c, uint8_t op, int reg, int32_t value, int label)
{
	add_jump(c, BPF_JMP | BPF_K | op, reg, 0, value, label);
}

void bpf_jump_if_reg(struct bpf_code *c, uint8_t op, int reg, int other, int label)
{
	add_jump(c, BPF_JMP | BPF_X | op, reg, other, 0, label);
}

void bpf_call(struct bpf_code *c, int32_t function)
{
	add(c, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

void bpf_call_kernel(struct bpf_code *c, uint32_t type)
{
	add(c, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int32_t)type);
}

void bpf_at_most(struct bpf_code *c, int32_t most)
{
	int bounded = bpf_label(c);

	bpf_jump_if(c, BPF_JLE, BPF_REG_0, most, bounded);
	bpf_set(c, BPF_REG_0, most);
	bpf_here(c, bounded);
}

void bpf_bound(struct bpf_code *c, int32_t most)
{
	int some = bpf_label(c);

	bpf_jump_if(c, BPF_JSGT, BPF_REG_0, 0, some);
	bpf_set(c, BPF_REG_0, 0);
	bpf_here(c, some);
	bpf_at_most(c, most);
}

void bpf_exit(struct bpf_code *c)
{
	add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void bpf_pass(struct bpf_code *c)
{
	bpf_set(c, BPF_REG_0, 1);
	bpf_exit(c);
}

void bpf_finish(struct bpf_code *c)
{
	bpf_set(c, BPF_REG_0, 0);
	bpf_exit(c);
}
