/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/perfetto_names.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/format/picture/protobuf.h"

enum { NAME_NUMBER = 1, NAME_TEXT };    /* fields of an entry of InternedData */

static bool grow(struct perfetto_names *v)
{
	uint32_t size = v->size ? 2 * v->size : 64;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t k = 0; k < v->count; k++) {
		uint32_t i = (uint32_t)v->all[k].hash;

		while (slots[i & (size - 1)])
			i++;
		slots[i & (size - 1)] = k + 1;
	}
	free(v->slots);
	v->slots = slots;
	v->size = size;
	return true;
}

uint32_t perfetto_intern(struct perfetto_names *v, enum interned kind, struct text name)
{
	uint64_t hash = hash_bytes(hash_step(HASH_START, kind), name.p, name.n);
	uint32_t i = (uint32_t)hash;
	struct interned_name *k;
	size_t entry;

	if ((2 * v->count >= v->size && !grow(v)) || !array_double(v->all, v->count))
		return 0;
	for (; v->slots[i & (v->size - 1)]; i++) {
		k = &v->all[v->slots[i & (v->size - 1)] - 1];
		if (k->kind == kind && k->len == name.n &&
		    !memcmp(v->text.data + k->at, name.p, name.n))
			return k->number;
	}
	k = &v->all[v->count];
	*k = (struct interned_name){ .hash = hash, .at = v->text.len, .len = name.n, .kind = kind,
				     .number = v->last[kind] + 1 };
	md_buf_put(&v->text, name.p, name.n);
	entry = begin_message(&v->fresh, kind, 1);
	put_number(&v->fresh, NAME_NUMBER, k->number);
	put_bytes(&v->fresh, NAME_TEXT, name.p, name.n);
	end_message(&v->fresh, entry, 1);
	if (v->text.failed || v->fresh.failed)
		return 0;
	v->slots[i & (v->size - 1)] = ++v->count;
	return ++v->last[kind];
}

void perfetto_names_deinit(struct perfetto_names *v)
{
	free(v->all);
	free(v->slots);
	md_buf_deinit(&v->text);
	md_buf_deinit(&v->fresh);
}
