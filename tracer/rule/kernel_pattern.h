/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of event rules of the kernel domain:
 *
 *	NAME  SYSTEM:NAME               tracepoints; NAME is the kernel's or LTTng's; both with `*`, which alone is every tracepoint
 *	syscall:NAME                    entry and exit of system calls, with `*`
 *	syscall:entry:NAME  syscall:exit:NAME
 *	kprobe:…  uprobe:…  usdt:…      what probe/probe.h has: one event each, made by the rule
 *	function:NAME                   functions of the kernel, with `*`, by function tracing
 *
 * The key of an event, that patterns are matched with, is `system:name`, `system:name/lttng_name`, `syscall:entry:name`, the rule itself for
 * events that rules make, or KRULE_FUNCTION. Function tracing is one event with a field `func`, so a rule's NAME is a part of its filter.
 */
#ifndef TRACER_RULE_KERNEL_PATTERN_H
#define TRACER_RULE_KERNEL_PATTERN_H

#include <stdbool.h>

#include "tracer/rule/rule.h"
#include "tracer/base/lexer.h"

#define KRULE_FUNCTION "function:"

bool krule_match(const char *pattern, const char *key);
/* What stands behind `syscall:`, `syscall:entry:` or `syscall:exit:`. */
const char *krule_syscall_name(const char *pattern);
/* 0 or -EINVAL. */
int krule_check(struct scan *s, struct word *w);
/* Whether patterns of one kind can be excepted from those of another: -EINVAL. `excepted` is the word being read. */
int krule_check_except(struct scan *s, struct word *excepted, const char *pattern);
bool krule_is_function(const char *pattern);
/* Of a rule on functions: makes the names a part of its filter. 0, -E2BIG, -ENOMEM. */
int krule_add_names(struct rule *r, struct tr_err *err);

#endif
