// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/kevent/bpf_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/number.h"
#include "tracer/abi/filter_ops.h"
#include "tracer/base/filter/tree.h"

#ifdef __riscv
#define WHOLE_WORDS 0                   /* see put_bytes */
#else
#define WHOLE_WORDS 1
#endif
#define FIXED_FIRST 8u                  /* a program cannot read what is before */

/* ---- values of the event ---- */

bool bpf_find_integer(const struct kformat_field *f, struct bpf_integer *out)
{
	uint32_t size = f->to < f->from ? f->to : f->from;

	if (f->kind != KFORMAT_INT || f->place != KFORMAT_FIXED || f->process || f->big_endian ||
	    f->item || f->offset < FIXED_FIRST || f->offset % size)
		return false;
	*out = (struct bpf_integer){ f->offset + md_low_bytes(f->from, size), size,
				     f->from < f->to ? f->extend : f->is_signed };
	return true;
}

void bpf_load_integer(struct bpf_code *code, int to, const struct bpf_integer *p)
{
	static const uint8_t sizes[9] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };

	bpf_load_from(code, sizes[p->size], to, BPF_REG_6, (int)p->offset);
	if (p->is_signed && p->size < 8) {
		bpf_alu(code, BPF_LSH, to, 64 - 8 * (int32_t)p->size);
		bpf_alu(code, BPF_ARSH, to, 64 - 8 * (int32_t)p->size);
	}
}

void bpf_load_context(struct bpf_code *code, uint32_t context)
{
	bpf_call(code, context == TRAIL_CONTEXT_CPU_ID ? BPF_FUNC_get_smp_processor_id
						       : BPF_FUNC_get_current_pid_tgid);
	if (context == TRAIL_CONTEXT_PID)
		bpf_alu(code, BPF_RSH, BPF_REG_0, 32);
	bpf_low_half(code, BPF_REG_0, BPF_REG_0);
}

/* ---- what a program can decide ---- */

struct condition {
	const struct kformat *format;
	struct filter_event event;
	struct filter_info *info;       /* owned */
	const struct bpf_loader *loader;
	int text_base;
	int fail;                       /* label: where a filter continues that lacks a value */
};

/* A comparison of a context with a constant. */
struct comparison {
	uint32_t context;
	uint8_t op;                     /* BPF_JEQ … */
	int64_t value;
};

/* A comparison of a text with a literal. */
struct match {
	const struct kformat_field *field;
	const char *literal;
	uint32_t len;
	bool prefix, inverted;
};

static const struct kformat_field *field_of(const struct condition *b,
					    const struct trail_reg_field *field)
{
	return field ? &b->format->fields[field - b->event.fields] : NULL;
}

static bool find_range(const struct condition *b, const struct filter_node *n,
		       struct bpf_integer *out)
{
	const struct filter_info *i = &b->info[n->id];

	return i->range && bpf_find_integer(field_of(b, i->field), out);
}

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

static bool find_match(const struct condition *b, const struct filter_node *n, struct match *out)
{
	const struct filter_node *field = n->first, *text = n->last;
	const char *star;

	if (!b->text_base || n->kind != NODE_BINARY || (n->op != OP_EQ && n->op != OP_NE))
		return false;
	if (field->kind != NODE_FIELD) {
		field = n->last;
		text = n->first;
	}
	if (field->kind != NODE_FIELD || text->kind != NODE_STRING || field->index_count ||
	    b->info[field->id].missing)
		return false;
	out->field = field_of(b, b->info[field->id].field);
	if (!out->field || out->field->kind != KFORMAT_STRING ||
	    out->field->place != KFORMAT_LOC || !text->text_length ||
	    text->text_length > BPF_LITERAL_MAX)
		return false;
	star = memchr(text->text, '\0', text->text_length);
	out->prefix = star;
	out->len = text->text_length - out->prefix;
	out->literal = text->text;
	out->inverted = n->op == OP_NE;
	return out->len && (!star || star == text->text + out->len);
}

static bool can_decide(const struct condition *b, const struct filter_node *n)
{
	struct comparison comparison;
	struct bpf_integer integer;
	struct match match;

	return b->info[n->id].constant || find_range(b, n, &integer) ||
	       find_comparison(b, n, &comparison) || find_match(b, n, &match);
}

/* Marks comparisons that a program cannot decide; true if there are none. */
static bool mark_node(struct condition *b, const struct filter_node *n)
{
	bool all = true;

	/* The filter fails there. */
	if (b->info[n->id].missing)
		return true;
	if (n->kind == NODE_LOGIC && !b->info[n->id].constant) {
		for (const struct filter_node *o = n->first; o; o = o->next)
			all &= mark_node(b, o);
		return all;
	}
	all = can_decide(b, n);
	/* Its operands do not matter any more. */
	b->info[n->id].opaque = !all;
	for (const struct filter_node *o = n->first; o; o = o->next)
		b->info[o->id].opaque = false;
	return all;
}

/* As filter_bind; *whole: a program can decide the whole filter. */
static int bind_filter(struct condition *b, const struct filter *f, const struct kformat *format,
		       int text_base, bool *whole)
{
	int ret;

	*b = (struct condition){ .format = format, .text_base = text_base };
	b->info = calloc(f->node_count, sizeof(*b->info));
	if (!b->info)
		return -ENOMEM;
	kformat_filter_event(format, &b->event);
	ret = filter_bind(f, &b->event, b->info, NULL);
	*whole = !ret && mark_node(b, f->root);
	return ret;
}

bool bpf_filter_possible(const struct filter *f, const struct kformat *format, bool texts)
{
	struct condition b;
	bool whole = false;
	int ret = bind_filter(&b, f, format, texts, &whole);

	free(b.info);
	/* A filter whose types clash is never true. */
	return ret == -EINVAL || (!ret && whole);
}

/* ---- instructions ---- */

/*
 * The kernel refuses a program with instructions that no jump leads to, so this one can be passed,
 * as far as it sees without looking at values.
 */
static void jump_always(struct bpf_code *c, int label)
{
	bpf_set(c, BPF_REG_1, 0);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, label);
}

/* Jumps if reg OP value. Changes register 2. */
static void jump_if(struct bpf_code *c, uint8_t op, int reg, uint64_t value, int label)
{
	if ((int64_t)value == (int32_t)value) {
		bpf_jump_if(c, op, reg, (int32_t)value, label);
		return;
	}
	bpf_set_wide(c, BPF_REG_2, value);
	bpf_jump_if_reg(c, op, reg, BPF_REG_2, label);
}

static void put_range(struct bpf_code *c, const struct condition *b, const struct filter_node *n,
		      int yes, int no)
{
	const struct filter_info *i = &b->info[n->id];
	struct bpf_integer place = { 0 };
	int in = i->inverted ? no : yes, out = i->inverted ? yes : no;

	find_range(b, n, &place);
	if (b->loader)
		b->loader->load(b->loader->arg, c, BPF_REG_1, &place);
	else
		bpf_load_integer(c, BPF_REG_1, &place);
	if (i->lo == i->hi) {
		jump_if(c, BPF_JNE, BPF_REG_1, i->lo, out);
	} else {
		jump_if(c, place.is_signed ? BPF_JSLT : BPF_JLT, BPF_REG_1, i->lo, out);
		jump_if(c, place.is_signed ? BPF_JSGT : BPF_JGT, BPF_REG_1, i->hi, out);
	}
	bpf_jump(c, in);
}

/* The comparison that is true where this one is false. */
static uint8_t inverse(uint8_t op)
{
	static const uint8_t pairs[][2] = {
		{ BPF_JEQ, BPF_JNE }, { BPF_JSLT, BPF_JSGE }, { BPF_JSLE, BPF_JSGT },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i][0] == op || pairs[i][1] == op)
			return pairs[i][pairs[i][0] == op];
	return op;
}

static void put_comparison(struct bpf_code *c, const struct condition *b,
			   const struct comparison *k, int yes, int no)
{
	if (b->loader)
		b->loader->context(b->loader->arg, c, k->context);
	else
		bpf_load_context(c, k->context);
	jump_if(c, inverse(k->op), BPF_REG_0, (uint64_t)k->value, no);
	bpf_jump(c, yes);
}

/*
 * Compares the bytes at register 1 + base with a literal. A text lies anywhere: kernels of riscv64
 * take only programs that load it byte by byte.
 */
static void put_bytes(struct bpf_code *c, const char *bytes, uint32_t len, int base, int differ)
{
	static const struct { uint32_t bytes; uint8_t size; } steps[] = {
		{ 8, BPF_DW }, { 4, BPF_W }, { 2, BPF_H }, { 1, BPF_B },
	};
	uint32_t at = 0;
	uint64_t word;

	for (size_t i = WHOLE_WORDS ? 0 : 3; i < sizeof(steps) / sizeof(*steps); i++)
		for (; len - at >= steps[i].bytes; at += steps[i].bytes) {
			word = 0;
			memcpy((uint8_t *)&word + md_low_bytes(8, steps[i].bytes), bytes + at,
			       steps[i].bytes);
			bpf_load_from(c, steps[i].size, BPF_REG_2, BPF_REG_1, base + (int)at);
			bpf_set_wide(c, BPF_REG_3, word);
			bpf_jump_if_reg(c, BPF_JNE, BPF_REG_2, BPF_REG_3, differ);
		}
}

/* A text in the record ends with a NUL, which counts in its length. */
static void put_match(struct bpf_code *c, const struct condition *b, const struct match *m, int yes,
		      int no)
{
	int in = m->inverted ? no : yes, out = m->inverted ? yes : no;

	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_8, b->text_base + (int)m->field->offset);
	bpf_move(c, BPF_REG_2, BPF_REG_1);
	bpf_alu(c, BPF_RSH, BPF_REG_2, 16);
	bpf_jump_if(c, m->prefix ? BPF_JLE : BPF_JNE, BPF_REG_2, (int32_t)(m->len + !m->prefix),
		    out);
	bpf_alu(c, BPF_AND, BPF_REG_1, 0xffff);
	bpf_jump_if(c, BPF_JGT, BPF_REG_1, BPF_TEXT_OFFSET_MAX, out);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_8);
	put_bytes(c, m->literal, m->len, b->text_base, out);
	bpf_jump(c, in);
}

static void put_node(struct bpf_code *c, const struct condition *b, const struct filter_node *n,
		     int yes, int no);

static void put_leaf(struct bpf_code *c, const struct condition *b, const struct filter_node *n,
		     int yes, int no)
{
	const struct filter_info *i = &b->info[n->id];
	struct comparison comparison;
	struct bpf_integer integer;
	struct match match;

	if (i->constant)
		jump_always(c, filter_truth(&i->value) == FILTER_HOLDS ? yes : no);
	else if (find_range(b, n, &integer))
		put_range(c, b, n, yes, no);
	else if (find_comparison(b, n, &comparison))
		put_comparison(c, b, &comparison, yes, no);
	else if (find_match(b, n, &match))
		put_match(c, b, &match, yes, no);
}

static void put_node(struct bpf_code *c, const struct condition *b, const struct filter_node *n,
		     int yes, int no)
{
	if (b->info[n->id].missing) {
		jump_always(c, b->fail);
		return;
	}
	if (n->kind != NODE_LOGIC || b->info[n->id].constant) {
		put_leaf(c, b, n, yes, no);
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

/* 1: added; 0: the filter, or what a program can decide of it, is always true; -errno. */
static int put_filter(struct bpf_code *c, const struct filter *f, const struct kformat *format,
		      const struct bpf_loader *loader, int text_base, int yes, int no)
{
	struct condition b;
	bool whole;
	int ret = bind_filter(&b, f, format, text_base, &whole);

	/* A filter whose types clash is never true. */
	if (ret == -EINVAL)
		jump_always(c, no);
	b.fail = no;
	b.loader = loader;
	if (!ret && (whole || filter_weaken(f, b.info))) {
		put_node(c, &b, f->root, yes, no);
		ret = 1;
	}
	free(b.info);
	return ret == -EINVAL ? 1 : ret;
}

int bpf_filter(struct bpf_code *code, const struct filter *const *filters, size_t count,
	       const struct kformat *format, const struct bpf_loader *loader, int text_base, int no)
{
	struct bpf_code *before = malloc(sizeof(*before));
	int yes = bpf_label(code), ret = before ? 1 : -ENOMEM;

	if (before)
		*before = *code;
	for (size_t i = 0; i < count && ret == 1; i++) {
		int next = i + 1 < count ? bpf_label(code) : no;

		ret = put_filter(code, filters[i], format, loader, text_base, yes, next);
		if (i + 1 < count)
			bpf_here(code, next);
	}
	if (before && ret != 1)
		*code = *before;
	bpf_here(code, yes);
	free(before);
	return ret;
}
