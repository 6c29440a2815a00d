/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/function_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/hash.h"

#define SLOTS (2 * FUNCTION_NAMES_MAX)       /* a power of two */

struct function_names {
	struct function_name *slots[SLOTS];  /* by name, open addressing; elements are owned */
	uint32_t count;
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
	for (uint32_t i = 0; i < SLOTS; i++)
		free(f->slots[i]);
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
	uint32_t i;

	if (k)
		stacks_find(k, clock_offset, c, address, &symbol);
	put_name(&symbol, address, &f->name);
	if (f->name.failed)
		return NULL;
	hash = hash_bytes(HASH_START, f->name.data, f->name.len);
	for (i = (uint32_t)(hash ^ hash >> 32); (n = f->slots[i & (SLOTS - 1)]); i++)
		if (n->len == f->name.len && !memcmp(n->name, f->name.data, n->len))
			return n;
	if (f->count == FUNCTION_NAMES_MAX || !(n = malloc(sizeof(*n) + f->name.len + 1)))
		return NULL;
	n->number = f->count++;
	n->len = (uint32_t)f->name.len;
	memcpy(n->name, f->name.data, n->len);
	n->name[n->len] = '\0';
	return f->slots[i & (SLOTS - 1)] = n;
}
