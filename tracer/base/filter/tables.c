/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operators and contexts: names, types, and what a comparison means. */
#include "tracer/base/filter/tree.h"

const char filter_operator_names[OP_COUNT][3] = {
	"!", "~", "-", "+", "<<", ">>", "&", "^", "|", "<", "<=", ">", ">=", "==", "!=", "&&", "||"
};

const struct filter_context_type filter_contexts[FILTER_CONTEXTS] = {
#define TYPE_SIGNED FILTER_SIGNED
#define TYPE_UNSIGNED FILTER_UNSIGNED
#define TYPE_TEXT FILTER_STRING
#define CONTEXT(kind, name, shape, bytes) { name, TRAIL_CONTEXT_##kind, TYPE_##shape },
#include "tracer/abi/contexts.def"
};

static const uint8_t relations[OP_COUNT] = {
	[OP_LT] = FILTER_LESS, [OP_LE] = FILTER_LESS | FILTER_EQUAL, [OP_GT] = FILTER_GREATER,
	[OP_GE] = FILTER_GREATER | FILTER_EQUAL, [OP_EQ] = FILTER_EQUAL, [OP_NE] = FILTER_UNEQUAL,
};

unsigned int filter_relation(enum filter_operator op, bool swapped)
{
	unsigned int r = relations[op];

	if (!swapped)
		return r;
	return (r & ~5u) | (r & FILTER_LESS ? FILTER_GREATER : 0) |
	       (r & FILTER_GREATER ? FILTER_LESS : 0);
}
