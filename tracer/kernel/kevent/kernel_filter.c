// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/kevent/kernel_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/filter/tree.h"
#include "tracer/abi/module.h"

struct print {
	const struct kformat *format;
	const struct filter_event *event;
	const struct filter_info *info;
	struct md_buf *out;
	bool exact;                     /* no condition was left out */
};

/* An integer of the record. The trace has all of its bytes, or the lowest ones. */
struct operand {
	const char *name;               /* the kernel's */
	unsigned int size;
	bool is_signed;                 /* in the trace … */
	bool kernel_signed;             /* when the kernel compares it */
	bool narrow;                    /* the trace has only the lowest bytes */
};

static bool find_operand(const struct print *p, const struct filter_node *n, struct operand *o)
{
	const struct filter_info *i = &p->info[n->id];
	const struct kformat_field *f;

	if (n->kind == NODE_CONTEXT && n->context == TRAIL_CONTEXT_TID) {
		*o = (struct operand){ "common_pid", 4, true, true, false };
		return true;
	}
	if (n->kind != NODE_FIELD || i->missing || !i->field || n->index_count)
		return false;
	f = &p->format->fields[i->field - p->event->fields];
	/* The kernel compares the bytes of an item that it did not read. */
	if (f->kind != KFORMAT_INT || f->place != KFORMAT_FIXED || f->process || f->big_endian ||
	    f->item ||
	    f->to > f->from || f->from != f->size)
		return false;
	*o = (struct operand){ f->kernel_name, f->to, f->is_signed, f->extend, f->to < f->from };
	return true;
}

/* Whether a field of that type can have the constant, so that the kernel does not truncate it. */
static bool has_constant(const struct filter_info *i, const struct operand *o)
{
	const struct filter_value *v = &i->value;
	uint64_t most = UINT64_MAX >> (64 - 8 * o->size + o->is_signed);
	bool negative = v->type == FILTER_SIGNED && v->i < 0;

	if (!i->constant || (v->type != FILTER_SIGNED && v->type != FILTER_UNSIGNED))
		return false;
	return negative ? o->is_signed && v->i >= -(int64_t)most - 1 : v->u <= most;
}

static void print_constant(const struct filter_value *v, const struct operand *o,
			   struct md_buf *out)
{
	unsigned int unused = 64 - 8 * o->size;

	if (o->kernel_signed)
		md_buf_printf(out, "%" PRId64, (int64_t)(v->u << unused) >> unused);
	else
		md_buf_printf(out, "%" PRIu64, v->u << unused >> unused);
}

/* ---- narrow operands: the kernel's & is true if any of the bits is set ---- */

static void print_clear(const struct operand *o, uint64_t bits, struct md_buf *out)
{
	md_buf_printf(out, "!(%s & %" PRIu64 ")", o->name, bits);
}

/* Prints "the operand's bits of mask are those of c". */
static void print_equal(const struct operand *o, uint64_t c, uint64_t mask, struct md_buf *out)
{
	const char *between = "";

	md_buf_putc(out, '(');
	if (c != mask) {
		print_clear(o, mask & ~c, out);
		between = " && ";
	}
	for (uint64_t bit = 1; bit && bit <= mask; bit <<= 1) {
		if (!(c & bit))
			continue;
		md_buf_printf(out, "%s%s & %" PRIu64, between, o->name, bit);
		between = " && ";
	}
	md_buf_putc(out, ')');
}

/*
 * Prints "the operand is less than c", which is not 0. From the highest bit down: where c has a 1,
 * a 0 in the operand decides; where c has a 0, the operand must have a 0. `sign`: a bit that is
 * inverted in the operand, or 0.
 */
static void print_less(const struct operand *o, uint64_t c, uint64_t mask, uint64_t sign,
		       struct md_buf *out)
{
	uint64_t bit = mask ^ mask >> 1, run;
	unsigned int open = 1;

	md_buf_putc(out, '(');
	for (;;) {
		for (run = bit; run != sign && !(c & run) && !(c & bit >> 1); bit >>= 1)
			run |= bit >> 1;
		if (run == sign)
			md_buf_printf(out, "%s & %" PRIu64, o->name, run);
		else
			print_clear(o, run, out);
		/* Below the lowest 1 of c no operand is less. */
		if (c & bit && !(c & (bit - 1)))
			break;
		md_buf_puts(out, c & bit ? " || (" : " && (");
		open++;
		bit >>= 1;
	}
	while (open--)
		md_buf_putc(out, ')');
}

/* False: always true, or never. */
static bool print_narrow(const struct operand *o, int op, uint64_t c, struct md_buf *out)
{
	uint64_t mask = UINT64_MAX >> (64 - 8 * o->size),
		 sign = o->is_signed ? mask ^ mask >> 1 : 0;

	c &= mask;
	if (op == OP_NE || op == OP_GE || op == OP_GT)
		md_buf_putc(out, '!');
	if (op == OP_EQ || op == OP_NE) {
		print_equal(o, c, mask, out);
		return true;
	}
	c ^= sign;
	if (op == OP_LE || op == OP_GT)
		c = (c + 1) & mask;
	if (c)
		print_less(o, c, mask, sign, out);
	return c != 0;
}

/* ---- all operands ---- */

static bool print_comparison(struct print *p, const struct filter_node *n)
{
	static const struct { const char *name; int exchanged; } ops[OP_COUNT] = {
		[OP_LT] = { "<", OP_GT }, [OP_LE] = { "<=", OP_GE },
		[OP_GT] = { ">", OP_LT }, [OP_GE] = { ">=", OP_LE },
		[OP_EQ] = { "==", OP_EQ }, [OP_NE] = { "!=", OP_NE },
	};
	const struct filter_node *field = n->first, *other = n->last;
	int op = n->op;
	struct operand o;

	if (!ops[op].name)
		return false;
	if (!find_operand(p, field, &o)) {
		field = n->last;
		other = n->first;
		op = ops[op].exchanged;
		if (!find_operand(p, field, &o))
			return false;
	}
	if (!has_constant(&p->info[other->id], &o))
		return false;
	if (o.narrow)
		return print_narrow(&o, op, p->info[other->id].value.u, p->out);
	/* Equality does not depend on the sign; order does. */
	if (o.is_signed != o.kernel_signed && op != OP_EQ && op != OP_NE)
		return false;
	md_buf_printf(p->out, "%s %s ", o.name, ops[op].name);
	print_constant(&p->info[other->id].value, &o, p->out);
	return true;
}

static bool print_node(struct print *p, const struct filter_node *n);

static bool print_logic(struct print *p, const struct filter_node *n)
{
	bool both = n->op == OP_BOTH, any = false;
	size_t before;

	md_buf_putc(p->out, '(');
	for (const struct filter_node *o = n->first; o; o = o->next) {
		before = p->out->len;
		if (any)
			md_buf_puts(p->out, both ? " && " : " || ");
		if (print_node(p, o))
			any = true;
		else if (!both)
			return false;
		else {
			p->out->len = before;
			p->exact = false;
		}
	}
	md_buf_putc(p->out, ')');
	return any;
}

/* False: the kernel cannot evaluate the node; the caller cuts out to its old length. */
static bool print_node(struct print *p, const struct filter_node *n)
{
	return n->kind == NODE_LOGIC ? print_logic(p, n)
				     : n->kind == NODE_BINARY && print_comparison(p, n);
}

/* 1: printed; 0: nothing to print; -EINVAL: types clash for this event; -ENOMEM. */
static int print_filter(const struct filter *f, struct print *p)
{
	struct filter_info *info = calloc(f->node_count, sizeof(*info));
	int ret = info ? filter_bind(f, p->event, info, NULL) : -ENOMEM;

	p->info = info;
	if (!ret)
		ret = print_node(p, f->root);
	free(info);
	return ret;
}

bool kfilter_print(const struct filter *const *filters, size_t count, const struct kformat *f,
		   struct md_buf *out)
{
	struct filter_event event;
	struct print p = { .format = f, .event = &event, .out = out, .exact = true };
	size_t begin = out->len, before;
	bool whole = true;
	int one;

	kformat_filter_event(f, &event);
	for (size_t i = 0; i < count && whole; i++) {
		before = out->len;
		if (before > begin)
			md_buf_puts(out, " || ");
		one = print_filter(filters[i], &p);
		if (one == -EINVAL)
			out->len = before;
		else
			whole = one == 1;
	}
	if (!whole || out->failed || out->len - begin > KFILTER_MAX)
		out->len = begin;
	return p.exact && out->len > begin;
}

/* ---- programs ---- */

static uint8_t length_kind(const struct kformat_field *f)
{
	return f->place == KFORMAT_LOC       ? FILTER_LENGTH_LOC
	       : f->place == KFORMAT_REL_LOC ? FILTER_LENGTH_REL_LOC
					     : FILTER_LENGTH_REST;
}

/* Describes the text in the record: an array or a sequence. */
static void place_text(const struct kformat_field *f, struct trail_reg_field *r)
{
	bool fixed = f->place == KFORMAT_FIXED, cut = f->kind == KFORMAT_TEXT;

	r->size = 1;
	r->flags = TRAIL_FIELD_TEXT;
	r->kind = fixed ? TRAIL_KIND_ARRAY : TRAIL_KIND_SEQUENCE;
	r->length = fixed ? 0 : length_kind(f);
	/* A dynamic text that becomes an array loses its last byte to a NUL. */
	r->count = fixed ? f->count : cut ? f->count - 1 : 0;
}

/* Changes a field of the payload to one of the record; returns its offset there. */
static uint32_t place_field(const struct kformat_field *f, struct trail_reg_field *r)
{
	if (f->item)
		return FILTER_OPAQUE;
	switch (f->kind) {
	case KFORMAT_INT:
		if (f->process || (f->big_endian && f->from != f->to))
			return FILTER_OPAQUE;
		if (f->from < f->to && f->extend != f->is_signed)
			return FILTER_OPAQUE;
		if (f->from < f->to)
			r->size = f->from;
		return f->offset;
	case KFORMAT_ARRAY:
		return f->from == f->to ? f->offset : FILTER_OPAQUE;
	case KFORMAT_SEQUENCE:
		r->length = length_kind(f);
		r->count = 0;
		return f->from == f->to ? f->offset : FILTER_OPAQUE;
	case KFORMAT_TEXT:
	case KFORMAT_STRING:
		place_text(f, r);
		return f->offset;
	default:
		return FILTER_OPAQUE;
	}
}

/*
 * Leaves out filters whose types clash for the payload: some fields of the record have other types.
 */
static size_t filter_sound(const struct filter *const *filters, size_t count,
			 const struct filter_event *payload, const struct filter **out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (filter_check(filters[i], payload, NULL) != -EINVAL)
			out[n++] = filters[i];
	return n;
}

static void put_never(struct md_buf *out)
{
	uint8_t words[2][FILTER_WORD];

	filter_put_word(words[0], (struct filter_word){ .op = FILTER_HEADER, .at = 2,
							.a = FILTER_VERSION });
	filter_put_word(words[1], (struct filter_word){ .op = FILTER_RETURN });
	md_buf_put(out, words, sizeof(words));
}

bool kfilter_compile(const struct filter *const *filters, size_t count, const struct kformat *f,
		     struct md_buf *out)
{
	struct trail_reg_field fields[TRAIL_EVENT_FIELDS_MAX];
	uint32_t places[TRAIL_EVENT_FIELDS_MAX];
	const struct filter **sound = calloc(count + 1, sizeof(*sound));
	size_t begin = out->len;
	struct filter_event e;
	bool exact;
	int ret;

	if (!sound)
		return false;
	kformat_filter_event(f, &e);
	count = filter_sound(filters, count, &e, sound);
	for (uint32_t i = 0; i < e.field_count; i++) {
		fields[i] = e.fields[i];
		places[i] = place_field(&f->fields[i], &fields[i]);
	}
	e.fields = fields;
	e.places = places;
	e.partial = true;
	e.contexts = MODABI_FILTER_CONTEXTS;
	ret = filter_compile(sound, count, &e, out);
	exact = ret >= 0 && out->len - begin <= MODABI_PROGRAM_MAX;
	for (size_t i = 0; i < count && exact; i++)
		exact = filter_is_whole(sound[i], &e);
	if (ret || out->len - begin > MODABI_PROGRAM_MAX)
		out->len = begin;
	if (ret == 2)
		put_never(out);
	free(sound);
	return exact && !out->failed;
}
