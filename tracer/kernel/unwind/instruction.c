// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/instruction.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"

#define ROWS_MAX 8000000u
#define RULES_MAX 65536u
#define EXPRESSIONS_MAX 65536u  /* bytes */
#define DEPTH_MAX 16u           /* states that are remembered at once */

/* Numbers of registers in DWARF for AMD64 */
enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_IP = DWARF_RETURN };

/* Instructions (DWARF 4, section 7.23); the first three have an operand in their low six bits. */
enum {
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00, CFA_ADVANCE_1 = 0x02, CFA_ADVANCE_2 = 0x03,
	CFA_ADVANCE_4 = 0x04, CFA_OFFSET_LONG = 0x05, CFA_RESTORE_LONG = 0x06,
	CFA_UNDEFINED = 0x07, CFA_SAME = 0x08, CFA_REGISTER = 0x09, CFA_REMEMBER = 0x0a,
	CFA_RECALL = 0x0b, CFA_DEFINE = 0x0c, CFA_DEFINE_REGISTER = 0x0d,
	CFA_DEFINE_OFFSET = 0x0e, CFA_DEFINE_EXPRESSION = 0x0f, CFA_EXPRESSION = 0x10,
	CFA_OFFSET_SIGNED = 0x11, CFA_DEFINE_SIGNED = 0x12, CFA_DEFINE_OFFSET_SIGNED = 0x13,
	CFA_VALUE_OFFSET = 0x14, CFA_VALUE_OFFSET_SIGNED = 0x15, CFA_VALUE_EXPRESSION = 0x16,
	CFA_ARGUMENTS = 0x2e,
};

/* ---- rules ---- */

static uint32_t add_rule(struct rule_writer *w, const struct unwind_rule *rule)
{
	struct unwind_table *t = w->t;
	uint64_t hash = hash_bytes(HASH_START, rule, sizeof(*rule));
	uint32_t *head = &w->heads[hash & (RULE_BUCKETS - 1)];

	for (uint32_t i = *head; i; i = w->next[i - 1])
		if (!memcmp(&t->rules[i - 1], rule, sizeof(*rule)))
			return i - 1;
	if (t->rule_count >= RULES_MAX)
		return 0;
	if (!array_double(t->rules, t->rule_count) || !array_double(w->next, t->rule_count)) {
		w->failed = true;
		return 0;
	}
	t->rules[t->rule_count] = *rule;
	w->next[t->rule_count] = *head;
	*head = (uint32_t)++t->rule_count;
	return *head - 1;
}

/* From this address on there is this rule (0: none), until the next row. */
static void add_row(struct rule_writer *w, uint64_t address, uint32_t rule)
{
	struct unwind_table *t = w->t;
	uint64_t at = address - t->base;
	struct unwind_row *last = t->row_count ? &t->rows[t->row_count - 1] : NULL;

	if (at > UINT32_MAX || (last && at < last->at))
		return;
	if (last && at == last->at) {
		last->rule = rule;
		return;
	}
	if (last ? last->rule == rule : !rule)
		return;
	if (t->row_count >= ROWS_MAX || !array_double(t->rows, t->row_count)) {
		w->failed = true;
		return;
	}
	t->rows[t->row_count++] = (struct unwind_row){ (uint32_t)at, rule };
}

static bool set_place(struct unwind_place *p, enum unwind_from from, int64_t value)
{
	/* The padding is zero: rules are compared by their bytes. */
	memset(p, 0, sizeof(*p));
	p->from = (uint8_t)from;
	p->value = (int32_t)value;
	return value == p->value;
}

static void add_state(struct rule_writer *w, uint64_t address, bool signal,
		      const struct frame_state *s)
{
	struct unwind_rule rule;
	bool ok = true;

	memset(&rule, 0, sizeof(rule));
	if (s->computed.from)
		rule.cfa = s->computed;
	else
		ok = set_place(&rule.cfa,
			       s->base == REG_SP   ? FROM_SP
			       : s->base == REG_BP ? FROM_BP
			       : s->base == REG_BX ? FROM_BX
						   : FROM_NOWHERE,
			       s->offset);
	rule.ip = s->ip;
	rule.bp = s->bp;
	rule.bx = s->bx;
	rule.signal = signal;
	add_row(w, address, ok && rule.cfa.from ? add_rule(w, &rule) : 0);
}

/* ---- instructions ---- */

/* Keeps an expression, which the cursor is at; false: it does not fit. */
static bool take_expression(struct rule_writer *w, struct dwarf_cursor *c, struct unwind_place *out)
{
	struct md_buf *all = &w->t->expressions;
	uint64_t n = dwarf_uleb(c);
	char bytes[2 + 255], *found;

	if (n > 255 || !dwarf_has(c, n))
		return false;
	bytes[0] = (char)n;
	memcpy(bytes + 1, c->at, n);
	c->at += n;
	found = all->len ? memmem(all->data, all->len, bytes, n + 1) : NULL;
	if (found)
		return set_place(out, FROM_EXPRESSION, found - all->data);
	if (all->len + n + 1 > EXPRESSIONS_MAX)
		return false;
	set_place(out, FROM_EXPRESSION, (int64_t)all->len);
	md_buf_put(all, bytes, n + 1);
	return !all->failed;
}

/* Of the registers that are followed; others are passed over. */
static bool set_saved(struct frame_state *s, uint64_t reg, enum unwind_from from, int64_t value)
{
	switch (reg) {
	case REG_IP: return set_place(&s->ip, from, value);
	case REG_BP: return set_place(&s->bp, from, value);
	case REG_BX: return set_place(&s->bx, from, value);
	default: return true;
	}
}

static void restore(struct frame_state *s, const struct frame_state *first, uint64_t reg)
{
	switch (reg) {
	case REG_IP: s->ip = first->ip; break;
	case REG_BP: s->bp = first->bp; break;
	case REG_BX: s->bx = first->bx; break;
	}
}

static void define(struct frame_state *s, uint64_t base, int64_t offset)
{
	s->base = base;
	s->offset = offset;
	set_place(&s->computed, FROM_NOWHERE, 0);
}

struct run {                            /* of the instructions of an entry */
	struct rule_writer *w;
	const struct frame_common *common;
	struct dwarf_cursor c;
	uint64_t at;
	struct frame_state now, saved[DEPTH_MAX];
	uint32_t depth;
};

static int64_t scaled(const struct run *x, int64_t factor)
{
	/* Unsigned: the numbers may be any. */
	return (int64_t)((uint64_t)factor * (uint64_t)x->common->data_unit);
}

static bool advance(struct run *x, uint64_t units)
{
	add_state(x->w, x->at, x->common->signal, &x->now);
	x->at += units * x->common->code_unit;
	return true;
}

/* Instructions about the frame's address. False: the entry cannot be understood from here on. */
static bool run_define(struct run *x, uint8_t code)
{
	struct dwarf_cursor *c = &x->c;
	struct frame_state *s = &x->now;
	uint64_t reg;

	switch (code) {
	case CFA_DEFINE:
		reg = dwarf_uleb(c);
		define(s, reg, (int64_t)dwarf_uleb(c));
		return true;
	case CFA_DEFINE_SIGNED:
		reg = dwarf_uleb(c);
		define(s, reg, scaled(x, dwarf_sleb(c)));
		return true;
	case CFA_DEFINE_REGISTER:
		define(s, dwarf_uleb(c), s->offset);
		return true;
	case CFA_DEFINE_OFFSET:
		define(s, s->base, (int64_t)dwarf_uleb(c));
		return true;
	case CFA_DEFINE_OFFSET_SIGNED:
		define(s, s->base, scaled(x, dwarf_sleb(c)));
		return true;
	case CFA_DEFINE_EXPRESSION:
		return take_expression(x->w, c, &s->computed);
	default:
		return false;
	}
}

static bool run_expression(struct run *x, bool value)
{
	uint64_t reg = dwarf_uleb(&x->c);
	struct unwind_place p;

	if (!take_expression(x->w, &x->c, &p))
		return false;
	return value ? set_saved(&x->now, reg, FROM_NOWHERE, 0)
		     : set_saved(&x->now, reg, FROM_EXPRESSION, p.value);
}

/* Instructions about registers. */
static bool run_register(struct run *x, uint8_t code)
{
	struct dwarf_cursor *c = &x->c;
	struct frame_state *s = &x->now;
	uint64_t reg;

	switch (code) {
	case CFA_OFFSET_LONG:
		reg = dwarf_uleb(c);
		return set_saved(s, reg, FROM_CFA, scaled(x, (int64_t)dwarf_uleb(c)));
	case CFA_OFFSET_SIGNED:
		reg = dwarf_uleb(c);
		return set_saved(s, reg, FROM_CFA, scaled(x, dwarf_sleb(c)));
	case CFA_RESTORE_LONG:
		restore(s, &x->common->first, dwarf_uleb(c));
		return true;
	case CFA_UNDEFINED:
		return set_saved(s, dwarf_uleb(c), FROM_NOWHERE, 0);
	case CFA_SAME:
		return set_saved(s, dwarf_uleb(c), FROM_SAME, 0);
	case CFA_REGISTER:
	case CFA_VALUE_OFFSET:
	case CFA_VALUE_OFFSET_SIGNED:
		/* Compilers do not write these for registers that are followed. */
		reg = dwarf_uleb(c);
		dwarf_uleb(c);
		return set_saved(s, reg, FROM_NOWHERE, 0);
	case CFA_EXPRESSION:
	case CFA_VALUE_EXPRESSION:
		return run_expression(x, code == CFA_VALUE_EXPRESSION);
	default:
		return run_define(x, code);
	}
}

static bool run_one(struct run *x)
{
	struct dwarf_cursor *c = &x->c;
	uint8_t code = (uint8_t)dwarf_number(c, 1), low = code & 0x3f;

	switch (code & 0xc0) {
	case CFA_ADVANCE:
		return advance(x, low);
	case CFA_OFFSET:
		return set_saved(&x->now, low, FROM_CFA, scaled(x, (int64_t)dwarf_uleb(c)));
	case CFA_RESTORE:
		restore(&x->now, &x->common->first, low);
		return true;
	}
	switch (code) {
	case CFA_NOP:
		return true;
	case CFA_ARGUMENTS:
		dwarf_uleb(c);
		return true;
	case CFA_ADVANCE_1:
	case CFA_ADVANCE_2:
	case CFA_ADVANCE_4:
		return advance(x, dwarf_number(c, 1u << (code - CFA_ADVANCE_1)));
	case CFA_REMEMBER:
		if (x->depth == DEPTH_MAX)
			return false;
		x->saved[x->depth++] = x->now;
		return true;
	case CFA_RECALL:
		if (!x->depth)
			return false;
		x->now = x->saved[--x->depth];
		return true;
	default:
		return run_register(x, code);
	}
}

/* ---- entries ---- */

void rule_writer_init(struct rule_writer *w, struct unwind_table *t)
{
	static const struct unwind_rule none;

	*w = (struct rule_writer){ .t = t };
	add_rule(w, &none);
}

void rule_writer_deinit(struct rule_writer *w)
{
	free(w->next);
}

bool frame_run_first(struct rule_writer *w, struct frame_common *common, struct dwarf_cursor c)
{
	struct run x = { .w = w, .common = common, .c = c };

	set_place(&common->first.bp, FROM_SAME, 0);
	set_place(&common->first.bx, FROM_SAME, 0);
	x.now = common->first;
	while (x.c.at < x.c.end)
		if (*x.c.at >> 6 == CFA_ADVANCE >> 6 || !run_one(&x) || x.c.failed)
			return false;
	common->first = x.now;
	return true;
}

void frame_run(struct rule_writer *w, const struct frame_common *common, struct dwarf_cursor c,
	       uint64_t from, uint64_t end)
{
	struct run x = { .w = w, .common = common, .c = c, .at = from, .now = common->first };
	bool ok = true;

	while (ok && !w->failed && x.c.at < x.c.end && x.at < end)
		ok = run_one(&x) && !x.c.failed && x.at >= from;
	if (ok && x.at < end)
		add_state(w, x.at, common->signal, &x.now);
	else if (!ok && x.at >= from && x.at < end)
		add_row(w, x.at, 0);
	add_row(w, end, 0);
}
