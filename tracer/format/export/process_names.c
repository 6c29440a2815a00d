// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/format/export/process_names.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/access.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"

struct process_contexts process_contexts_find(const struct md_stream *stream)
{
	struct md_process p = md_access_process(stream);

	return (struct process_contexts){ p.any, p.name };
}

bool process_names_add(struct process_names *p, struct process_contexts at, const struct row *r)
{
	struct process_name n = { 0 };
	const char *name;
	uint64_t hash;
	size_t len;

	if (at.pid < 0 || at.name < 0 || r->torn ||
	    !md_value_integer(&r->context[at.pid], &n.pid) ||
	    !md_value_string(&r->context[at.name], &name, &len) || !len)
		return true;
	memcpy(n.name, name, len < sizeof(n.name) ? len : sizeof(n.name) - 1);
	hash = hash_string(hash_step(HASH_START, n.pid), n.name);
	for (uint32_t place = 0, i; (i = hash_find(&p->table, hash, &place)) != HASH_NONE;)
		if (p->list[i].pid == n.pid && !strcmp(p->list[i].name, n.name))
			return true;
	if (!array_double(p->list, p->table.count) || !hash_add(&p->table, hash))
		return false;
	p->list[p->table.count - 1] = n;
	return true;
}

void process_names_deinit(struct process_names *p)
{
	free(p->list);
	hash_deinit(&p->table);
	*p = (struct process_names){ 0 };
}
