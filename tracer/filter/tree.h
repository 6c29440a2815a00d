/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter as a tree: filter/parse.c makes it, filter/typecheck.c and filter/compile.c read it. Private to tracer/. */
#ifndef TRACER_FILTER_TREE_H
#define TRACER_FILTER_TREE_H

#include <stdbool.h>

#include "tracer/filter/filter.h"
#include "tracer/abi/filter_bytecode.h"

enum filter_node_kind {
	NODE_NUMBER, NODE_STRING, NODE_FIELD, NODE_CONTEXT,
	NODE_UNARY, NODE_BINARY,        /* one, two operands */
	NODE_LOGIC,                     /* && or ||, of two operands or more */
};

enum filter_operator {
	OP_NOT, OP_COMPLEMENT, OP_MINUS, OP_PLUS,
	OP_LEFT, OP_RIGHT, OP_AND, OP_XOR, OP_OR,
	OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE,
	OP_BOTH, OP_EITHER,
	OP_COUNT
};

extern const char filter_operator_names[OP_COUNT][3];

struct filter_node {
	enum filter_node_kind kind;
	enum filter_operator op;
	bool parens;                    /* as the user wrote it */
	uint32_t id;                    /* 0 … filter.node_count - 1 */
	int height;                     /* 1: no operands */
	uint32_t column;                /* of the value's first byte, of the operator */
	uint32_t length;                /* NUMBER: as spelled */
	struct filter_node *first, *last, *next;        /* operands, in a list */
	struct filter_node *made;       /* before this one: all nodes of the filter */

	struct filter_value value;      /* NUMBER */
	char *text;                     /* STRING: decoded, stars are NUL; FIELD: a.b[3]; CONTEXT: $ctx.vpid */
	uint32_t text_length;
	uint32_t name_length;           /* FIELD: of its first name */
	uint32_t context;               /* CONTEXT: enum trail_context */
	uint32_t context_name;          /* of APP and PERF: where in text it begins, and ends with text */
	bool member;                    /* a dot follows somewhere */
	uint32_t index_count;           /* how many [n] follow */
	uint64_t index;                 /* the first one */
	uint32_t bracket[2];            /* columns of the first two */
};

struct filter {
	uint32_t references;            /* atomic; the last one frees, so releases pair with an acquire there */
	uint32_t node_count;
	struct filter_node *root, *made;
	char *line;                     /* the whole line that it was parsed from, for columns */
};

/* What is known of a context before any application is asked. */
struct filter_context_type {
	const char *name;
	uint32_t kind;
	int type;                       /* FILTER_SIGNED … FILTER_STRING */
};

#define FILTER_CONTEXTS 20
extern const struct filter_context_type filter_contexts[FILTER_CONTEXTS];

/* What a node comes to for one event. */
enum filter_type {
	TYPE_UNKNOWN,                   /* of what is missing */
	TYPE_SIGNED, TYPE_UNSIGNED, TYPE_FLOAT, TYPE_STRING,
	TYPE_DYNAMIC,                   /* known when it runs */
};

struct filter_info {
	enum filter_type type;
	bool missing;                   /* where it is reached, the filter fails */
	bool constant;                  /* then value is set; never of strings */
	bool fails;                     /* may fail when it runs */
	bool opaque;                    /* cannot be had: filter_event.partial */
	bool range;                     /* BINARY: a test of the integer at the place for lo … hi */
	bool inverted;                  /* … or for being outside of it */
	uint8_t registers;              /* that it takes to have its value, at least 1 */
	uint64_t lo, hi;
	struct filter_value value;
	/* FIELD, and of a range: `at` bytes behind the anchor. */
	const struct trail_reg_field *field;
	uint32_t anchor, at;
};

/*
 * Fills info[node_count] for an event; NULL: nothing is known of any field. -EINVAL and place if types clash, and info is
 * not to be used.
 */
int filter_bind(const struct filter *f, const struct filter_event *e, struct filter_info *info,
		struct tr_err *err);

/*
 * Of a partial event: takes out what cannot be had, by making it true where an && may do without it. False: nothing is left that could ever be
 * false.
 */
bool filter_weaken(const struct filter *f, struct filter_info *info);

/* A comparison as a set of outcomes; swapped: with its sides exchanged. */
unsigned int filter_relation(enum filter_operator op, bool swapped);

/* Field i of an event: behind which anchor it lies, and where from there. False: it cannot be reached, the table is broken. */
bool filter_locate(const struct filter_event *e, uint32_t i, uint32_t *anchor, uint32_t *at);
/* The FILTER_PLACE of a field behind an anchor. */
uint32_t filter_field_place(const struct trail_reg_field *f, uint32_t anchor);

#endif
