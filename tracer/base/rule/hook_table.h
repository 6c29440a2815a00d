/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of hooks, for hook.c and hook_table.c alone. */
#ifndef TRACER_RULE_HOOK_TABLE_H
#define TRACER_RULE_HOOK_TABLE_H

#include "tracer/base/rule/hook.h"

struct hook_table {
	struct hook *hooks;
	size_t count;
};

extern struct hook_table hook_table;

#endif
