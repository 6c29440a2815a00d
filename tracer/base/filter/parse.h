/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the two halves of the parser: parse.c (operators) and parse_value.c
 * (values).
 */
#ifndef TRACER_FILTER_PARSE_H
#define TRACER_FILTER_PARSE_H

#include "tracer/base/filter/tree.h"

struct filter_parse {
	const char *line;               /* NUL at its end */
	size_t at;
	int depth, ret;                 /* ret: of the first error */
	bool kernel;                    /* of the kernel domain: contexts have other names */
	const char *const *stops;       /* as in struct scan */
	struct tr_err *err;
	struct filter *f;
};

/* Records an error at a column. Returns NULL. */
struct filter_node *filter_fail(struct filter_parse *p, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool filter_is_name(char c);
void filter_blanks(struct filter_parse *p);
struct filter_node *filter_no_memory(struct filter_parse *p);
struct filter_node *filter_node(struct filter_parse *p, enum filter_node_kind kind, size_t column);

/* Makes `operand` the last operand of n. NULL: too many levels. */
struct filter_node *filter_add_operand(struct filter_parse *p, struct filter_node *n,
				       struct filter_node *operand);
/* `left OP right`; a chain of && or of || is one node. */
struct filter_node *filter_join(struct filter_parse *p, enum filter_operator op, size_t column,
				struct filter_node *left, struct filter_node *right);

/* Each expects the first byte of the value at p->at. NULL: p->ret has the error. */
struct filter_node *filter_parse_number(struct filter_parse *p);
struct filter_node *filter_parse_string(struct filter_parse *p);
struct filter_node *filter_parse_field(struct filter_parse *p);
struct filter_node *filter_parse_context(struct filter_parse *p);

#endif
