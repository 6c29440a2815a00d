/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles the nodes of a filter to words. See filter/codegen.h. */
#include <stdio.h>
#include <string.h>

#include "tracer/base/filter/codegen.h"
#include "tracer/base/context/perfcounter.h"

static void load_value(struct code *c, const struct filter_node *n, uint8_t r);

static struct places swap_places(struct places p)
{
	return (struct places){ p.no, p.yes, !p.yes_follows };
}

static const struct filter_info *info_of(const struct code *c, const struct filter_node *n)
{
	return &c->info[n->id];
}

/* ---- fields ---- */

/* The end of a variant, by its option, of which the last is nothing. */
static void walk_variant(struct code *c, const struct trail_reg_field *f, uint32_t anchor,
			 uint32_t at)
{
	uint32_t i;

	for (i = 0; i <= f->count; i++) {
		const struct trail_reg_field *option = &f[i + 1];
		uint32_t end = i == f->count			   ? 2
			       : option->kind == TRAIL_KIND_STRING ? 1
								   : 2u + option->size;

		code_put(c, (struct filter_word){ .op = FILTER_OPTION, .flag = (uint8_t)i, .at = at,
						  .a = FILTER_PLACE(0, 0, anchor, 0), .b = end });
	}
}

static void set_anchor(struct code *c, uint32_t anchor)
{
	uint32_t i, before, at;

	for (i = 0; i < c->e->field_count; i++) {
		const struct trail_reg_field *f = &c->e->fields[i];

		if (f->kind == TRAIL_KIND_VARIANT) {
			if (filter_locate(c->e, i, &before, &at) && before == anchor) {
				walk_variant(c, f, anchor, at);
				return;
			}
			i += f->count;
		} else if ((f->kind == TRAIL_KIND_STRING || f->kind == TRAIL_KIND_SEQUENCE) &&
		    filter_locate(c->e, i, &before, &at) && before == anchor) {
			code_put(c, (struct filter_word){ .op = FILTER_WALK, .at = at,
							  .a = filter_field_place(f, anchor) });
			return;
		}
	}
}

/* Emits WALK words until this anchor is set. */
static void set_anchors(struct code *c, uint32_t anchor)
{
	while (!c->dead && c->walked < anchor)
		set_anchor(c, c->walked++);
}

static void test_range(struct code *c, const struct filter_info *i, struct places p)
{
	static const uint8_t ops[2][9][2] = {
		{ [1] = { FILTER_RANGE_U8, FILTER_RANGE_S8 },
		  [2] = { FILTER_RANGE_U16, FILTER_RANGE_S16 },
		  [4] = { FILTER_RANGE_32, FILTER_RANGE_32 },
		  [8] = { FILTER_RANGE_64, FILTER_RANGE_64 } },
		{ [1] = { FILTER_RANGE_U8, FILTER_RANGE_S8 },
		  [2] = { FILTER_RANGE_U16_BE, FILTER_RANGE_S16_BE },
		  [4] = { FILTER_RANGE_32_BE, FILTER_RANGE_32_BE },
		  [8] = { FILTER_RANGE_64_BE, FILTER_RANGE_64_BE } },
	};
	const struct trail_reg_field *f = i->field;
	uint64_t wide[2] = { i->lo, i->hi - i->lo };
	struct filter_word w = { .at = i->at, .a = (uint32_t)wide[0], .b = (uint32_t)wide[1] };
	bool is_signed = f->flags & TRAIL_FIELD_SIGNED;

	set_anchors(c, i->anchor);
	w.flag = (uint8_t)i->anchor;
	w.op = ops[!!(f->flags & TRAIL_FIELD_BIG_ENDIAN)][f->size][is_signed];
	if (f->size == 8) {
		w.a = code_literal(c, wide, sizeof(wide));
		w.b = 0;
	}
	code_test(c, w, i->inverted ? swap_places(p) : p);
}

static void load_field(struct code *c, const struct filter_node *n, uint8_t r)
{
	const struct filter_info *i = info_of(c, n);
	const struct trail_reg_field *f = i->field;
	struct filter_word w = { .flag = r, .at = i->at, .a = filter_field_place(f, i->anchor) };

	set_anchors(c, i->anchor);
	if (i->variant)
		code_put(c, (struct filter_word){ .op = FILTER_OPTION, .at = i->at - 1,
						  .flag = (uint8_t)(f - i->variant - 1),
						  .a = FILTER_PLACE(0, 0, i->anchor, 0) });
	switch (f->kind) {
	case TRAIL_KIND_FLOAT:
		w.op = FILTER_LOAD_FLOAT;
		break;
	case TRAIL_KIND_STRING:
		w.op = FILTER_LOAD_STRING;
		break;
	case TRAIL_KIND_ARRAY:
		w.op = !n->index_count                ? FILTER_LOAD_TEXT
		       : f->flags & TRAIL_FIELD_FLOAT ? FILTER_LOAD_FLOAT
						      : FILTER_LOAD_INT;
		w.b = n->index_count ? 0 : f->count;
		break;
	case TRAIL_KIND_SEQUENCE:
		w.op = n->index_count ? FILTER_LOAD_ELEMENT : FILTER_LOAD_SEQUENCE;
		w.b = n->index_count ? (uint32_t)n->index : c->e->places ? f->count : 0;
		break;
	case TRAIL_KIND_BITS:
		w.op = FILTER_LOAD_BITS;
		w.b = filter_field_bit(c->e, f);
		break;
	default:
		w.op = FILTER_LOAD_INT;
	}
	code_put(c, w);
}

/* ---- strings ---- */

/* A literal with its table for filter_find: how much still matches when the next byte does not. */
static uint32_t put_search_literal(struct code *c, const char *s, size_t n)
{
	uint32_t at = code_literal(c, s, n);
	uint8_t *table = (uint8_t *)md_buf_room(&c->literals, 2 * n);
	size_t i, have = 0;
	uint16_t entry;

	if (c->dead || !table)
		return 0;
	table[0] = table[1] = 0;
	for (i = 1; i < n; i++) {
		while (have && s[have] != s[i])
			have = filter_load16(table + 2 * (have - 1), false);
		have += s[have] == s[i];
		entry = (uint16_t)have;         /* in the host's byte order */
		memcpy(table + 2 * i, &entry, sizeof(entry));
	}
	c->literals.len += 2 * n;
	return at;
}

/* The parts of a pattern between its stars, in the order of the tests. */
struct parts {
	const char *s, *end, *first, *last;     /* first, last: stars */
	int stage;
	struct part {
		const char *s;
		size_t n;
		enum filter_match how;
	} part;
};

static bool set_part(struct parts *p, const char *s, const char *end, enum filter_match how)
{
	p->part = (struct part){ s, (size_t)(end - s), how };
	return true;
}

/* The prefix and the suffix come first, because a part between stars may not overlap them. */
static bool next_part(struct parts *p)
{
	const char *s;

	switch (p->stage++) {
	case 0:
		p->first = memchr(p->s, '\0', (size_t)(p->end - p->s));
		if (!p->first) {
			p->stage = 3;
			return set_part(p, p->s, p->end, FILTER_MATCH_WHOLE);
		}
		for (p->last = p->end - 1; *p->last; )
			p->last--;
		/* Also for a lone star, which requires a string. */
		if (p->first > p->s || p->first + 1 == p->end)
			return set_part(p, p->s, p->first, FILTER_MATCH_PREFIX);
		return next_part(p);
	case 1:
		if (p->last + 1 < p->end)
			return set_part(p, p->last + 1, p->end, FILTER_MATCH_SUFFIX);
		return next_part(p);
	case 2:
		if (p->first >= p->last)
			return false;
		/* The parser merges neighbouring stars, so there is text before the next one. */
		s = p->first + 1;
		p->first = memchr(s, '\0', (size_t)(p->end - s));
		p->stage = 2;
		return set_part(p, s, p->first, FILTER_MATCH_FIND);
	default:
		return false;
	}
}

static void test_pattern(struct code *c, const struct filter_node *pattern,
			 const struct filter_node *text, uint8_t r, struct places p)
{
	const struct filter_info *i = info_of(c, text);
	struct parts parts = { .s = pattern->text, .end = pattern->text + pattern->text_length };
	bool more = next_part(&parts), single;
	struct parts ahead = parts;

	single = parts.part.how != FILTER_MATCH_FIND && !next_part(&ahead) &&
		 text->kind == NODE_FIELD && i->field->kind == TRAIL_KIND_STRING && !i->variant;
	if (single)
		set_anchors(c, i->anchor);
	else
		load_value(c, text, r);
	while (more) {
		struct part now = parts.part;
		struct filter_word w = { .op = FILTER_MATCH, .flag = r };

		w.b = (uint32_t)now.n | (uint32_t)now.how << 16;

		if (single) {
			w.op = FILTER_TEST_STRING;
			w.flag = (uint8_t)i->anchor;
			w.at = i->at;
		}
		if (now.how == FILTER_MATCH_FIND) {
			w.a = put_search_literal(c, now.s, now.n);
		} else {
			w.a = code_literal(c, now.s, now.n);
			code_literal(c, "", 1);
		}
		more = next_part(&parts);
		code_test(c, w, (struct places){ p.yes, p.no, more || p.yes_follows });
	}
}

/* ---- conditions ---- */

/*
 * Loads both operands into registers r and r + 1. The one that needs more registers comes first, so
 * that 16 suffice.
 */
static void load_operands(struct code *c, const struct filter_node *n, uint8_t r,
		       struct filter_word *w)
{
	bool right_first = info_of(c, n->last)->registers > info_of(c, n->first)->registers;

	w->a = (uint32_t)r + right_first;
	w->b = (uint32_t)r + !right_first;
	load_value(c, right_first ? n->last : n->first, r);
	load_value(c, right_first ? n->first : n->last, (uint8_t)(r + 1));
}

static void test_constant(struct code *c, const struct filter_node *n, struct filter_value v,
			 unsigned int relation, uint8_t r, struct places p)
{
	struct filter_word w = { .op = FILTER_COMPARE_WITH, .flag = r, .a = (uint32_t)v.u,
				 .b = (uint32_t)(v.u >> 32) };

	w.at = relation | (uint32_t)v.type << 8;
	load_value(c, n, r);
	code_test(c, w, p);
}

static void test_comparison(struct code *c, const struct filter_node *n, uint8_t r, struct places p)
{
	const struct filter_node *left = n->first, *right = n->last;
	struct filter_word w = { .op = FILTER_COMPARE, .at = filter_relation(n->op, false) };

	if (left->kind == NODE_STRING || right->kind == NODE_STRING) {
		bool pattern_left = left->kind == NODE_STRING;

		test_pattern(c, pattern_left ? left : right, pattern_left ? right : left, r,
		      n->op == OP_EQ ? p : swap_places(p));
	} else if (filter_compares_bits(n, info_of(c, left), info_of(c, right))) {
		load_operands(c, n, r, &w);
		w.op = FILTER_XOR;
		w.flag = r;
		w.at = 0;
		code_put(c, w);
		code_test(c, (struct filter_word){ .op = FILTER_TRUTH, .flag = r },
			  n->op == OP_NE ? p : swap_places(p));
	} else if (info_of(c, right)->constant) {
		test_constant(c, left, info_of(c, right)->value, w.at, r, p);
	} else if (info_of(c, left)->constant) {
		test_constant(c, right, info_of(c, left)->value, filter_relation(n->op, true), r,
			      p);
	} else {
		load_operands(c, n, r, &w);
		code_test(c, w, p);
	}
}

static void test_logic(struct code *c, const struct filter_node *n, uint8_t r, struct places p)
{
	const struct filter_node *o;

	for (o = n->first; o->next; o = o->next) {
		struct label next = { 0 };

		if (n->op == OP_BOTH)
			code_condition(c, o, r, (struct places){ &next, p.no, true });
		else
			code_condition(c, o, r, (struct places){ p.yes, &next, false });
		code_here(c, &next);
	}
	code_condition(c, o, r, p);
}

static void test_truth(struct code *c, const struct filter_node *n, uint8_t r, struct places p)
{
	const struct filter_info *i = info_of(c, n);
	struct filter_info zero = *i;

	if (n->kind == NODE_FIELD && (i->type == TYPE_SIGNED || i->type == TYPE_UNSIGNED) &&
	    i->field->kind != TRAIL_KIND_SEQUENCE && i->field->kind != TRAIL_KIND_BITS &&
	    !i->variant) {
		zero.lo = zero.hi = 0;
		zero.inverted = true;
		test_range(c, &zero, p);
		return;
	}
	load_value(c, n, r);
	code_test(c, (struct filter_word){ .op = FILTER_TRUTH, .flag = r }, p);
}

static bool is_comparison(const struct filter_node *n)
{
	return n->kind == NODE_BINARY && n->op >= OP_LT && n->op <= OP_NE;
}

void code_condition(struct code *c, const struct filter_node *n, uint8_t r, struct places p)
{
	const struct filter_info *i = info_of(c, n);

	if (i->missing) {
		code_go(c, c->fail);
	} else if (i->constant) {
		bool holds = filter_truth(&i->value) == FILTER_HOLDS;

		if (holds != p.yes_follows)
			code_go(c, holds ? p.yes : p.no);
	} else if (i->range) {
		test_range(c, i, p);
	} else if (n->kind == NODE_LOGIC) {
		test_logic(c, n, r, p);
	} else if (n->kind == NODE_UNARY && n->op == OP_NOT) {
		code_condition(c, n->first, r, swap_places(p));
	} else if (is_comparison(n)) {
		test_comparison(c, n, r, p);
	} else {
		test_truth(c, n, r, p);
	}
}

/* ---- values ---- */

static void load_number(struct code *c, struct filter_value v, uint8_t r)
{
	code_put(c, (struct filter_word){ .op = FILTER_CONSTANT, .flag = r, .at = (uint32_t)v.type,
					  .a = (uint32_t)v.u, .b = (uint32_t)(v.u >> 32) });
}

/* Loads 1 or 0. */
static void load_condition(struct code *c, const struct filter_node *n, uint8_t r)
{
	struct label yes = { 0 }, no = { 0 }, end = { 0 };

	code_condition(c, n, r, (struct places){ &yes, &no, true });
	code_here(c, &yes);
	load_number(c, (struct filter_value){ .type = FILTER_SIGNED, .i = 1 }, r);
	code_go(c, &end);
	code_here(c, &no);
	load_number(c, (struct filter_value){ .type = FILTER_SIGNED, .i = 0 }, r);
	code_here(c, &end);
}

static void load_context(struct code *c, const struct filter_node *n, uint8_t r)
{
	struct filter_word w = { .op = FILTER_CONTEXT, .flag = r, .at = n->context };
	struct perf_counter counter;
	char numbers[40];

	if (n->context == TRAIL_CONTEXT_PERF) {
		/*
		 * The daemon has the table of names; the application gets the numbers for
		 * perf_event_open(2).
		 */
		if (perf_counter_find(n->text + n->context_name, n->text_length - n->context_name,
				      &counter))
			counter = (struct perf_counter){ UINT32_MAX, 0 };
		w.b = (uint32_t)snprintf(numbers, sizeof(numbers), "%x:%llx", counter.type,
					 (unsigned long long)counter.config);
		w.a = code_literal(c, numbers, w.b);
	} else if (n->context_name) {
		w.b = n->text_length - n->context_name;
		w.a = code_literal(c, n->text + n->context_name, w.b);
	}
	code_put(c, w);
}

static void load_operation(struct code *c, const struct filter_node *n, uint8_t r)
{
	static const uint8_t ops[OP_COUNT] = {
		[OP_MINUS] = FILTER_NEGATE, [OP_COMPLEMENT] = FILTER_COMPLEMENT,
		[OP_LEFT] = FILTER_LEFT, [OP_RIGHT] = FILTER_RIGHT,
		[OP_AND] = FILTER_AND, [OP_XOR] = FILTER_XOR, [OP_OR] = FILTER_OR,
	};
	struct filter_word w = { .op = ops[n->op], .flag = r, .a = r, .b = r };

	if (n->kind == NODE_BINARY)
		load_operands(c, n, r, &w);
	else
		load_value(c, n->first, r);
	if (n->op != OP_PLUS)
		code_put(c, w);
}

/* Loads a node's value into register r. */
static void load_value(struct code *c, const struct filter_node *n, uint8_t r)
{
	const struct filter_info *i = info_of(c, n);

	if (i->missing)
		code_go(c, c->fail);
	else if (i->constant)
		load_number(c, i->value, r);
	else if (n->kind == NODE_FIELD)
		load_field(c, n, r);
	else if (n->kind == NODE_CONTEXT)
		load_context(c, n, r);
	else if (n->kind == NODE_LOGIC || is_comparison(n) || n->op == OP_NOT)
		load_condition(c, n, r);
	else
		load_operation(c, n, r);
}
