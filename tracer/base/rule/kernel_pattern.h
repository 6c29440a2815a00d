/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of event rules in the kernel domain:
 *
 *	NAME  SYSTEM:NAME               tracepoints; NAME is the kernel's or LTTng's; `*` alone is
 *	      every tracepoint
 *	syscall:NAME                    entry and exit of system calls
 *	syscall:entry:NAME  syscall:exit:NAME
 *	syscall:NAME with data          … with the bytes that the call is given: KRULE_DATA
 *	kprobe:…  uprobe:…  usdt:…      the rules of probe/probe.h, each of one event
 *	uprobe:PATH:NAME  uretprobe:PATH:NAME  ucall:PATH:NAME  functions of a file, an event each
 *	kcall:SYMBOL  ucall:PATH:SYMBOL         entry and return of a function, two probes
 *	function:NAME                   kernel functions, by function tracing
 *	@NAME                           the events of hooks: hook.h
 *	sample:NAME                     samples of what the CPUs execute: sample.h
 *
 * A rule with extra data (probe/extra.h) is for one event of its own. A probe may have a name of
 * its own. A call has two keys.
 *
 * NAME and SYSTEM may have `*`. Patterns are matched with the key of an event: `system:name`,
 * `system:name/lttng_name`, `syscall:entry:name`, for probes the rule itself, or of a rule on
 * several functions that of one of them, or KRULE_FUNCTION.
 * Function tracing is one event with a field `func`, so NAME of such a rule becomes a part of its
 * filter.
 */
#ifndef TRACER_RULE_KERNEL_PATTERN_H
#define TRACER_RULE_KERNEL_PATTERN_H

#include <stdbool.h>

#include "tracer/base/rule/rule.h"
#include "tracer/base/lexer.h"

#define KRULE_FUNCTION "function:"
/* Before the name of a system call: the key of its entries with data. No pattern matches it. */
#define KRULE_DATA "syscall:data:"

bool krule_match(const struct event_key *rule, const struct event_key *key);
/* The part after `syscall:`, `syscall:entry:` or `syscall:exit:`. */
const char *krule_syscall_name(const char *pattern);
enum rule_kind krule_kind(const char *pattern);
/*
 * Checks a pattern. 0, -EINVAL or -ENOMEM. *file (file may be NULL) becomes the path of the file in
 * which its probes are, if there is one; owned by the caller.
 */
int krule_check(struct scan *s, struct word *w, char **file);
/* -EINVAL if the word that is being parsed cannot be excepted from a rule of this kind. */
int krule_check_except(struct scan *s, struct word *excepted, enum rule_kind kind);
/* -EINVAL if rules of this kind have no extra data. with: the word that was parsed. */
int krule_check_with(struct scan *s, struct word *with, const struct rule *r);
/* The NAME of `PATTERN as NAME`: sets the key's label. 0, -EINVAL, -ENOMEM. w: `as`. */
int krule_parse_name(struct scan *s, struct word *w, struct rule *r);
/* For a rule on calls: makes the keys of its two events. 0 or -ENOMEM. */
int krule_split_call(struct rule *r);
/* `data` of `PATTERN with data`. 0, -EINVAL, -ENOMEM. w: `with`. */
int krule_parse_data(struct scan *s, struct word *w, struct rule *r);
/* For a rule with data: makes the keys of its entry and its exit. 0 or -ENOMEM. */
int krule_split_data(struct rule *r);
bool krule_is_function(const char *pattern);
/* For a rule on functions: adds their names to its filter. 0, -EINVAL, -ENOMEM. */
int krule_add_names(const struct scan *s, struct rule *r);

#endif
