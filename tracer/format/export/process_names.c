// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/format/export/process_names.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/access.h"
#include "tracer/base/hash.h"

struct process_contexts process_contexts_find(const struct md_stream *stream)
{
	struct md_process p = md_access_process(stream);

	return (struct process_contexts){ p.any, p.name };
}

static struct process_name *place_of(const struct process_names *p, const struct process_name *n)
{
	uint64_t h = hash_string(hash_step(HASH_START, n->pid), n->name);
	struct process_name *at;

	for (;; h++) {
		at = &p->list[h & (p->size - 1)];
		if (!*at->name || (at->pid == n->pid && !strcmp(at->name, n->name)))
			return at;
	}
}

static bool grow(struct process_names *p)
{
	struct process_names old = *p;

	p->size = old.size ? 2 * old.size : 64;
	p->list = calloc(p->size, sizeof(*p->list));
	if (!p->list) {
		*p = old;
		return false;
	}
	for (size_t i = 0; i < old.size; i++)
		if (*old.list[i].name)
			*place_of(p, &old.list[i]) = old.list[i];
	free(old.list);
	return true;
}

bool process_names_add(struct process_names *p, struct process_contexts at, const struct row *r)
{
	struct process_name n = { 0 }, *place;
	const char *name;
	size_t len;

	if (at.pid < 0 || at.name < 0 || r->torn ||
	    !md_value_integer(&r->context[at.pid], &n.pid) ||
	    !md_value_string(&r->context[at.name], &name, &len) || !len)
		return true;
	memcpy(n.name, name, len < sizeof(n.name) ? len : sizeof(n.name) - 1);
	if (2 * p->count >= p->size && !grow(p))
		return false;
	place = place_of(p, &n);
	p->count += !*place->name;
	*place = n;
	return true;
}

void process_names_deinit(struct process_names *p)
{
	free(p->list);
	*p = (struct process_names){ 0 };
}
