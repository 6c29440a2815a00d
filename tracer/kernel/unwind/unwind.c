// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/unwind.h"

#include "tracer/kernel/unwind/expression.h"
#include "tracer/kernel/unwind/space.h"

static bool run(const struct unwind_table *t, struct unwind_place p, const struct unwind_input *in,
		const uint64_t *pushed, uint64_t *out, bool *cut)
{
	const uint8_t *bytes = (const uint8_t *)t->expressions.data + p.value;

	return expression_run(bytes + 1, bytes[0], in, pushed, out, cut);
}

/* Loads a register, which has the value *out now, as the caller had it. False: it is not known. */
static bool load_saved(const struct unwind_table *t, struct unwind_place p,
		       const struct unwind_input *in, uint64_t cfa, uint64_t *out, bool *cut)
{
	uint64_t at;

	switch (p.from) {
	case FROM_SAME:
		return true;
	case FROM_CFA:
		at = cfa + (uint64_t)(int64_t)p.value;
		/* At the end of a function compilers do not say that it was popped. */
		return at < in->sp || unwind_load(in, at, out, cut);
	case FROM_EXPRESSION:
		return run(t, p, in, &cfa, &at, cut) && unwind_load(in, at, out, cut);
	default:
		return false;
	}
}

static bool find_cfa(const struct unwind_table *t, struct unwind_place p,
		     const struct unwind_input *in, uint64_t *out, bool *cut)
{
	switch (p.from) {
	case FROM_SP:
		*out = in->sp + (uint64_t)(int64_t)p.value;
		return true;
	case FROM_BP:
		*out = in->bp + (uint64_t)(int64_t)p.value;
		return true;
	case FROM_BX:
		*out = in->bx + (uint64_t)(int64_t)p.value;
		return true;
	default:
		return run(t, p, in, NULL, out, cut);
	}
}

/* The stack from a caller's frame on. False: it does not grow, or is not copied. */
static bool leave_frame(struct unwind_input *in, uint64_t sp, bool *cut)
{
	uint64_t gone = sp - in->sp;

	if (sp <= in->sp)
		return false;
	if (gone > in->size) {
		*cut = true;
		return false;
	}
	in->stack += gone;
	in->size -= gone;
	in->sp = sp;
	return true;
}

static bool follow_rule(const struct unwind_table *t, const struct unwind_rule *rule,
			struct unwind_input *in, bool *cut)
{
	uint64_t cfa, ip = 0, bp = in->bp, bx = in->bx;

	if (rule->ip.from == FROM_NOWHERE || !find_cfa(t, rule->cfa, in, &cfa, cut) ||
	    !load_saved(t, rule->ip, in, cfa, &ip, cut))
		return false;
	/* A register that is not known ends the stack only where it is needed. */
	if (!load_saved(t, rule->bp, in, cfa, &bp, cut))
		bp = 0;
	if (!load_saved(t, rule->bx, in, cfa, &bx, cut))
		bx = 0;
	in->ip = ip;
	in->bp = bp;
	in->bx = bx;
	return leave_frame(in, cfa, cut);
}

static bool follow_frame_pointer(const struct unwind_space *s, struct unwind_input *in, bool *cut)
{
	uint64_t bp, ip;

	if (!unwind_load(in, in->bp, &bp, cut) || !unwind_load(in, in->bp + 8, &ip, cut) ||
	    !unwind_space_find(s, ip - 1) || !leave_frame(in, in->bp + 16, cut))
		return false;
	in->ip = ip;
	in->bp = bp;
	return true;
}

uint32_t unwind(const struct unwind_space *s, const struct unwind_input *in,
		uint64_t out[UNWIND_FRAMES_MAX], bool *cut)
{
	struct unwind_input now = *in;
	bool returned = false;
	uint32_t n = 0;

	*cut = false;
	while (n < UNWIND_FRAMES_MAX && now.ip) {
		/* A call may be the last instruction of a function, before another one. */
		uint64_t address = now.ip - returned;
		const struct unwind_mapping *m = unwind_space_find(s, address);
		const struct unwind_rule *rule = NULL;

		if (m && m->file)
			rule = unwind_table_find(&m->file->table, address - m->start + m->address);
		if (!rule && !n)
			return 0;
		/* A bad frame pointer or rule leads anywhere. */
		if (!m && n)
			break;
		out[n++] = now.ip;
		if (rule ? !follow_rule(&m->file->table, rule, &now, cut)
			 : !follow_frame_pointer(s, &now, cut))
			break;
		returned = !rule || !rule->signal;
	}
	return n;
}
