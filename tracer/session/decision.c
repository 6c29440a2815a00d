// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decides whether a channel records an event, and compiles its filters. A compiled filter depends
 * on the filters and on the event's fields. The cache key is a digest of both, so no entry gets
 * stale. Caller holds tracer.lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/session/session.h"
#include "tracer/base/rule/rule.h"

#define BUCKETS 1024u           /* a power of two */
#define PROGRAMS_MAX 16384u
#define BYTES_MAX (32u << 20)

enum { PROGRAM, ALWAYS, NEVER };        /* as filter_compile says it */

struct program {
	struct program *next;
	uint64_t filters, layout;
	/*
	 * Of the event's owner: a user who forges two layouts with one digest harms no other user.
	 */
	uid_t uid;
	int result;
	size_t size;
	uint64_t code[];
};

struct programs {
	struct program *buckets[BUCKETS];
	uint32_t count;
	size_t bytes;
};

uint64_t channel_decides(const struct channel *c, const char *event, int level)
{
	uint64_t decision = !c->kernel && c->session->active && !c->session->gone && c->enabled
				    ? rule_list_decide(&c->rules, EVENT_KEY(event), level)
				    : 0;

	return decision ? hash_step(decision, hash_step(0, c->epoch)) | 1 : 0;
}

void programs_drop(struct tracer *t)
{
	for (uint32_t i = 0; t->programs && i < BUCKETS; i++)
		while (t->programs->buckets[i]) {
			struct program *p = t->programs->buckets[i];

			t->programs->buckets[i] = p->next;
			free(p);
		}
	free(t->programs);
	t->programs = NULL;
}

/* A digest of all that the registration declares of the event's fields. */
static uint64_t layout_of(const struct filter_event *e)
{
	uint64_t h = e->field_count + 1;

	if (e->partial)
		h = hash_step(hash_step(h, e->contexts), e->contexts >> 32 | 1ull << 32);
	for (uint32_t i = 0; i < e->field_count; i++) {
		const struct trail_reg_field *f = &e->fields[i];
		const char *name = e->strings + f->name;
		uint64_t type = f->kind | f->size << 8 | f->flags << 16 |
				(uint64_t)f->length << 24 | (uint64_t)f->count << 32;

		h = hash_step(h, type);
		h = hash_step(h, type >> 32);
		h = hash_bytes(h, name, strlen(name) + 1);
	}
	return h;
}

static struct program *compile(const struct rule_list *rules, const struct event_key *event,
			       int level, const struct filter_event *e)
{
	size_t n = rule_list_filters(rules, event, level, NULL, 0);
	const struct filter **filters = calloc(n + 1, sizeof(*filters));
	struct md_buf code = MD_BUF_INIT;
	struct program *p = NULL;
	int result = -ENOMEM;

	if (filters) {
		rule_list_filters(rules, event, level, filters, n);
		result = filter_compile(filters, n, e, &code);
	}
	if (result >= 0)
		p = malloc(sizeof(*p) + code.len);
	if (p) {
		*p = (struct program){ .result = result, .size = code.len };
		if (code.len)
			memcpy(p->code, code.data, code.len);
	}
	md_buf_deinit(&code);
	free(filters);
	return p;
}

static struct program *find(const struct programs *all, uint64_t filters, uint64_t layout,
			    uid_t uid)
{
	struct program *p = all->buckets[(filters ^ layout ^ layout >> 32) & (BUCKETS - 1)];

	while (p && (p->filters != filters || p->layout != layout || p->uid != uid))
		p = p->next;
	return p;
}

/* The compiled filter from the cache, or a new one. NULL: no memory, or too large. */
static const struct program *program_of(const struct channel *c, uint64_t filters,
					const struct event_key *event, int level,
					const struct filter_event *e, uid_t uid)
{
	struct tracer *t = c->session->tracer;
	uint64_t layout = layout_of(e);
	struct program *p, **bucket;

	if (t->programs && (t->programs->count >= PROGRAMS_MAX || t->programs->bytes >= BYTES_MAX))
		programs_drop(t);
	if (!t->programs && !(t->programs = calloc(1, sizeof(*t->programs))))
		return NULL;
	p = find(t->programs, filters, layout, uid);
	if (p)
		return p;
	p = compile(&c->rules, event, level, e);
	if (!p) {
		tracer_report(
			t, "session %s: cannot compile the filter for %s: too large, or "
			   "out of memory",
			c->session->name, event->place);
		return NULL;
	}
	p->filters = filters;
	p->layout = layout;
	p->uid = uid;
	bucket = &t->programs->buckets[(filters ^ layout ^ layout >> 32) & (BUCKETS - 1)];
	p->next = *bucket;
	*bucket = p;
	t->programs->count++;
	t->programs->bytes += sizeof(*p) + p->size;
	return p;
}

uint64_t event_wanted(struct channel *c, const char *event, int level, const struct filter_event *e,
		      uid_t uid, struct wanted *program)
{
	uint64_t decision = channel_decides(c, event, level), rules;
	const struct program *p;

	if (program)
		*program = (struct wanted){ 0 };
	if (!decision)
		return 0;
	rules = rule_list_decide(&c->rules, EVENT_KEY(event), level);
	if (rules == RULE_ALL)
		return decision;
	p = program_of(c, rules, EVENT_KEY(event), level, e, uid);
	if (!p || p->result == NEVER)
		return 0;
	if (program && p->result == PROGRAM)
		*program = (struct wanted){ p->code, p->size };
	return decision;
}

bool kernel_wanted(struct channel *c, const struct event_key *key, const struct filter_event *e,
		   struct wanted *program)
{
	uint64_t rules = rule_list_decide(&c->rules, key, 0);
	const struct program *p;

	*program = (struct wanted){ 0 };
	if (!rules || rules == RULE_ALL)
		return rules != 0;
	p = program_of(c, rules, key, 0, e, 0);
	if (!p || p->result == NEVER)
		return false;
	if (p->result == PROGRAM)
		*program = (struct wanted){ p->code, p->size };
	return true;
}
