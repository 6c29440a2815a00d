/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that sample what the CPUs execute:
 *
 *	sample:cpu [N[hz]]      N times in a second of each CPU
 *	sample:cycles [N]       after N cycles of a CPU
 *	sample:faults [N]       after N page faults on a CPU
 *
 * The rate is a word after the pattern. No pattern with `*` matches samples.
 */
#ifndef TRACER_RULE_SAMPLE_H
#define TRACER_RULE_SAMPLE_H

#include <stdbool.h>

#include "tracer/base/lexer.h"
#include "tracer/base/rule/rule.h"

#define SAMPLE_RULE "sample:"

enum sample_kind { SAMPLE_CPU, SAMPLE_CYCLES, SAMPLE_FAULTS, SAMPLE_KINDS };

bool sample_is_rule(const char *pattern);       /* also of the key of such an event */
const char *sample_name(enum sample_kind kind); /* "cpu", … */
int sample_kind(const char *pattern);           /* enum sample_kind; -1: none */
/* Checks a pattern that sample_is_rule. 0 or -EINVAL. */
int sample_check(struct scan *s, struct word *w);
/* Reads the rate after the pattern, if there is one. 0, -EINVAL, -ENOMEM. */
int sample_parse_rate(struct scan *s, struct word *w, struct rule *r);
void sample_print_rate(const struct rule *r, struct md_buf *out);
/* The rule's rate, or the default of its kind. */
uint64_t sample_rate(const struct rule *r);
/*
 * The rate at which an enabled rule of the list samples this; 0: none does. other: the first rule
 * whose rate differs from that of an earlier one; may be NULL.
 */
uint64_t sample_wanted(const struct rule_list *l, enum sample_kind kind,
		       const struct rule **other);

#endif
