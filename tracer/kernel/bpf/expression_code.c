// SPDX-License-Identifier: GPL-2.0-or-later
/* Expressions as instructions: see expression.h. */
#include "tracer/kernel/bpf/expression.h"

#include "tracer/kernel/bpf/bpf.h"

static const uint8_t load_sizes[9] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };

struct writer {
	struct bpf_code *code;
	const struct bpf_expression *e;
	const struct bpf_node *nodes;
	int place;              /* of the next value on the stack */
};

static void put_node(struct writer *w, int at);

static void extend_sign(struct bpf_code *c, const struct bpf_node *n)
{
	if (!n->extend)
		return;
	bpf_alu(c, BPF_LSH, BPF_REG_0, 64 - 8 * n->size);
	bpf_alu(c, BPF_ARSH, BPF_REG_0, 64 - 8 * n->size);
}

/*
 * Before Linux 5.11, programs get the address of the thread's structure as a number, which they may
 * not load from. The same holds for what they find there.
 */
static bool is_untyped(const struct bpf_node *nodes, int at)
{
	while (nodes[at].op == BPF_OP_LOAD || nodes[at].op == BPF_OP_ADDRESS)
		at = nodes[at].a;
	return nodes[at].op == BPF_OP_CURRENT && !bpf_kernel_since(5, 11);
}

static void put_current(struct bpf_code *c)
{
	bpf_call(c, bpf_kernel_since(5, 11) ? BPF_FUNC_get_current_task_btf
					    : BPF_FUNC_get_current_task);
}

/* Zeros if register 0 is no address. */
static void put_safe_load(struct writer *w, const struct bpf_node *n)
{
	struct bpf_code *c = w->code;

	bpf_move(c, BPF_REG_3, BPF_REG_0);
	bpf_alu(c, BPF_ADD, BPF_REG_3, n->value);
	bpf_set_stack(c, BPF_REG_1, w->place);
	bpf_set(c, BPF_REG_2, n->size);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
	bpf_load_from(c, load_sizes[n->size], BPF_REG_0, BPF_REG_10, w->place);
}

static void put_top(struct bpf_code *c)
{
	for (int32_t bits = 1; bits < 8; bits *= 2) {
		bpf_move(c, BPF_REG_1, BPF_REG_0);
		bpf_alu(c, BPF_RSH, BPF_REG_1, bits);
		bpf_alu_reg(c, BPF_OR, BPF_REG_0, BPF_REG_1);
	}
	bpf_move(c, BPF_REG_1, BPF_REG_0);
	bpf_alu(c, BPF_RSH, BPF_REG_1, 1);
	bpf_alu_reg(c, BPF_SUB, BPF_REG_0, BPF_REG_1);
}

/* (The kernel takes the negative of a pointer for a number.) */
static void put_pfn(struct writer *w)
{
	struct bpf_code *c = w->code;

	bpf_alu(c, BPF_NEG, BPF_REG_0, 0);
	bpf_set_wide(c, BPF_REG_1, -w->e->pages);
	bpf_alu_reg(c, BPF_SUB, BPF_REG_1, BPF_REG_0);
	bpf_move(c, BPF_REG_0, BPF_REG_1);
	bpf_alu(c, BPF_ARSH, BPF_REG_0, BPF_PAGE_SHIFT);
}

static void put_list(struct writer *w, const struct bpf_node *n)
{
	struct bpf_code *c = w->code;
	int end = bpf_label(c);

	for (int32_t i = 0; i < n->value - 1; i++) {
		int other = bpf_label(c);

		bpf_jump_if(c, BPF_JNE, BPF_REG_0, i, other);
		bpf_set(c, BPF_REG_0, w->nodes[n->b + i].value);
		bpf_jump(c, end);
		bpf_here(c, other);
	}
	bpf_set(c, BPF_REG_0, w->nodes[n->b + n->value - 1].value);
	bpf_here(c, end);
}

/* Of register 0. */
static void put_function(struct writer *w, const struct bpf_node *n)
{
	if (n->op == BPF_OP_TOP)
		put_top(w->code);
	else if (n->op == BPF_OP_SWAP)
		bpf_swap(w->code, BPF_REG_0);
	else if (n->op == BPF_OP_PFN)
		put_pfn(w);
	else if (n->op == BPF_OP_RWBS)
		bpf_rwbs_put(w->code, n);
	else
		put_list(w, n);
}

/* Jumps if the condition is false. */
static void put_condition(struct writer *w, int at, int otherwise)
{
	const struct bpf_node *n = &w->nodes[at];

	if ((n->op == BPF_OP_EQUAL || n->op == BPF_OP_DIFFERENT) &&
	    w->nodes[n->b].op == BPF_OP_CONSTANT) {
		put_node(w, n->a);
		bpf_jump_if(w->code, n->op == BPF_OP_EQUAL ? BPF_JNE : BPF_JEQ, BPF_REG_0,
			    w->nodes[n->b].value, otherwise);
		return;
	}
	put_node(w, at);
	bpf_jump_if(w->code, BPF_JEQ, BPF_REG_0, 0, otherwise);
}

static void put_select(struct writer *w, const struct bpf_node *n)
{
	int otherwise = bpf_label(w->code), end = bpf_label(w->code);

	put_condition(w, n->a, otherwise);
	put_node(w, n->b);
	bpf_jump(w->code, end);
	bpf_here(w->code, otherwise);
	put_node(w, n->c);
	bpf_here(w->code, end);
}

/* Register 0: whether registers 0 and 1 are equal, or differ. */
static void put_comparison(struct bpf_code *c, uint8_t op)
{
	int no = bpf_label(c), end = bpf_label(c);

	bpf_jump_if_reg(c, op == BPF_OP_EQUAL ? BPF_JNE : BPF_JEQ, BPF_REG_0, BPF_REG_1, no);
	bpf_set(c, BPF_REG_0, 1);
	bpf_jump(c, end);
	bpf_here(c, no);
	bpf_set(c, BPF_REG_0, 0);
	bpf_here(c, end);
}

static void put_binary(struct writer *w, const struct bpf_node *n)
{
	static const uint8_t ops[] = {
		[BPF_OP_ADD] = BPF_ADD, [BPF_OP_SUB] = BPF_SUB, [BPF_OP_AND] = BPF_AND,
		[BPF_OP_OR] = BPF_OR,
		[BPF_OP_LEFT] = BPF_LSH, [BPF_OP_RIGHT] = BPF_RSH,
	};
	struct bpf_code *c = w->code;
	bool compares = n->op == BPF_OP_EQUAL || n->op == BPF_OP_DIFFERENT;

	put_node(w, n->a);
	if (w->nodes[n->b].op == BPF_OP_CONSTANT && !compares) {
		bpf_alu(c, ops[n->op], BPF_REG_0, w->nodes[n->b].value);
		return;
	}
	bpf_store(c, BPF_DW, BPF_REG_10, w->place, BPF_REG_0);
	w->place -= 8;
	put_node(w, n->b);
	w->place += 8;
	bpf_move(c, BPF_REG_1, BPF_REG_0);
	bpf_load_from(c, BPF_DW, BPF_REG_0, BPF_REG_10, w->place);
	if (compares)
		put_comparison(c, n->op);
	else
		bpf_alu_reg(c, ops[n->op], BPF_REG_0, BPF_REG_1);
}

static void put_node(struct writer *w, int at)
{
	const struct bpf_node *n = &w->nodes[at];
	struct bpf_code *c = w->code;

	switch ((enum bpf_op)n->op) {
	case BPF_OP_CONSTANT:
		bpf_set(c, BPF_REG_0, n->value);
		return;
	case BPF_OP_ARGUMENT:
		bpf_load_from(c, BPF_DW, BPF_REG_0, BPF_REG_6, n->value);
		break;
	case BPF_OP_CURRENT:
		put_current(c);
		return;
	case BPF_OP_JIFFIES:
		bpf_call(c, BPF_FUNC_jiffies64);
		return;
	case BPF_OP_LOAD:
		put_node(w, n->a);
		if (is_untyped(w->nodes, n->a))
			put_safe_load(w, n);
		else
			bpf_load_from(c, load_sizes[n->size], BPF_REG_0, BPF_REG_0, n->value);
		break;
	case BPF_OP_SAFE_LOAD:
		put_node(w, n->a);
		put_safe_load(w, n);
		break;
	case BPF_OP_ADDRESS:
		put_node(w, n->a);
		if (n->value)
			bpf_alu(c, BPF_ADD, BPF_REG_0, n->value);
		return;
	case BPF_OP_TOP:
	case BPF_OP_SWAP:
	case BPF_OP_PFN:
	case BPF_OP_RWBS:
	case BPF_OP_LIST:
		put_node(w, n->a);
		put_function(w, n);
		return;
	case BPF_OP_TEXT:
		c->bad = true;          /* of texts alone */
		return;
	case BPF_OP_SELECT:
		put_select(w, n);
		return;
	default:
		put_binary(w, n);
		return;
	}
	extend_sign(c, n);
}

void bpf_expression_put(struct bpf_code *code, const struct bpf_expression *e)
{
	struct writer w = { code, e, e->nodes, BPF_PLACE_VALUES };

	put_node(&w, e->root);
}

void bpf_expression_copy(struct bpf_code *c, const struct bpf_expression *e, int at)
{
	struct writer w = { c, e, e->nodes, BPF_PLACE_VALUES };
	const struct bpf_node *n = &e->nodes[e->root];
	int from = 0, end = (int)e->type.size;

	/* The kernel checks each access: it is inside the member. */
	while (n->op == BPF_OP_ADDRESS) {
		from += n->value;
		n = &e->nodes[n->a];
	}
	put_node(&w, (int)(n - e->nodes));
	if (is_untyped(e->nodes, e->root)) {
		bpf_move(c, BPF_REG_3, BPF_REG_0);
		bpf_alu(c, BPF_ADD, BPF_REG_3, from);
		bpf_move(c, BPF_REG_1, BPF_REG_8);
		bpf_alu(c, BPF_ADD, BPF_REG_1, at);
		bpf_set(c, BPF_REG_2, end);
		bpf_call(c, BPF_FUNC_probe_read_kernel);
		return;
	}
	for (int done = 0, size; done < end; done += size) {
		size = end - done >= 8 ? 8 : end - done >= 4 ? 4 : end - done >= 2 ? 2 : 1;
		while (((from + done) | (at + done)) & (size - 1))
			size /= 2;      /* as bpf_store_apart does */
		bpf_load_from(c, load_sizes[size], BPF_REG_1, BPF_REG_0, from + done);
		bpf_store(c, load_sizes[size], BPF_REG_8, at + done, BPF_REG_1);
	}
}

static void put_texts(struct writer *w, int at,
		      void (*put)(void *arg, const char *text, uint32_t len), void *arg)
{
	const struct bpf_node *n = &w->nodes[at];
	int otherwise, end;

	if (n->op == BPF_OP_TEXT) {
		put(arg, w->e->text + n->value, n->size);
		return;
	}
	if (n->op != BPF_OP_SELECT || w->e->type.class != BTF_TEXT) {
		put_node(w, at);
		put(arg, NULL, 0);
		return;
	}
	otherwise = bpf_label(w->code);
	end = bpf_label(w->code);
	put_condition(w, n->a, otherwise);
	put_texts(w, n->b, put, arg);
	bpf_jump(w->code, end);
	bpf_here(w->code, otherwise);
	put_texts(w, n->c, put, arg);
	bpf_here(w->code, end);
}

void bpf_expression_texts(struct bpf_code *c, const struct bpf_expression *e,
			  void (*put)(void *arg, const char *text, uint32_t len), void *arg)
{
	struct writer w = { c, e, e->nodes, BPF_PLACE_VALUES };

	put_texts(&w, e->root, put, arg);
}
