/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of rules and the fields of the kernel's events. Callers of the first two hold
 * kernel.lock; callers of the others hold session.lock, not tracer.lock.
 */
#ifndef TRACER_KERNEL_FILTER_CHECK_H
#define TRACER_KERNEL_FILTER_CHECK_H

#include "tracer/kernel/kernel.h"

/*
 * -EINVAL if the filter's types clash in all events that the rule matches and that have fields of
 * the filter, with the sentence for the first one. -ENOENT: the rule matches no event.
 */
int kfilter_check_types(struct kernel *k, const struct rule *r, struct tr_err *err);
/*
 * -EINVAL if no event that the rule matches has a field that the filter names; -EOPNOTSUPP if it is
 * text, and records of a channel with this backend do not have it.
 */
int kfilter_check_fields(struct kernel *k, const struct rule *r, enum backend_choice by,
			 struct tr_err *err);
/*
 * -EOPNOTSUPP if a filter is on a text that no record has in a channel with this backend. added:
 * only the new rules.
 */
int kernel_check_texts(struct kernel *k, const struct rule_list *l, bool added,
		       enum backend_choice by, struct tr_err *err);

/*
 * As domain_ops.each_match; fn is called with kernel.lock held. Reads the formats of the events.
 */
void kernel_each_match(struct kernel *k, const struct rule_list *rules,
		       bool (*fn)(void *arg, const struct filter_event *fields), void *arg);

#endif
