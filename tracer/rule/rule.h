/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event rules of the user domain:
 *
 *   PATTERN [except PATTERN,…] [loglevel LEVEL | LEVEL.. | A..B | OP LEVEL] [if FILTER]
 *
 * and the list of them that a channel has. A pattern is `provider:name` with `*` for any run of characters (`\*` literal), or `*`.
 * Filters are those of filter.h, up to the end of the line.
 */
#ifndef TRACER_RULE_RULE_H
#define TRACER_RULE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"
#include "tracer/filter/filter.h"

struct rule {
	char *text;             /* as written, white space between words normalized to one blank, without `~` */
	char *pattern;
	char **except;          /* except_count patterns */
	size_t except_count;
	int level_min, level_max;       /* inclusive, 0 (emerg) … 14 (debug) */
	bool disabled;          /* written as ~RULE */
	bool kernel;            /* of the kernel domain: rule/kernel_pattern.h */
	struct filter *filter;  /* NULL: none */
	uint64_t filter_digest; /* of its normalized text */
	int line;               /* of the write that added it; 0: it was there before */
};

struct rule_list {
	struct rule *rules;
	size_t count;
};

/* True if an enabled rule of the list takes the event, or would if its filter does. */
bool rule_list_match(const struct rule_list *l, const char *event, int level);
/* The same as a number: 0: no rule; RULE_ALL: one without a filter; else a digest of the filters that decide. */
uint64_t rule_list_decide(const struct rule_list *l, const char *event, int level);
#define RULE_ALL 1u
/* True if the rule takes the event, disabled or not, apart from its filter. */
bool rule_match(const struct rule *r, const char *event, int level);
/* Those filters, at most max; returns how many there are. */
size_t rule_list_filters(const struct rule_list *l, const char *event, int level,
			 const struct filter **out, size_t max);

/*
 * Applies the lines of one write: new = (replace ? empty : a copy of old) + lines. `old` may be NULL.
 *
 *   RULE       adds the rule; enables it if the list has it disabled, else changes nothing
 *   ~RULE      adds the rule disabled, or disables it
 *   !RULE      removes the rule with this text
 *   !PATTERN   removes every rule with exactly this pattern
 *
 * Blank lines and lines that begin with # are skipped. Kernel rules have the patterns of
 * kernel_pattern.h and no log levels. On an error `out` is untouched, err->line is the line's number,
 * err->text and err->column point at the mistake. -EINVAL; -ENOENT: nothing to remove; -E2BIG;
 * -ENOMEM; -ENOSPC above 4096 rules.
 */
int rule_list_apply(const struct rule_list *old, enum domain domain, const char *lines,
		    bool replace, struct rule_list *out, struct tr_err *err);
void rule_list_print(const struct rule_list *l, struct md_buf *out);    /* one per line, readable by apply */
void rule_list_deinit(struct rule_list *l);

#endif
