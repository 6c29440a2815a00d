/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/pair_rule.h"

#include <string.h>

#include "tracer/base/base.h"

/* Pairs by fields, which the names do not show. */
static const struct by_fields {
	const char *pair, *event;
	bool begins;
	const char *a, *b;
} by_fields[] = {
	{ "block_rq", "block_rq_issue", true, "dev", "sector" },
	{ "block_rq", "block_rq_complete", false, "dev", "sector" },
	{ "sched_wakeup", "sched_wakeup", true, "tid", NULL },
	{ "sched_wakeup", "sched_wakeup_new", true, "tid", NULL },
	{ "sched_wakeup", "sched_switch", false, "next_tid", NULL },
};

static const struct { const char *prefix, *begin, *end; } calls[] = {
	{ "syscall:", "syscall_entry_", "syscall_exit_" },
	{ "compat_syscall:", "compat_syscall_entry_", "compat_syscall_exit_" },
};

static const char *const begins[] = { "begin", "entry" }, *const ends[] = { "end", "exit" };

/* Whether the last word of the name is this one. *len: of the name without it. */
static bool has_last_word(const char *name, const char *word, size_t *len)
{
	size_t n = strlen(name), w = strlen(word);

	if (n < w + 2 || strcmp(name + n - w, word) != 0)
		return false;
	*len = n - w - 1;
	return name[*len] == '_' || name[*len] == ':';
}

static bool find_by_fields(const char *event, struct pair_rule *rule)
{
	for (size_t i = 0; i < sizeof(by_fields) / sizeof(by_fields[0]); i++) {
		const struct by_fields *f = &by_fields[i];

		if (strcmp(f->event, event) != 0)
			continue;
		*rule = (struct pair_rule){ .prefix = "", .name = f->pair, .begins = f->begins,
					    .name_len = strlen(f->pair), .by = PAIR_FIELDS,
					    .a = f->a, .b = f->b };
		return true;
	}
	return false;
}

static bool find_call(const char *event, struct pair_rule *rule)
{
	for (size_t i = 0; i < 2; i++) {
		bool begin = begins_with(event, calls[i].begin);

		if (!begin && !begins_with(event, calls[i].end))
			continue;
		event += strlen(begin ? calls[i].begin : calls[i].end);
		*rule = (struct pair_rule){ .prefix = calls[i].prefix, .name = event,
					    .begins = begin, .name_len = strlen(event),
					    .by = PAIR_THREAD };
		return true;
	}
	return false;
}

static bool is_interrupt(const char *name)
{
	return begins_with(name, "irq_") || begins_with(name, "x86_irq_");
}

bool pair_rule_find(const char *event, bool kernel, struct pair_rule *rule)
{
	size_t len;

	if (kernel && (find_by_fields(event, rule) || find_call(event, rule)))
		return true;
	for (unsigned int i = 0; i < 2; i++) {
		bool begin = has_last_word(event, begins[i], &len);

		if (!begin && !has_last_word(event, ends[i], &len))
			continue;
		*rule = (struct pair_rule){ .prefix = "", .name = event, .name_len = len,
					    .begins = begin, .words = i,
					    .by = kernel && is_interrupt(event) ? PAIR_CPU
										: PAIR_THREAD };
		return true;
	}
	return false;
}
