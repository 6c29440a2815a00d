// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/expression.h"

#include <string.h>

#include "tracer/kernel/unwind/cursor.h"

#define DEPTH_MAX 16u

/* Operations (DWARF 4, section 7.7.1). Those that jump are left out: so an expression ends. */
enum {
	OP_ADDRESS = 0x03, OP_DEREFERENCE = 0x06, OP_CONST_1U = 0x08, OP_CONST_8S = 0x0f,
	OP_CONST_U = 0x10, OP_CONST_S = 0x11, OP_DUP = 0x12, OP_DROP = 0x13, OP_OVER = 0x14,
	OP_SWAP = 0x16, OP_AND = 0x1a, OP_MINUS = 0x1c, OP_NEG = 0x1f, OP_NOT = 0x20, OP_OR = 0x21,
	OP_PLUS = 0x22, OP_PLUS_U = 0x23, OP_SHL = 0x24, OP_SHR = 0x25, OP_XOR = 0x27, OP_EQ = 0x29,
	OP_GE = 0x2a, OP_GT = 0x2b, OP_LE = 0x2c, OP_LT = 0x2d, OP_NE = 0x2e,
	OP_LITERAL = 0x30, OP_REGISTER = 0x70, OP_REGISTER_LAST = 0x8f,
};

bool unwind_load(const struct unwind_input *in, uint64_t address, uint64_t *out, bool *cut)
{
	uint64_t at = address - in->sp;

	if (address < in->sp)
		return false;
	if (in->size < sizeof(*out) || at > in->size - sizeof(*out)) {
		*cut = true;
		return false;
	}
	memcpy(out, in->stack + at, sizeof(*out));
	return true;
}

struct machine {
	struct dwarf_cursor c;
	const struct unwind_input *in;
	uint64_t stack[DEPTH_MAX];
	uint32_t depth;
	bool *cut;
};

static bool push(struct machine *m, uint64_t v)
{
	if (m->depth == DEPTH_MAX)
		return false;
	m->stack[m->depth++] = v;
	return true;
}

/* Operations on the two values on top, of which the lower one comes first. */
static bool run_binary(struct machine *m, uint8_t code)
{
	uint64_t x, y, v;

	if (m->depth < 2)
		return false;
	y = m->stack[--m->depth];
	x = m->stack[--m->depth];
	switch (code) {
	case OP_AND: v = x & y; break;
	case OP_MINUS: v = x - y; break;
	case OP_OR: v = x | y; break;
	case OP_PLUS: v = x + y; break;
	case OP_SHL: v = y < 64 ? x << y : 0; break;
	case OP_SHR: v = y < 64 ? x >> y : 0; break;
	case OP_XOR: v = x ^ y; break;
	case OP_EQ: v = x == y; break;
	case OP_NE: v = x != y; break;
	case OP_GE: v = (int64_t)x >= (int64_t)y; break;
	case OP_GT: v = (int64_t)x > (int64_t)y; break;
	case OP_LE: v = (int64_t)x <= (int64_t)y; break;
	case OP_LT: v = (int64_t)x < (int64_t)y; break;
	default: return false;
	}
	return push(m, v);
}

/* Operations on values that are there already. */
static bool run_stack(struct machine *m, uint8_t code)
{
	uint64_t *top, v;

	if (!m->depth)
		return false;
	top = &m->stack[m->depth - 1];
	switch (code) {
	case OP_DEREFERENCE:
		return unwind_load(m->in, *top, top, m->cut);
	case OP_DUP:
		return push(m, *top);
	case OP_DROP:
		m->depth--;
		return true;
	case OP_NEG:
		*top = -*top;
		return true;
	case OP_NOT:
		*top = ~*top;
		return true;
	case OP_PLUS_U:
		*top += dwarf_uleb(&m->c);
		return true;
	case OP_OVER:
		return m->depth > 1 && push(m, top[-1]);
	case OP_SWAP:
		if (m->depth < 2)
			return false;
		v = top[-1];
		top[-1] = *top;
		*top = v;
		return true;
	default:
		return run_binary(m, code);
	}
}

static bool run_register(struct machine *m, uint8_t number)
{
	const struct unwind_input *in = m->in;
	uint64_t offset = (uint64_t)dwarf_sleb(&m->c);

	/* Numbers of registers in DWARF for AMD64. */
	switch (number) {
	case 3: return push(m, in->bx + offset);
	case 6: return push(m, in->bp + offset);
	case 7: return push(m, in->sp + offset);
	case 16: return push(m, in->ip + offset);
	default: return false;
	}
}

static bool run_one(struct machine *m)
{
	struct dwarf_cursor *c = &m->c;
	uint8_t code = (uint8_t)dwarf_number(c, 1);
	unsigned int bytes;

	if (code >= OP_CONST_1U && code <= OP_CONST_8S) {
		bytes = 1u << ((code - OP_CONST_1U) / 2);
		return push(m, code & 1 ? (uint64_t)dwarf_signed(c, bytes)
					: dwarf_number(c, bytes));
	}
	if (code >= OP_LITERAL && code < OP_LITERAL + 32)
		return push(m, code - OP_LITERAL);
	if (code >= OP_REGISTER && code <= OP_REGISTER_LAST)
		return run_register(m, code - OP_REGISTER);
	switch (code) {
	case OP_ADDRESS: return push(m, dwarf_number(c, 8));
	case OP_CONST_U: return push(m, dwarf_uleb(c));
	case OP_CONST_S: return push(m, (uint64_t)dwarf_sleb(c));
	default: return run_stack(m, code);
	}
}

bool expression_run(const uint8_t *bytes, size_t size, const struct unwind_input *in,
		    const uint64_t *pushed, uint64_t *out, bool *cut)
{
	struct machine m = { .c = { bytes, bytes + size, false }, .in = in, .cut = cut };

	if (pushed)
		push(&m, *pushed);
	while (m.c.at < m.c.end)
		if (!run_one(&m) || m.c.failed)
			return false;
	if (!m.depth)
		return false;
	*out = m.stack[m.depth - 1];
	return true;
}
