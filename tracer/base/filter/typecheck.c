/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types, constants and places of fields, for one event. Reports clashes. See filter_bind in
 * filter/tree.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/base/filter/tree.h"
#include "tracer/base/context/kernel_context.h"

struct bind {
	const struct filter *f;
	const struct filter_event *e;
	struct filter_info *info;
	struct tr_err *err;
};

#define fail_clash(b, column, ...) \
	tr_fail_at((b)->err, -EINVAL, (b)->f->line, (int)(column), __VA_ARGS__)

static int bind_node(struct bind *b, const struct filter_node *n);

static struct filter_info *info_of(struct bind *b, const struct filter_node *n)
{
	return &b->info[n->id];
}

static bool is_int(enum filter_type t)
{
	return t == TYPE_SIGNED || t == TYPE_UNSIGNED;
}

static bool is_open(enum filter_type t)
{
	return t == TYPE_DYNAMIC || t == TYPE_UNKNOWN;
}

static enum filter_type type_of_value(int type)
{
	return type == FILTER_SIGNED ? TYPE_SIGNED : type == FILTER_UNSIGNED ? TYPE_UNSIGNED
	     : type == FILTER_FLOAT ? TYPE_FLOAT : TYPE_STRING;
}

static void set_missing(struct filter_info *i)
{
	i->constant = i->range = false;
	i->missing = i->fails = true;
}

static void set_constant(struct filter_info *i, struct filter_value v)
{
	i->type = type_of_value(v.type);
	i->constant = true;
	i->missing = i->fails = i->range = false;
	i->value = v;
}

static void set_truth(struct filter_info *i, bool v)
{
	set_constant(i, (struct filter_value){ .type = FILTER_SIGNED, .i = v });
}

/* ---- fields and contexts ---- */

/*
 * Finds the field with that name, as readers see names; a.b is member or option b of a. 1: found,
 * 0, -ENOMEM.
 */
static int find_field(const struct filter_event *e, const char *name, size_t len, uint32_t *out)
{
	struct md_buf shown = MD_BUF_INIT;
	uint32_t i, depth = 0, left[TRAIL_STRUCT_DEPTH];
	size_t prefix[TRAIL_STRUCT_DEPTH];
	bool found = false;

	for (i = 0; i < e->field_count && !found && !shown.failed; i++) {
		while (depth && !left[depth - 1])
			depth--;
		shown.len = 0;
		if (depth) {
			left[depth - 1]--;
			shown.len = prefix[depth - 1];
		}
		md_name_field(e->strings + e->fields[i].name, &shown);
		found = !shown.failed && shown.len == len && !memcmp(shown.data, name, len);
		*out = i;
		if ((e->fields[i].kind == TRAIL_KIND_STRUCT ||
		     e->fields[i].kind == TRAIL_KIND_VARIANT) && depth < TRAIL_STRUCT_DEPTH) {
			left[depth] = e->fields[i].count;
			md_buf_putc(&shown, '.');
			prefix[depth++] = shown.len;
		}
	}
	i = shown.failed;
	md_buf_deinit(&shown);
	return i ? -ENOMEM : found;
}

/* NAME[index] of an array or a sequence. */
static int bind_element(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct trail_reg_field *f = i->field;

	if (n->index_count > 1)
		return fail_clash(b, n->bracket[1],
			     "the elements of '%.*s' are numbers: they have no elements",
			     (int)n->name_length, n->text);
	i->type = f->flags & TRAIL_FIELD_FLOAT    ? TYPE_FLOAT
		  : f->flags & TRAIL_FIELD_SIGNED ? TYPE_SIGNED
						  : TYPE_UNSIGNED;
	/* Bytes after the end of a text are NUL in a payload, but undefined in a record. */
	i->opaque |= b->e->places && f->flags & TRAIL_FIELD_TEXT;
	if (f->kind == TRAIL_KIND_SEQUENCE) {
		i->fails = true;
		if (n->index > UINT32_MAX)
			set_missing(i);
	} else if (n->index >= f->count || i->at + n->index * f->size > INT32_MAX) {
		set_missing(i);
	} else {
		i->at += (uint32_t)n->index * f->size;
	}
	return 0;
}

/*
 * The length of the field's name in `a.b[3]`: up to the first bracket. 0: a name follows a bracket.
 */
static size_t path_length(const struct filter_node *n)
{
	size_t len = strcspn(n->text, "[");

	return strchr(n->text + len, '.') ? 0 : len;
}

static int bind_field(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct trail_reg_field *f;
	uint32_t k;
	int ret;

	set_missing(i);
	if (!b->e)
		return 0;
	ret = find_field(b->e, n->text, n->member ? path_length(n) : n->name_length, &k);
	if (ret < 0)
		return tr_fail(b->err, ret, "out of memory");
	if (!ret || !filter_locate(b->e, k, &i->anchor, &i->at))
		return 0;
	i->missing = i->fails = false;
	i->field = f = &b->e->fields[k];
	if (b->e->places && i->at == FILTER_OPAQUE) {
		i->opaque = true;
		i->at = 0;
	}
	if (f->kind == TRAIL_KIND_STRUCT || f->kind == TRAIL_KIND_VARIANT)
		return fail_clash(b, n->column, "'%s' is a %s, as in %s.x", n->text,
			     f->kind == TRAIL_KIND_STRUCT ? "structure; take one of its members"
							  : "variant; take one of its options",
			     n->text);
	i->variant = filter_variant(b->e, f);
	i->fails = i->variant;
	if (f->kind == TRAIL_KIND_ARRAY || f->kind == TRAIL_KIND_SEQUENCE) {
		if (n->index_count)
			return bind_element(b, n, i);
		if (!(f->flags & TRAIL_FIELD_TEXT))
			return fail_clash(b, n->column,
				     "'%s' is an array; take one of its elements, as in %s[0]",
				     n->text, n->text);
		i->type = TYPE_STRING;
		return 0;
	}
	if (n->index_count)
		return fail_clash(b, n->bracket[0], "'%.*s' is no array: it has no elements",
			     (int)n->name_length, n->text);
	i->type = f->kind == TRAIL_KIND_STRING    ? TYPE_STRING
		  : f->kind == TRAIL_KIND_FLOAT   ? TYPE_FLOAT
		  : f->flags & TRAIL_FIELD_SIGNED ? TYPE_SIGNED
						  : TYPE_UNSIGNED;
	return 0;
}

static int bind_context(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	size_t k;

	if (n->member) {
		set_missing(i);
		return 0;
	}
	if (n->index_count)
		return fail_clash(b, n->bracket[0], "a context is no array: it has no elements");
	i->fails = true;
	i->opaque = b->e && b->e->partial && !(b->e->contexts >> n->context & 1);
	i->type = n->context == TRAIL_CONTEXT_APP ? TYPE_DYNAMIC : TYPE_UNSIGNED;
	for (k = 0; k < FILTER_CONTEXTS; k++)
		if (filter_contexts[k].kind == n->context)
			i->type = type_of_value(filter_contexts[k].type);
	if (n->context >= TRAIL_CONTEXT_KINDS)
		i->type = type_of_value(kcontext_value_type(n->context));
	return 0;
}

/* ---- operators ---- */

static const char *type_name(enum filter_type t)
{
	return t == TYPE_STRING  ? "a string"
	       : t == TYPE_FLOAT ? "a floating point number"
				 : "an integer";
}

static int check_truth(struct bind *b, const struct filter_node *n)
{
	if (info_of(b, n)->type != TYPE_STRING)
		return 0;
	return fail_clash(b, n->column, "a string is not a truth value; compare it with == or !=");
}

static int bind_unary(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct filter_info *of = info_of(b, n->first);
	struct filter_value v;

	if (n->op == OP_NOT && check_truth(b, n->first))
		return -EINVAL;
	if (n->op != OP_NOT && !is_open(of->type) && !is_int(of->type) &&
	    (n->op == OP_COMPLEMENT || of->type == TYPE_STRING))
		return fail_clash(b, n->column, "'%s' needs %s, but this is %s",
			     filter_operator_names[n->op],
			     n->op == OP_COMPLEMENT ? "integers" : "numbers", type_name(of->type));
	i->fails = of->fails || of->type == TYPE_DYNAMIC;
	i->registers = of->registers;
	i->type = of->type;
	if (n->op == OP_NOT || (n->op == OP_MINUS && is_int(of->type)))
		i->type = TYPE_SIGNED;
	if (of->missing)
		set_missing(i);
	if (!of->constant)
		return 0;
	v = of->value;
	if (n->op == OP_NOT)
		set_truth(i, filter_truth(&v) == FILTER_HOLDS_NOT);
	else if (n->op == OP_PLUS ||
		 filter_operate(n->op == OP_MINUS ? FILTER_NEGATE : FILTER_COMPLEMENT, &v, &v, &v))
		set_constant(i, v);
	return 0;
}

static const uint8_t bit_ops[OP_COUNT] = {
	[OP_LEFT] = FILTER_LEFT, [OP_RIGHT] = FILTER_RIGHT, [OP_AND] = FILTER_AND,
	[OP_XOR] = FILTER_XOR, [OP_OR] = FILTER_OR,
};

static int bind_bits(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct filter_info *l = info_of(b, n->first), *r = info_of(b, n->last);
	bool shift = n->op == OP_LEFT || n->op == OP_RIGHT;
	struct filter_value v = { 0 };

	if ((!is_open(l->type) && !is_int(l->type)) || (!is_open(r->type) && !is_int(r->type)))
		return fail_clash(b, n->column, "'%s' needs integers, but its %s side is %s",
			     filter_operator_names[n->op],
			     is_open(l->type) || is_int(l->type) ? "right" : "left",
			     type_name(is_open(l->type) || is_int(l->type) ? r->type : l->type));
	/* A type that is not known yet counts as signed. */
	i->type = l->type == TYPE_UNSIGNED || (!shift && r->type == TYPE_UNSIGNED) ? TYPE_UNSIGNED
										   : TYPE_SIGNED;
	i->fails = l->fails || r->fails || l->type == TYPE_DYNAMIC || r->type == TYPE_DYNAMIC ||
		   (shift && !r->constant);
	if (l->missing || r->missing || (shift && r->constant && r->value.u > 63))
		set_missing(i);
	else if (l->constant && r->constant &&
		 filter_operate(bit_ops[n->op], &l->value, &r->value, &v))
		set_constant(i, v);
	return 0;
}

/* ---- comparisons ---- */

/* An integer field against an integer constant: computes the range of values for which it holds. */
static void bind_range(struct filter_info *i, const struct filter_info *field,
		       struct filter_value v, unsigned int relation)
{
	const struct trail_reg_field *f = field->field;
	bool is_signed = f->flags & TRAIL_FIELD_SIGNED;
	uint64_t most = UINT64_MAX >> (64 - 8 * f->size + is_signed);
	uint64_t least = is_signed ? ~most : 0, lo, hi;
	/* The constant is less, or more, than all values of the field. */
	bool minus = v.type == FILTER_SIGNED && v.i < 0;
	bool below = minus && (!is_signed || v.i < (int64_t)least), above = !minus && v.u > most;
	bool exact = relation & FILTER_EQUAL;

	i->inverted = relation == FILTER_UNEQUAL;
	if (below || above) {
		set_truth(i, relation & (below ? FILTER_GREATER : FILTER_LESS));
		return;
	}
	if (!i->inverted && !exact && v.u == (relation & FILTER_LESS ? least : most)) {
		set_truth(i, false);
		return;
	}
	lo = i->inverted ? v.u : relation & FILTER_LESS ? least : v.u + !exact;
	hi = i->inverted ? v.u : relation & FILTER_GREATER ? most : v.u - !exact;
	if (lo == least && hi == most) {
		set_truth(i, !i->inverted);
		return;
	}
	i->range = true;
	i->lo = lo;
	i->hi = hi;
	i->field = f;
	i->anchor = field->anchor;
	i->at = field->at;
}

/* An integer at a fixed place after an anchor. */
static bool is_plain_int(const struct filter_node *n, const struct filter_info *i)
{
	return n->kind == NODE_FIELD && is_int(i->type) && i->field->kind != TRAIL_KIND_SEQUENCE &&
	       i->field->kind != TRAIL_KIND_BITS && !i->variant;
}

static int bind_strings(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct filter_node *l = n->first, *r = n->last, *p = filter_is_pattern(l) ? l : r,
				 *s = p == l ? r : l;

	if (n->op != OP_EQ && n->op != OP_NE)
		return fail_clash(b, n->column,
			     "strings are compared with == and != only, not with '%s'",
			     filter_operator_names[n->op]);
	if (filter_is_pattern(l) && filter_is_pattern(r))
		return fail_clash(b, n->column, "both sides are patterns; a star itself is \\*");
	if (l->kind == NODE_STRING && r->kind == NODE_STRING)
		set_truth(i, filter_match_literals(p, s) == (n->op == OP_EQ));
	else if (filter_is_pattern(p) && p->text_length == 1 && !i->fails)
		set_truth(i, n->op == OP_EQ);
	return 0;
}

static bool is_bits(const struct filter_node *n)
{
	return (n->kind == NODE_BINARY && bit_ops[n->op]) ||
	       (n->kind == NODE_UNARY && n->op == OP_COMPLEMENT);
}

bool filter_compares_bits(const struct filter_node *n, const struct filter_info *l,
			  const struct filter_info *r)
{
	bool bits = is_bits(n->first) || is_bits(n->last);

	if (!bits || (n->op != OP_EQ && n->op != OP_NE) || (l->type == r->type && is_int(l->type)))
		return false;
	return (is_int(l->type) || is_bits(n->first)) && (is_int(r->type) || is_bits(n->last)) &&
	       !(l->constant && l->value.i >= 0) && !(r->constant && r->value.i >= 0);
}

/* Gives a constant the sign of what its bits are compared with. */
static void set_sign(struct filter_info *constant, const struct filter_info *other)
{
	constant->type = other->type;
	constant->value.type = other->type == TYPE_SIGNED ? FILTER_SIGNED : FILTER_UNSIGNED;
}

static int bind_compare(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	struct filter_info *l = info_of(b, n->first), *r = info_of(b, n->last);
	bool bits = filter_compares_bits(n, l, r);
	bool strings = l->type == TYPE_STRING || r->type == TYPE_STRING;
	int ret = 0;

	if (strings && l->type != r->type && !is_open(l->type) && !is_open(r->type))
		return fail_clash(b, n->column, "a string and a number cannot be compared");
	i->type = TYPE_SIGNED;
	i->fails = l->fails || r->fails || l->type == TYPE_DYNAMIC || r->type == TYPE_DYNAMIC;
	if (bits && r->constant && is_int(l->type))
		set_sign(r, l);
	else if (bits && l->constant && is_int(r->type))
		set_sign(l, r);
	if (strings)
		ret = bind_strings(b, n, i);
	else if (l->constant && r->constant)
		set_truth(i, filter_compare(&l->value, &r->value,
						 filter_relation(n->op, false)) == FILTER_HOLDS);
	else if (r->constant && r->value.type != FILTER_FLOAT && is_plain_int(n->first, l))
		bind_range(i, l, r->value, filter_relation(n->op, false));
	else if (l->constant && l->value.type != FILTER_FLOAT && is_plain_int(n->last, r))
		bind_range(i, r, l->value, filter_relation(n->op, true));
	if (l->missing || r->missing)
		set_missing(i);
	return ret;
}

static int bind_binary(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct filter_info *l = info_of(b, n->first), *r = info_of(b, n->last);
	uint8_t most = l->registers > r->registers ? l->registers : r->registers;

	i->registers = l->registers == r->registers ? (uint8_t)(most + 1) : most;
	return bit_ops[n->op] ? bind_bits(b, n, i) : bind_compare(b, n, i);
}

/*
 * Evaluates operands in order until one decides. An operand before that one that can fail must
 * still run.
 */
static void fold_logic(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	bool decides = n->op == OP_EITHER, kept = false;
	const struct filter_node *o;

	for (o = n->first; o; o = o->next) {
		const struct filter_info *of = info_of(b, o);
		bool holds = of->constant && filter_truth(&of->value) == FILTER_HOLDS;

		if (of->missing) {
			if (!kept)
				set_missing(i);
			i->fails = true;
			return;
		}
		if (of->constant && holds == decides) {
			if (!i->fails)
				set_truth(i, decides);
			return;
		}
		if (!of->constant) {
			kept = true;
			i->fails |= of->fails || of->type == TYPE_DYNAMIC;
		}
	}
	if (!kept)
		set_truth(i, !decides);
}

static int bind_logic(struct bind *b, const struct filter_node *n, struct filter_info *i)
{
	const struct filter_node *o;

	i->type = TYPE_SIGNED;
	i->registers = 1;
	for (o = n->first; o; o = o->next) {
		if (check_truth(b, o))
			return -EINVAL;
		if (info_of(b, o)->registers > i->registers)
			i->registers = info_of(b, o)->registers;
	}
	fold_logic(b, n, i);
	return 0;
}

static int bind_node(struct bind *b, const struct filter_node *n)
{
	struct filter_info *i = info_of(b, n);
	const struct filter_node *o;
	int ret;

	*i = (struct filter_info){ .registers = 1 };
	for (o = n->first; o; o = o->next) {
		ret = bind_node(b, o);
		if (ret)
			return ret;
	}
	switch (n->kind) {
	case NODE_NUMBER:
		set_constant(i, n->value);
		return 0;
	case NODE_STRING:
		i->type = TYPE_STRING;
		return 0;
	case NODE_FIELD:
		return bind_field(b, n, i);
	case NODE_CONTEXT:
		return bind_context(b, n, i);
	case NODE_UNARY:
		return bind_unary(b, n, i);
	case NODE_BINARY:
		return bind_binary(b, n, i);
	default:
		return bind_logic(b, n, i);
	}
}

int filter_bind(const struct filter *f, const struct filter_event *e, struct filter_info *info,
		struct tr_err *err)
{
	struct bind b = { f, e, info, err };
	int ret = bind_node(&b, f->root);

	return ret ? ret : check_truth(&b, f->root);
}
