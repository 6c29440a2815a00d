// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/counting.h"

#include <errno.h>
#include <string.h>

#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/kernel.h"

/* Whether all events that the rule can ever match are there now. */
static bool is_complete(const struct rule *r)
{
	return (r->kind == RULE_EVENTS || r->kind == RULE_SYSCALLS) && !r->optional &&
	       !r->disabled && !r->keys[0].extra.count && !r->except_count &&
	       !strchr(r->pattern, '*');
}

static int add_format(struct kernel *k, struct kevent *e, struct count_spec *spec)
{
	if (spec->format_count == COUNT_EVENTS_MAX || e->dump >= 0 ||
	    (!kevent_is_tracepoint(e) && !kevent_is_syscall(e)))
		return -EOPNOTSUPP;
	spec->formats[spec->format_count] = kernel_format(k, e);
	return spec->formats[spec->format_count++] ? 0 : -EOPNOTSUPP;
}

/* Sets the formats of the events that the rule matches. */
static int find_formats(struct kernel *k, const struct rule *rule, struct count_spec *spec)
{
	struct rule_list list;
	int ret = kernel_refresh(k);

	if (!ret)
		ret = rule_list_of(rule, &list);
	if (ret)
		return ret;
	for (size_t i = 0; i < kernel_count(k) && !ret; i++) {
		struct kevent *e = kernel_event(k, i);

		if (e->present && rule_list_decide(&list, e->key, 0))
			ret = add_format(k, e, spec);
	}
	rule_list_deinit(&list);
	return ret ? ret : spec->format_count ? 0 : -EOPNOTSUPP;
}

int kernel_counts_open(struct tracer *t, const struct rule *rule, struct count_spec *spec,
		       bool adopt, struct counts **out)
{
	int ret;

	spec->format_count = 0;
	/* trail.ko has events that programs cannot be attached to. */
	if (!kernel_of(t) || kernel_of(t)->ops == &module_backend || !is_complete(rule) ||
	    bpf_supported(NULL))
		return -EOPNOTSUPP;
	spec->filter = rule->filter;
	spec->cpus = t->cpus;
	ret = find_formats(kernel_of(t), rule, spec);
	if (!ret)
		ret = counts_open(spec, t->keeper, adopt, out);
	while (spec->format_count)
		kformat_free(spec->formats[--spec->format_count]);
	return ret;
}
