/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of one event rule: rule.c for rule/rule_list.c. Private to tracer/. */
#ifndef TRACER_RULE_RULE_PRIVATE_H
#define TRACER_RULE_RULE_PRIVATE_H

#include "tracer/rule/rule.h"

#define RULE_LINE_MAX 4096u     /* bytes of a line */
#define RULE_COUNT_MAX 4096u    /* rules of a list */

/*
 * Parses line[at …] up to the line's end (newline or NUL) as RULE. 0, or -errno with text and column; nothing is held
 * then. rule->text is the canonical spelling: rules that differ only in blanks have the same.
 */
int rule_parse(const char *line, size_t at, enum domain domain, struct rule *out,
	       struct tr_err *err);
int rule_copy(const struct rule *from, struct rule *to);
void rule_deinit(struct rule *r);

#endif
