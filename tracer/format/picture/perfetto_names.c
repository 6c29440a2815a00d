/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/perfetto_names.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/format/picture/protobuf.h"

enum { NAME_NUMBER = 1, NAME_TEXT };    /* fields of an entry of InternedData */

uint32_t perfetto_intern(struct perfetto_names *v, enum interned kind, struct text name)
{
	uint64_t hash = hash_bytes(hash_step(HASH_START, kind), name.p, name.n);
	struct interned_name *k;
	size_t entry;

	for (uint32_t at = 0, i; (i = hash_find(&v->table, hash, &at)) != HASH_NONE;) {
		k = &v->all[i];
		if (k->kind == kind && k->len == name.n &&
		    !memcmp(v->text.data + k->at, name.p, name.n))
			return k->number;
	}
	if (!array_double(v->all, v->table.count))
		return 0;
	k = &v->all[v->table.count];
	*k = (struct interned_name){ .at = v->text.len, .len = name.n, .kind = kind,
				     .number = v->last[kind] + 1 };
	md_buf_put(&v->text, name.p, name.n);
	entry = begin_message(&v->fresh, kind, 1);
	put_number(&v->fresh, NAME_NUMBER, k->number);
	put_bytes(&v->fresh, NAME_TEXT, name.p, name.n);
	end_message(&v->fresh, entry, 1);
	if (v->text.failed || v->fresh.failed || !hash_add(&v->table, hash))
		return 0;
	return ++v->last[kind];
}

void perfetto_names_deinit(struct perfetto_names *v)
{
	free(v->all);
	hash_deinit(&v->table);
	md_buf_deinit(&v->text);
	md_buf_deinit(&v->fresh);
}
