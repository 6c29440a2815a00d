// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program of an event. Registers: 6 the tracepoint's data, 7 the value of the key, 8 a number,
 * 9 the control. No other program of a tracepoint interrupts it, and the values belong to the CPU,
 * so it adds with plain instructions.
 */
#include <stddef.h>

#include "tracer/kernel/count/internal.h"

/* Places on the stack: the key, at the very end the keys of the other maps. */
enum { ZERO = -8, KEY = ZERO - COUNT_KEY_BYTES };

#define CONTROL(member) ((int)offsetof(struct count_control, member))

/* Looks a key up in a map. Register 0: the address of the value, or 0. */
static void look_up(struct bpf_code *c, int map, int key)
{
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, key);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
}

/* ---- the key ---- */

/* A context, to its place on the stack. */
static void put_context(struct bpf_code *c, uint32_t context, int at)
{
	if (context == TRAIL_CONTEXT_PROCNAME) {
		bpf_set_stack(c, BPF_REG_1, at);
		bpf_set(c, BPF_REG_2, 16);
		bpf_call(c, BPF_FUNC_get_current_comm);
		return;
	}
	bpf_load_context(c, context);
	bpf_store(c, BPF_DW, BPF_REG_10, at, BPF_REG_0);
}

static void copy_text(struct bpf_code *c, const struct bpf_integer *p, int at)
{
	for (uint32_t i = 0; i < p->size; i += 4) {
		bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_6, (int)(p->offset + i));
		bpf_store(c, BPF_W, BPF_REG_10, at + (int)i, BPF_REG_1);
	}
}

static void put_key(struct bpf_code *c, const struct counts *counts, size_t event)
{
	const struct count_event *e = &counts->events[event];

	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_9, CONTROL(generation));
	bpf_store(c, BPF_W, BPF_REG_10, KEY, BPF_REG_1);
	bpf_store_number(c, BPF_W, BPF_REG_10, KEY + 4, (int32_t)event);
	for (size_t i = 0; i < counts->item_count; i++) {
		int at = KEY + (int)counts->item_at[i];

		if (counts->item_is_context[i]) {
			put_context(c, counts->items[i].context, at);
		} else if (e->items[i].size > 8) {
			copy_text(c, &e->items[i], at);
		} else {
			bpf_load_integer(c, BPF_REG_1, &e->items[i]);
			bpf_store(c, BPF_DW, BPF_REG_10, at, BPF_REG_1);
		}
	}
}

/* Register 7: the value of the key, which is added if the map lacks it. */
static void find_value(struct bpf_code *c, const struct counts *counts, int full)
{
	int found = bpf_label(c);

	look_up(c, counts->map, KEY);
	bpf_jump_if(c, BPF_JNE, BPF_REG_0, 0, found);
	look_up(c, counts->zero_map, ZERO);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, full);
	bpf_move(c, BPF_REG_3, BPF_REG_0);
	bpf_set_map(c, BPF_REG_1, counts->map);
	bpf_set_stack(c, BPF_REG_2, KEY);
	bpf_set(c, BPF_REG_4, BPF_NOEXIST);
	bpf_call(c, BPF_FUNC_map_update_elem);
	look_up(c, counts->map, KEY);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, full);
	bpf_here(c, found);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
}

/* ---- the numbers ---- */

/* Adds register 8 to the 128 bits at this place of the value. */
static void add_sum(struct bpf_code *c, int at, bool is_signed)
{
	int no_carry = bpf_label(c), positive = bpf_label(c), same = bpf_label(c);

	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, at);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_8);
	bpf_store(c, BPF_DW, BPF_REG_7, at, BPF_REG_1);
	bpf_set(c, BPF_REG_2, 0);
	bpf_jump_if_reg(c, BPF_JGE, BPF_REG_1, BPF_REG_8, no_carry);
	bpf_set(c, BPF_REG_2, 1);
	bpf_here(c, no_carry);
	if (is_signed) {
		bpf_jump_if(c, BPF_JSGE, BPF_REG_8, 0, positive);
		bpf_alu(c, BPF_SUB, BPF_REG_2, 1);
	}
	bpf_here(c, positive);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_2, 0, same);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, at + 8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_2);
	bpf_store(c, BPF_DW, BPF_REG_7, at + 8, BPF_REG_1);
	bpf_here(c, same);
}

/* Register 1 has the number of events with this one. */
static void keep_limit(struct bpf_code *c, int at, bool is_signed, bool most)
{
	int keep = bpf_label(c), set = bpf_label(c);
	uint8_t op = most ? is_signed ? BPF_JSLE : BPF_JLE : is_signed ? BPF_JSGE : BPF_JGE;

	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, 0);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 1, set);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, at);
	bpf_jump_if_reg(c, op, BPF_REG_8, BPF_REG_1, keep);
	bpf_here(c, set);
	bpf_store(c, BPF_DW, BPF_REG_7, at, BPF_REG_8);
	bpf_here(c, keep);
}

/* Adds 1 to the interval in register 2. */
static void add_interval(struct bpf_code *c, int at, uint32_t slots)
{
	int fits = bpf_label(c);

	bpf_jump_if(c, BPF_JLT, BPF_REG_2, (int32_t)slots, fits);
	bpf_set(c, BPF_REG_2, (int32_t)slots - 1);
	bpf_here(c, fits);
	bpf_alu(c, BPF_LSH, BPF_REG_2, 3);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_2, BPF_REG_7);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_2, at);
	bpf_alu(c, BPF_ADD, BPF_REG_1, 1);
	bpf_store(c, BPF_DW, BPF_REG_2, at, BPF_REG_1);
}

/* Register 2: the interval of register 8, by its highest bit. */
static void find_power(struct bpf_code *c, bool is_signed)
{
	int done = bpf_label(c);

	bpf_set(c, BPF_REG_2, 0);
	if (is_signed)
		bpf_jump_if(c, BPF_JSLT, BPF_REG_8, 0, done);
	bpf_set(c, BPF_REG_2, 1);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_8, 0, done);
	bpf_set(c, BPF_REG_2, 2);
	bpf_move(c, BPF_REG_1, BPF_REG_8);
	for (int32_t bits = 32; bits; bits /= 2) {
		int less = bpf_label(c);

		bpf_move(c, BPF_REG_3, BPF_REG_1);
		bpf_alu(c, BPF_RSH, BPF_REG_3, bits);
		bpf_jump_if(c, BPF_JEQ, BPF_REG_3, 0, less);
		bpf_move(c, BPF_REG_1, BPF_REG_3);
		bpf_alu(c, BPF_ADD, BPF_REG_2, bits);
		bpf_here(c, less);
	}
	bpf_here(c, done);
}

/* Register 2: the interval of register 8, by its distance from `from`. */
static void find_step(struct bpf_code *c, const struct count_number *n, bool is_signed)
{
	int done = bpf_label(c);

	/* An unsigned number with the highest bit is above `to`, which is signed. */
	bpf_set(c, BPF_REG_2, (int32_t)n->slots - 1);
	if (!is_signed)
		bpf_jump_if(c, BPF_JSLT, BPF_REG_8, 0, done);
	bpf_set(c, BPF_REG_2, 0);
	bpf_set_wide(c, BPF_REG_1, (uint64_t)n->from);
	bpf_jump_if_reg(c, BPF_JSLT, BPF_REG_8, BPF_REG_1, done);
	bpf_set(c, BPF_REG_2, (int32_t)n->slots - 1);
	bpf_set_wide(c, BPF_REG_3, (uint64_t)n->to);
	bpf_jump_if_reg(c, BPF_JSGE, BPF_REG_8, BPF_REG_3, done);
	bpf_move(c, BPF_REG_2, BPF_REG_8);
	bpf_alu_reg(c, BPF_SUB, BPF_REG_2, BPF_REG_1);
	bpf_alu(c, BPF_DIV, BPF_REG_2, (int32_t)n->step);
	bpf_alu(c, BPF_ADD, BPF_REG_2, 1);
	bpf_here(c, done);
}

static void put_number(struct bpf_code *c, const struct count_number *n,
		       const struct bpf_integer *p, int at)
{
	bpf_load_integer(c, BPF_REG_8, p);
	switch (n->kind) {
	case COUNT_SUM:
		add_sum(c, at, p->is_signed);
		break;
	case COUNT_LEAST:
	case COUNT_MOST:
		keep_limit(c, at, p->is_signed, n->kind == COUNT_MOST);
		break;
	case COUNT_POWERS:
	case COUNT_STEPS:
		if (n->kind == COUNT_POWERS)
			find_power(c, p->is_signed);
		else
			find_step(c, n, p->is_signed);
		add_interval(c, at, n->slots);
		add_sum(c, at + 8 * (int)n->slots, p->is_signed);
		break;
	}
}

void count_program(struct bpf_code *code, const struct counts *c, size_t event)
{
	const struct count_event *e = &c->events[event];
	int end, full;

	bpf_code_begin(code);
	end = bpf_label(code);
	full = bpf_label(code);
	bpf_move(code, BPF_REG_6, BPF_REG_1);
	bpf_store_number(code, BPF_DW, BPF_REG_10, ZERO, 0);
	look_up(code, c->control_map, ZERO);
	bpf_jump_if(code, BPF_JEQ, BPF_REG_0, 0, end);
	bpf_move(code, BPF_REG_9, BPF_REG_0);
	bpf_load_from(code, BPF_W, BPF_REG_1, BPF_REG_9, CONTROL(on));
	bpf_jump_if(code, BPF_JEQ, BPF_REG_1, 0, end);
	if (c->spec->filter && bpf_filter(code, &c->spec->filter, 1, e->format, NULL, 0,
					  end) < 0)
		code->bad = true;
	put_key(code, c, event);
	find_value(code, c, full);
	bpf_load_from(code, BPF_DW, BPF_REG_1, BPF_REG_7, 0);
	bpf_alu(code, BPF_ADD, BPF_REG_1, 1);
	bpf_store(code, BPF_DW, BPF_REG_7, 0, BPF_REG_1);
	for (size_t i = 0; i < c->number_count; i++)
		put_number(code, &c->numbers[i], &e->numbers[i], (int)c->number_at[i]);
	bpf_jump(code, end);
	bpf_here(code, full);
	bpf_set(code, BPF_REG_1, 1);
	bpf_add_atomic(code, BPF_REG_9, CONTROL(left_out), BPF_REG_1);
	bpf_here(code, end);
	bpf_pass(code);
}
