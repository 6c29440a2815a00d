// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/frame_info.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/kernel/unwind/cursor.h"

#define ENTRIES_MAX 4000000u
#define ROWS_MAX 8000000u
#define RULES_MAX 65536u
#define EXPRESSIONS_MAX 65536u  /* bytes */
#define BUCKETS 4096u           /* a power of two */
#define DEPTH_MAX 16u           /* states that are remembered at once */

/* Numbers of registers in DWARF for AMD64 */
enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_IP = 16 };

/* How a pointer is written (Linux Standard Base, table 10.5): four bits of form, three of base. */
enum {
	FORM_POINTER = 0x00, FORM_ULEB = 0x01, FORM_2 = 0x02, FORM_4 = 0x03, FORM_8 = 0x04,
	FORM_SLEB = 0x09, FORM_S2 = 0x0a, FORM_S4 = 0x0b, FORM_S8 = 0x0c,
	BASE_HERE = 0x10, BASE_MASK = 0x70, POINTER_OMITTED = 0xff,
};

/* Instructions (DWARF 4, section 7.23); the first three have an operand in their low six bits. */
enum {
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00, CFA_SET_LOC = 0x01, CFA_ADVANCE_1 = 0x02, CFA_ADVANCE_2 = 0x03,
	CFA_ADVANCE_4 = 0x04, CFA_OFFSET_LONG = 0x05, CFA_RESTORE_LONG = 0x06,
	CFA_UNDEFINED = 0x07, CFA_SAME = 0x08, CFA_REGISTER = 0x09, CFA_REMEMBER = 0x0a,
	CFA_RECALL = 0x0b, CFA_DEFINE = 0x0c, CFA_DEFINE_REGISTER = 0x0d,
	CFA_DEFINE_OFFSET = 0x0e, CFA_DEFINE_EXPRESSION = 0x0f, CFA_EXPRESSION = 0x10,
	CFA_OFFSET_SIGNED = 0x11, CFA_DEFINE_SIGNED = 0x12, CFA_DEFINE_OFFSET_SIGNED = 0x13,
	CFA_VALUE_OFFSET = 0x14, CFA_VALUE_OFFSET_SIGNED = 0x15, CFA_VALUE_EXPRESSION = 0x16,
	CFA_ARGUMENTS = 0x2e,
};

struct state {                          /* at an address */
	uint64_t base;                  /* register that the CFA is relative to */
	int64_t offset;
	struct unwind_place computed;   /* FROM_EXPRESSION: the CFA instead */
	struct unwind_place ip, bp, bx;
};

struct common {                         /* a Common Information Entry */
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t form;                   /* of addresses in its entries */
	bool signal, augmented;
	struct state first;
};

struct entry {                          /* a Frame Description Entry */
	uint64_t from, size;
	uint32_t common, at, end;       /* offsets of the CIE, of the instructions, and their end */
};

struct reader {
	struct unwind_table *t;
	const uint8_t *section;
	size_t size;
	uint64_t address;
	struct entry *entries;
	size_t count;
	uint32_t common_at;             /* which `common` is; UINT32_MAX: none */
	bool common_ok;
	struct common common;
	uint32_t heads[BUCKETS], *next; /* rules by hash: index + 1 */
	bool failed;                    /* no memory, or too many */
};

/* ---- rules ---- */

static uint32_t add_rule(struct reader *r, const struct unwind_rule *rule)
{
	struct unwind_table *t = r->t;
	uint32_t *head = &r->heads[hash_bytes(HASH_START, rule, sizeof(*rule)) & (BUCKETS - 1)];

	for (uint32_t i = *head; i; i = r->next[i - 1])
		if (!memcmp(&t->rules[i - 1], rule, sizeof(*rule)))
			return i - 1;
	if (t->rule_count >= RULES_MAX)
		return 0;
	if (!array_double(t->rules, t->rule_count) || !array_double(r->next, t->rule_count)) {
		r->failed = true;
		return 0;
	}
	t->rules[t->rule_count] = *rule;
	r->next[t->rule_count] = *head;
	*head = (uint32_t)++t->rule_count;
	return *head - 1;
}

static void add_row(struct reader *r, uint64_t address, uint32_t rule)
{
	struct unwind_table *t = r->t;
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
		r->failed = true;
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

static void add_state(struct reader *r, uint64_t address, const struct state *s)
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
	rule.signal = r->common.signal;
	add_row(r, address, ok && rule.cfa.from ? add_rule(r, &rule) : 0);
}

/* ---- instructions ---- */

/* Keeps an expression, which the cursor is at; false: it does not fit. */
static bool take_expression(struct reader *r, struct dwarf_cursor *c, struct unwind_place *out)
{
	struct md_buf *all = &r->t->expressions;
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
static bool set_saved(struct state *s, uint64_t reg, enum unwind_from from, int64_t value)
{
	switch (reg) {
	case REG_IP: return set_place(&s->ip, from, value);
	case REG_BP: return set_place(&s->bp, from, value);
	case REG_BX: return set_place(&s->bx, from, value);
	default: return true;
	}
}

static void restore(struct state *s, const struct state *first, uint64_t reg)
{
	switch (reg) {
	case REG_IP: s->ip = first->ip; break;
	case REG_BP: s->bp = first->bp; break;
	case REG_BX: s->bx = first->bx; break;
	}
}

static void define(struct state *s, uint64_t base, int64_t offset)
{
	s->base = base;
	s->offset = offset;
	set_place(&s->computed, FROM_NOWHERE, 0);
}

struct run {                            /* of the instructions of an entry */
	struct reader *r;
	struct dwarf_cursor c;
	uint64_t at;
	struct state now, saved[DEPTH_MAX];
	uint32_t depth;
};

static int64_t scaled(const struct run *x, int64_t factor)
{
	/* Unsigned: the numbers may be any. */
	return (int64_t)((uint64_t)factor * (uint64_t)x->r->common.data_unit);
}

static bool advance(struct run *x, uint64_t units)
{
	add_state(x->r, x->at, &x->now);
	x->at += units * x->r->common.code_unit;
	return true;
}

/* Instructions about the frame's address. False: the entry cannot be understood from here on. */
static bool run_define(struct run *x, uint8_t code)
{
	struct dwarf_cursor *c = &x->c;
	struct state *s = &x->now;
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
		return take_expression(x->r, c, &s->computed);
	default:
		return false;
	}
}

static bool run_expression(struct run *x, bool value)
{
	uint64_t reg = dwarf_uleb(&x->c);
	struct unwind_place p;

	if (!take_expression(x->r, &x->c, &p))
		return false;
	return value ? set_saved(&x->now, reg, FROM_NOWHERE, 0)
		     : set_saved(&x->now, reg, FROM_EXPRESSION, p.value);
}

/* Instructions about registers. */
static bool run_register(struct run *x, uint8_t code)
{
	struct dwarf_cursor *c = &x->c;
	struct state *s = &x->now;
	uint64_t reg;

	switch (code) {
	case CFA_OFFSET_LONG:
		reg = dwarf_uleb(c);
		return set_saved(s, reg, FROM_CFA, scaled(x, (int64_t)dwarf_uleb(c)));
	case CFA_OFFSET_SIGNED:
		reg = dwarf_uleb(c);
		return set_saved(s, reg, FROM_CFA, scaled(x, dwarf_sleb(c)));
	case CFA_RESTORE_LONG:
		restore(s, &x->r->common.first, dwarf_uleb(c));
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

static uint64_t read_pointer(const struct reader *r, struct dwarf_cursor *c, uint8_t form);

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
		restore(&x->now, &x->r->common.first, low);
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
	case CFA_SET_LOC:
		advance(x, 0);
		x->at = read_pointer(x->r, c, x->r->common.form);
		return true;
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

/* A pointer in one of the forms; *c fails for a form that files for this machine do not have. */
static uint64_t read_pointer(const struct reader *r, struct dwarf_cursor *c, uint8_t form)
{
	uint64_t here = r->address + (uint64_t)(c->at - r->section), v = 0;

	switch (form & 0x0f) {
	case FORM_POINTER:
	case FORM_8:
	case FORM_S8:
		v = dwarf_number(c, 8);
		break;
	case FORM_ULEB:
		v = dwarf_uleb(c);
		break;
	case FORM_SLEB:
		v = (uint64_t)dwarf_sleb(c);
		break;
	case FORM_2:
	case FORM_4:
		v = dwarf_number(c, (form & 0x0f) == FORM_2 ? 2 : 4);
		break;
	case FORM_S2:
	case FORM_S4:
		v = (uint64_t)dwarf_signed(c, (form & 0x0f) == FORM_S2 ? 2 : 4);
		break;
	default:
		c->failed = true;
	}
	if ((form & BASE_MASK) == BASE_HERE)
		v += here;
	else if (form & BASE_MASK)
		c->failed = true;
	return v;
}

/* Begins a record at *at: the cursor is after its length; *at is moved to the next one. */
static bool next_record(const struct reader *r, uint32_t *at, struct dwarf_cursor *out)
{
	struct dwarf_cursor c = { r->section + *at, r->section + r->size, false };
	uint64_t n = dwarf_number(&c, 4);

	if (n == UINT32_MAX)
		n = dwarf_number(&c, 8);
	/* A length of 0 ends the section. */
	if (!n || !dwarf_has(&c, n))
		return false;
	*out = (struct dwarf_cursor){ c.at, c.at + n, false };
	*at = (uint32_t)(out->end - r->section);
	return true;
}

/* What the letters of an augmentation say; false: one is not known. */
static bool read_augmentation(const struct reader *r, struct dwarf_cursor *c, const char *letters,
			      struct common *out)
{
	uint8_t form;

	for (; *letters; letters++)
		switch (*letters) {
		case 'R':
			out->form = (uint8_t)dwarf_number(c, 1);
			break;
		case 'P':
			form = (uint8_t)dwarf_number(c, 1);
			/* The lowest bits are the form, whatever the base is. */
			read_pointer(r, c, form & 0x0f);
			break;
		case 'L':
			dwarf_number(c, 1);
			break;
		case 'S':
			out->signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	return true;
}

static bool read_common(struct reader *r, uint32_t at, struct common *out)
{
	struct run x = { .r = r };
	struct dwarf_cursor *c = &x.c;
	const char *letters;
	uint64_t version, size = 0;

	memset(out, 0, sizeof(*out));
	out->first.bp.from = out->first.bx.from = FROM_SAME;
	if (!next_record(r, &at, c) || dwarf_number(c, 4) != 0)
		return false;
	version = dwarf_number(c, 1);
	letters = (const char *)c->at;
	if (c->failed || (version != 1 && version != 3) || !memchr(letters, 0, (size_t)(c->end - c->at)))
		return false;
	c->at += strlen(letters) + 1;
	out->code_unit = dwarf_uleb(c);
	out->data_unit = dwarf_sleb(c);
	if ((version == 1 ? dwarf_number(c, 1) : dwarf_uleb(c)) != REG_IP)
		return false;
	if (*letters) {
		if (*letters != 'z')
			return false;
		out->augmented = true;
		size = dwarf_uleb(c);
		if (!dwarf_has(c, size))
			return false;
		x.c.end = c->at + size;
		if (!read_augmentation(r, c, letters + 1, out) || c->failed)
			return false;
		c->at = x.c.end;
		c->end = r->section + at;
	}
	x.now = out->first;
	r->common = *out;
	while (c->at < c->end)
		if (*c->at >> 6 == CFA_ADVANCE >> 6 || !run_one(&x) || c->failed)
			return false;
	out->first = x.now;
	return true;
}

static bool find_common(struct reader *r, uint32_t at)
{
	struct common c;

	if (r->common_at != at) {
		r->common_at = at;
		r->common_ok = read_common(r, at, &c);
		r->common = c;
	}
	return r->common_ok;
}

/* The entry of a record; false: it is none, or cannot be understood. */
static bool read_entry(struct reader *r, struct dwarf_cursor *c, struct entry *out)
{
	uint64_t here = (uint64_t)(c->at - r->section), back = dwarf_number(c, 4), n;

	if (!back || back > here || !find_common(r, (uint32_t)(here - back)))
		return false;
	out->common = (uint32_t)(here - back);
	out->from = read_pointer(r, c, r->common.form);
	out->size = read_pointer(r, c, r->common.form & 0x0f);
	if (r->common.augmented) {
		n = dwarf_uleb(c);
		if (!dwarf_has(c, n))
			return false;
		c->at += n;
	}
	out->at = (uint32_t)(c->at - r->section);
	out->end = (uint32_t)(c->end - r->section);
	/* (The linker leaves entries of code that it removed, at address 0.) */
	return !c->failed && out->from && out->size && out->from + out->size > out->from;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static void find_entries(struct reader *r)
{
	struct dwarf_cursor c;
	struct entry e;

	for (uint32_t at = 0; !r->failed && next_record(r, &at, &c);) {
		if (!read_entry(r, &c, &e))
			continue;
		r->failed = r->count >= ENTRIES_MAX || !array_double(r->entries, r->count);
		if (!r->failed)
			r->entries[r->count++] = e;
	}
	if (r->count)
		qsort(r->entries, r->count, sizeof(*r->entries), compare_entries);
}

static void run_entry(struct reader *r, const struct entry *e)
{
	struct run x = { .r = r, .at = e->from,
			 .c = { r->section + e->at, r->section + e->end, false } };
	uint64_t end = e->from + e->size;
	bool ok = find_common(r, e->common);

	x.now = r->common.first;
	while (ok && !r->failed && x.c.at < x.c.end && x.at < end)
		ok = run_one(&x) && !x.c.failed && x.at >= e->from;
	if (ok && x.at < end)
		add_state(r, x.at, &x.now);
	else if (!ok && x.at >= e->from && x.at < end)
		add_row(r, x.at, 0);
	add_row(r, end, 0);
}

bool frame_info_read(struct unwind_table *t, const uint8_t *section, size_t size, uint64_t address)
{
	struct reader *r = calloc(1, sizeof(*r));
	static const struct unwind_rule none;
	bool ok;

	if (!r)
		return false;
	*r = (struct reader){ .t = t, .section = section, .address = address,
			      .size = size < UINT32_MAX ? size : 0, .common_at = UINT32_MAX };
	/* Rule 0 is none. */
	add_rule(r, &none);
	find_entries(r);
	t->base = r->count ? r->entries[0].from : 0;
	for (size_t i = 0; i < r->count && !r->failed; i++)
		run_entry(r, &r->entries[i]);
	ok = !r->failed;
	free(r->entries);
	free(r->next);
	free(r);
	return ok;
}
