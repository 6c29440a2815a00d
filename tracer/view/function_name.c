/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/function_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/hash_table.h"

struct function_names {
	struct function_name **all;     /* by number; owned, elements too */
	struct hash_table table;        /* of `all`, by name */
	struct md_buf name;     /* scratch */
};

struct function_names *function_names_create(void)
{
	return calloc(1, sizeof(struct function_names));
}

void function_names_destroy(struct function_names *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->table.count; i++)
		free(f->all[i]);
	free(f->all);
	hash_deinit(&f->table);
	md_buf_deinit(&f->name);
	free(f);
}

static void put_name(const struct symbol *symbol, uint64_t address, struct md_buf *out)
{
	md_buf_reset(out);
	/* Names of files and functions may have any bytes. */
	if (symbol->name) {
		md_name_event(symbol->name, out);
	} else if (symbol->object) {
		md_name_event(symbol->object, out);
		md_buf_printf(out, "+0x%" PRIx64, symbol->offset);
	} else {
		md_buf_printf(out, "0x%" PRIx64, address);
	}
}

const struct function_name *function_names_find(struct function_names *f, struct stacks *k,
						uint64_t clock_offset, const struct cursor *c,
						uint64_t address)
{
	struct symbol symbol = { 0 };
	struct function_name *n;
	uint64_t hash;

	if (k)
		stacks_find(k, clock_offset, c, address, &symbol);
	put_name(&symbol, address, &f->name);
	if (f->name.failed)
		return NULL;
	hash = hash_bytes(HASH_START, f->name.data, f->name.len);
	for (uint32_t at = 0, i; (i = hash_find(&f->table, hash, &at)) != HASH_NONE;) {
		n = f->all[i];
		if (n->len == f->name.len && !memcmp(n->name, f->name.data, n->len))
			return n;
	}
	if (f->table.count == FUNCTION_NAMES_MAX || !array_double(f->all, f->table.count) ||
	    !(n = malloc(sizeof(*n) + f->name.len + 1)))
		return NULL;
	if (!hash_add(&f->table, hash)) {
		free(n);
		return NULL;
	}
	n->number = f->table.count - 1;
	n->len = (uint32_t)f->name.len;
	memcpy(n->name, f->name.data, n->len);
	n->name[n->len] = '\0';
	return f->all[n->number] = n;
}
