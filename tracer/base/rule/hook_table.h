/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of hooks, for hook.c, hook_table.c and hook_source.c alone. */
#ifndef TRACER_RULE_HOOK_TABLE_H
#define TRACER_RULE_HOOK_TABLE_H

#include "tracer/base/rule/hook.h"

struct hook_table {
	struct hook *hooks;
	size_t count;
};

extern struct hook_table hook_table;

/* Where ` as FIELD=…` begins in a line of an alternative; its end if it has none. */
const char *hook_sources_begin(const char *line);
/*
 * Adds what fills the hook's fields: FIELD=SOURCE, … for the alternatives first to last. 0,
 * -EINVAL, -ENOMEM.
 */
int hook_sources_add(struct hook *h, const char *text, int first, int last, struct tr_err *err);
void hook_sources_free(struct hook *h);

#endif
