/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a rule that the kernel counts itself (count/count.h). */
#ifndef TRACER_KERNEL_COUNTING_H
#define TRACER_KERNEL_COUNTING_H

#include "tracer/base/rule/rule.h"
#include "tracer/kernel/count/count.h"

struct tracer;

/*
 * Opens the counts of a rule; sets the spec's formats, filter and cpus. As counts_open; -EOPNOTSUPP
 * also if the rule may match events that are not there yet, or too many. Without lock.
 */
int kernel_counts_open(struct tracer *t, const struct rule *rule, struct count_spec *spec,
		       bool adopt, struct counts **out);

#endif
