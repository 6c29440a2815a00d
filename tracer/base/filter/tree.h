/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filter as a tree: parse.c builds it, typecheck.c and compile.c read it. Private to filter/,
 * except for kevent/kernel_filter.c and bpf_filter.c, and for those who make filters (make.c) and
 * know them again.
 */
#ifndef TRACER_FILTER_TREE_H
#define TRACER_FILTER_TREE_H

#include <stdbool.h>

#include "tracer/base/filter/filter.h"
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
	uint32_t length;                /* NUMBER: of its spelling */
	struct filter_node *first, *last, *next;        /* operands */
	struct filter_node *made;       /* list of all nodes of the filter */

	struct filter_value value;      /* NUMBER */
	/*
	 * STRING: decoded, stars are NUL; FIELD: a.b[3]; CONTEXT: $ctx.vpid; NUMBER: its spelling
	 * where it is not in the line
	 */
	char *text;
	uint32_t text_length;
	uint32_t name_length;           /* FIELD: of its first name */
	uint32_t context;               /* CONTEXT: enum trail_context */
	uint32_t context_name;          /* APP, PERF: start of the name in text */
	bool member;                    /* there is a dot */
	uint32_t index_count;           /* number of [n] */
	uint64_t index;                 /* the first one */
	uint32_t bracket[2];            /* columns of the first two */
};

struct filter {
	uint32_t references;            /* atomic; put releases, the last put acquires */
	uint32_t node_count;
	struct filter_node *root, *made;
	char *line;                     /* the line it was parsed from, for columns */
};

/* ---- filters that the daemon makes (make.c); NULL: no memory ---- */

/* FIELD OP "PATTERN", in which `*` is any run of bytes and `\*` a star. */
struct filter *filter_compare_text(const char *field, enum filter_operator op, const char *pattern);
struct filter *filter_compare_number(const char *field, enum filter_operator op, int64_t number);
/* A && B. Takes both over, which others must not have; NULL if one is NULL, too. */
struct filter *filter_both(struct filter *a, struct filter *b);
/* Makes a filter of the user one operand for filter_both. 0, or -EINVAL: it has too many levels. */
int filter_enclose(const struct scan *s, size_t column, struct filter *f);
/* Appends a part of a filter, without the parentheses around it. */
void filter_print_inside(const struct filter *f, const struct filter_node *n, struct md_buf *out);

/* A context in the user domain, whose type is known without an application. */
struct filter_context_type {
	const char *name;
	uint32_t kind;
	int type;                       /* FILTER_SIGNED … FILTER_STRING */
};

enum {
	FILTER_CONTEXTS = 0
#define CONTEXT(kind, name, shape, bytes) + 1
#include "tracer/abi/contexts.def"
};
extern const struct filter_context_type filter_contexts[FILTER_CONTEXTS];

/* The type of a node for one event. */
enum filter_type {
	TYPE_UNKNOWN,                   /* a missing value */
	TYPE_SIGNED, TYPE_UNSIGNED, TYPE_FLOAT, TYPE_STRING,
	TYPE_DYNAMIC,                   /* known only at run time */
};

struct filter_info {
	enum filter_type type;
	bool missing;                   /* the filter fails when it reaches this node */
	bool constant;                  /* value is set; never a string */
	bool fails;                     /* may fail at run time */
	bool opaque;                    /* not readable: filter_event.partial */
	bool range;                     /* BINARY: tests whether the integer field is in lo … hi */
	bool inverted;                  /* the field is not in lo … hi */
	uint8_t registers;              /* needed to compute it, at least 1 */
	uint64_t lo, hi;
	struct filter_value value;
	/* FIELD, and of a range: `at` bytes after the anchor. */
	const struct trail_reg_field *field;
	const struct trail_reg_field *variant;  /* of which the field is an option, or NULL */
	uint32_t anchor, at;
};

/*
 * Fills info[node_count] for an event; NULL: no field is known. -EINVAL with a place if types
 * clash; info is then not valid.
 */
int filter_bind(const struct filter *f, const struct filter_event *e, struct filter_info *info,
		struct tr_err *err);

/*
 * For a partial event: removes conditions on values that it cannot read, by making them true if
 * they are operands of &&. False: no condition is left.
 */
bool filter_weaken(const struct filter *f, struct filter_info *info);

/* A comparison as a set of outcomes; swapped: with its sides exchanged. */
unsigned int filter_relation(enum filter_operator op, bool swapped);

/*
 * Whether the comparison n of l and r is of 64 bits rather than of numbers: == and != of integers,
 * one of which is the result of a bit operator, and the other possibly of another sign. So
 * `~0 == 0xffffffffffffffff` holds, as with LTTng.
 */
bool filter_compares_bits(const struct filter_node *n, const struct filter_info *l,
			  const struct filter_info *r);

/* Whether the node is a string literal with a star. */
bool filter_is_pattern(const struct filter_node *n);
/* Matches two string literals, of which the second has no star. */
bool filter_match_literals(const struct filter_node *pattern, const struct filter_node *text);

/* The anchor and offset of field i of an event. False: a field before it has no valid type. */
bool filter_locate(const struct filter_event *e, uint32_t i, uint32_t *anchor, uint32_t *at);
/* The variant of which a field is an option, or NULL. */
const struct trail_reg_field *filter_variant(const struct filter_event *e,
					     const struct trail_reg_field *field);
/* The bit of its first byte in which a bit field begins. */
uint32_t filter_field_bit(const struct filter_event *e, const struct trail_reg_field *field);
/* The FILTER_PLACE of a field after an anchor. */
uint32_t filter_field_place(const struct trail_reg_field *f, uint32_t anchor);

#endif
