// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters in programs: comparisons of integers of the record, and of $ctx.tid, pid and cpu_id, with
 * constants, joined by && and ||. What is more than that, the daemon decides.
 */
#include <errno.h>
#include <stdlib.h>

#include "tracer/abi/filter_ops.h"
#include "tracer/base/filter/tree.h"
#include "tracer/kernel/count/internal.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lowest bytes of an integer are taken as its first ones"
#endif

#define FIXED_FIRST 8u                  /* a program cannot read what is before */

bool count_find_integer(const struct kformat_field *f, struct count_place *out)
{
	uint32_t size = f->to < f->from ? f->to : f->from;

	if (f->kind != KFORMAT_INT || f->place != KFORMAT_FIXED || f->process || f->big_endian ||
	    f->item || f->offset < FIXED_FIRST || f->offset % size)
		return false;
	*out = (struct count_place){ f->offset, size,
				     f->from < f->to ? f->extend : f->is_signed };
	return true;
}

/* ---- values of the event ---- */

void count_load(struct bpf_code *code, int to, const struct count_place *p)
{
	static const uint8_t sizes[9] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };

	bpf_load_from(code, sizes[p->size], to, BPF_REG_6, (int)p->offset);
	if (p->is_signed && p->size < 8) {
		bpf_alu(code, BPF_LSH, to, 64 - 8 * (int32_t)p->size);
		bpf_alu(code, BPF_ARSH, to, 64 - 8 * (int32_t)p->size);
	}
}

void count_load_context(struct bpf_code *code, uint32_t context)
{
	bpf_call(code, context == TRAIL_CONTEXT_CPU_ID ? BPF_FUNC_get_smp_processor_id
						       : BPF_FUNC_get_current_pid_tgid);
	if (context == TRAIL_CONTEXT_PID)
		bpf_alu(code, BPF_RSH, BPF_REG_0, 32);
	bpf_low_half(code, BPF_REG_0);
}

/* ---- the filter ---- */

struct condition {
	const struct kformat *format;
	struct filter_event event;
	struct filter_info *info;       /* owned */
};

static int bind_filter(struct condition *b, const struct filter *f, const struct kformat *format)
{
	b->format = format;
	b->info = calloc(f->node_count, sizeof(*b->info));
	if (!b->info)
		return -ENOMEM;
	kformat_filter_event(format, &b->event);
	return filter_bind(f, &b->event, b->info, NULL);
}

static bool find_operand(const struct condition *b, const struct filter_node *n,
			 struct count_place *out)
{
	const struct trail_reg_field *field = b->info[n->id].field;

	return count_find_integer(&b->format->fields[field - b->event.fields], out);
}

/* A comparison of a context with a constant. */
struct comparison {
	uint32_t context;
	uint8_t op;                     /* BPF_JEQ … */
	int64_t value;
};

static bool find_comparison(const struct condition *b, const struct filter_node *n,
			    struct comparison *out)
{
	static const struct { uint8_t op, swapped; } ops[OP_COUNT] = {
		[OP_LT] = { BPF_JSLT, BPF_JSGT }, [OP_LE] = { BPF_JSLE, BPF_JSGE },
		[OP_GT] = { BPF_JSGT, BPF_JSLT }, [OP_GE] = { BPF_JSGE, BPF_JSLE },
		[OP_EQ] = { BPF_JEQ, BPF_JEQ }, [OP_NE] = { BPF_JNE, BPF_JNE },
	};
	const struct filter_node *context = n->first, *other = n->last;
	const struct filter_value *v;
	bool swapped;

	if (n->kind != NODE_BINARY || !ops[n->op].op)
		return false;
	swapped = context->kind != NODE_CONTEXT;
	if (swapped) {
		context = n->last;
		other = n->first;
	}
	v = &b->info[other->id].value;
	if (context->kind != NODE_CONTEXT || !b->info[other->id].constant ||
	    (v->type != FILTER_SIGNED && (v->type != FILTER_UNSIGNED || v->i < 0)) ||
	    (context->context != TRAIL_CONTEXT_TID && context->context != TRAIL_CONTEXT_PID &&
	     context->context != TRAIL_CONTEXT_CPU_ID))
		return false;
	*out = (struct comparison){ context->context,
				    swapped ? ops[n->op].swapped : ops[n->op].op, v->i };
	return true;
}

static bool is_possible(const struct condition *b, const struct filter_node *n)
{
	const struct filter_info *i = &b->info[n->id];
	struct comparison comparison;
	struct count_place place;

	if (i->constant)
		return true;
	if (n->kind != NODE_LOGIC && find_comparison(b, n, &comparison))
		return true;
	if (i->missing || i->opaque)
		return false;
	if (n->kind != NODE_LOGIC)
		return i->range && find_operand(b, n, &place);
	for (const struct filter_node *o = n->first; o; o = o->next)
		if (!is_possible(b, o))
			return false;
	return true;
}

bool count_condition_possible(const struct filter *f, const struct kformat *format)
{
	struct condition b;
	bool possible = !bind_filter(&b, f, format) && is_possible(&b, f->root);

	free(b.info);
	return possible;
}

/* Jumps to `yes` or to `no`. */
static void put_range(struct bpf_code *c, const struct condition *b, const struct filter_node *n,
		      int yes, int no)
{
	const struct filter_info *i = &b->info[n->id];
	struct count_place place = { 0 };
	int in = i->inverted ? no : yes, out = i->inverted ? yes : no;

	find_operand(b, n, &place);
	count_load(c, BPF_REG_1, &place);
	bpf_set_wide(c, BPF_REG_2, i->lo);
	bpf_set_wide(c, BPF_REG_3, i->hi);
	bpf_jump_if_reg(c, place.is_signed ? BPF_JSLT : BPF_JLT, BPF_REG_1, BPF_REG_2, out);
	bpf_jump_if_reg(c, place.is_signed ? BPF_JSGT : BPF_JGT, BPF_REG_1, BPF_REG_3, out);
	bpf_jump(c, in);
}

static void put_comparison(struct bpf_code *c, const struct comparison *k, int yes, int no)
{
	count_load_context(c, k->context);
	bpf_set_wide(c, BPF_REG_2, (uint64_t)k->value);
	bpf_jump_if_reg(c, k->op, BPF_REG_0, BPF_REG_2, yes);
	bpf_jump(c, no);
}

static void put_node(struct bpf_code *c, const struct condition *b, const struct filter_node *n,
		     int yes, int no)
{
	const struct filter_info *i = &b->info[n->id];
	struct comparison comparison;

	if (i->constant) {
		bpf_jump(c, filter_truth(&i->value) == FILTER_HOLDS ? yes : no);
		return;
	}
	if (n->kind != NODE_LOGIC && find_comparison(b, n, &comparison)) {
		put_comparison(c, &comparison, yes, no);
		return;
	}
	if (n->kind != NODE_LOGIC) {
		put_range(c, b, n, yes, no);
		return;
	}
	for (const struct filter_node *o = n->first; o; o = o->next) {
		int next = o->next ? bpf_label(c) : n->op == OP_BOTH ? yes : no;

		if (n->op == OP_BOTH)
			put_node(c, b, o, next, no);
		else
			put_node(c, b, o, yes, next);
		if (o->next)
			bpf_here(c, next);
	}
}

int count_condition(struct bpf_code *code, const struct filter *f, const struct kformat *format,
		    int no)
{
	struct condition b;
	int yes = bpf_label(code), ret = bind_filter(&b, f, format);

	if (!ret)
		put_node(code, &b, f->root, yes, no);
	bpf_here(code, yes);
	free(b.info);
	return ret;
}
