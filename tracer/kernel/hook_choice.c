// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses what records each hook (rule/hook.h) on this kernel. Names of functions come from
 * KSYMS_FILE, which has them even where it hides the addresses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/kernel_pattern.h"

struct symbol {
	const char *name;       /* a function, in a hook's pattern */
	size_t len;
	bool found;
};

struct choice {
	struct kernel *k;
	struct symbol *symbols; /* sorted, without duplicates */
	size_t count;
	bool kprobes;           /* the kernel has probes at functions */
};

/* The function of a probe's pattern, without +OFF; false: the pattern is no kernel probe. */
static bool get_symbol(const char *pattern, struct symbol *out)
{
	const char *colon = strchr(pattern, ':');

	if (!dynamic_event_is_rule(pattern) || !colon)
		return false;
	*out = (struct symbol){ colon + 1, strcspn(colon + 1, "+"), false };
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int c = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);

	return c ? c : (x->len > y->len) - (x->len < y->len);
}

static struct symbol *find_symbol(const struct choice *c, const struct symbol *s)
{
	return c->count ? bsearch(s, c->symbols, c->count, sizeof(*s), compare_symbols) : NULL;
}

static void collect_symbols(struct choice *c)
{
	size_t most = 0, n = 0;

	for (size_t i = 0; i < hooks_count(); i++)
		most += hook_at(i)->count;
	c->symbols = malloc((most + 1) * sizeof(*c->symbols));
	for (size_t i = 0; c->symbols && i < hooks_count(); i++)
		for (size_t p = 0; p < hook_at(i)->count; p++)
			n += get_symbol(hook_at(i)->patterns[p].key.place, &c->symbols[n]);
	if (n)
		qsort(c->symbols, n, sizeof(*c->symbols), compare_symbols);
	for (size_t i = 0; i < n; i++)
		if (!c->count || compare_symbols(&c->symbols[c->count - 1], &c->symbols[i]) != 0)
			c->symbols[c->count++] = c->symbols[i];
}

/* Marks the functions that the kernel has: lines `address type name [module]`. */
static void mark_symbols(struct choice *c)
{
	FILE *f = c->count ? fopen(KSYMS_FILE, "re") : NULL;
	char line[KSYMS_NAME_MAX + 64];

	while (f && fgets(line, sizeof(line), f)) {
		const char *type = strchr(line, ' ');
		struct symbol s, *found;

		if (!type || !strchr("tTwW", type[1]) || type[2] != ' ')
			continue;
		s = (struct symbol){ type + 3, strcspn(type + 3, " \t\n"), false };
		found = find_symbol(c, &s);
		if (found)
			found->found = true;
	}
	if (f)
		fclose(f);
}

static bool has_event(struct kernel *k, const char *system, size_t len, const char *prefix,
		      const char *name)
{
	char buf[128], event[KFORMAT_NAME_MAX + 1];
	const struct kevent *e;

	snprintf(buf, sizeof(buf), "%.*s", (int)len, system);
	snprintf(event, sizeof(event), "%s%s", prefix, name);
	e = kevent_find(k, buf, event, strlen(event));
	return e && e->present;
}

static bool has_pattern(void *choice, const char *pattern)
{
	struct choice *c = choice;
	const char *colon = strchr(pattern, ':');
	struct symbol s, *found;

	if (get_symbol(pattern, &s)) {
		found = c->kprobes ? find_symbol(c, &s) : NULL;
		return found && found->found;
	}
	if (!strncmp(pattern, "syscall:entry:", 14) && !strchr(pattern, '*'))
		return has_event(c->k, "syscalls", 8, "sys_enter_", pattern + 14);
	if (!strncmp(pattern, "syscall:exit:", 13) && !strchr(pattern, '*'))
		return has_event(c->k, "syscalls", 8, "sys_exit_", pattern + 13);
	if (colon && strncmp(pattern, "syscall:", 8) && !strchr(pattern, '*'))
		return has_event(c->k, pattern, (size_t)(colon - pattern), "", colon + 1);
	for (size_t i = 0; i < c->k->event_count; i++)
		if (c->k->events[i]->present &&
		    krule_match(EVENT_KEY(pattern), c->k->events[i]->key))
			return true;
	return false;
}

/* Of the events that are not probes of trailfs: these come and go with rules. Never 0. */
static uint64_t hash_list(const struct kernel *k)
{
	uint64_t h = HASH_START;

	for (size_t i = 0; i < k->event_count; i++)
		if (k->events[i]->present && strcmp(k->events[i]->system, k->group) != 0)
			h = hash_string(hash_string(h, k->events[i]->system), k->events[i]->name);
	return h | 1;
}

void kernel_choose_hooks(struct kernel *k)
{
	struct choice c = { .k = k };
	uint64_t list = hash_list(k);

	if (list == k->hooks_list)
		return;
	c.kprobes = k->ops->has_kprobes && k->ops->has_kprobes(k->backend);
	collect_symbols(&c);
	mark_symbols(&c);
	hooks_choose(has_pattern, &c);
	free(c.symbols);
	k->hooks_list = list;
}
