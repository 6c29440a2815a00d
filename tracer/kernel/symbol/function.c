/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/kernel/symbol/function.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/search.h"

#define MEMORY_MAX ((size_t)256 << 20)  /* bytes of all tables of the daemon */
#define STEP (1u << 16)                 /* bytes that a table takes of it at a time */
#define BACK 16                         /* functions that may begin inside of another one */

/* Bytes that tables have taken. Only a sum: no other memory depends on it. */
static size_t memory;

static bool charge(struct functions *f, size_t need)
{
	while (f->charged < need) {
		if (__atomic_add_fetch(&memory, STEP, __ATOMIC_RELAXED) > MEMORY_MAX) {
			__atomic_sub_fetch(&memory, STEP, __ATOMIC_RELAXED);
			return false;
		}
		f->charged += STEP;
	}
	return true;
}

bool functions_add(struct functions *f, uint64_t address, uint64_t size, const char *name,
		   uint8_t rank)
{
	size_t n = strnlen(name, FUNCTION_NAME_MAX);

	if (f->names.len > UINT32_MAX - FUNCTION_NAME_MAX - 1 ||
	    !charge(f, (f->count + 1) * sizeof(*f->all) + f->names.len + n + 1))
		return false;
	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 64;

		if (!array_room(f->all, room))
			return false;
		f->room = room;
	}
	f->all[f->count] = (struct function){
		.address = address,
		.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
		.name = (uint32_t)f->names.len,
		.rank = rank,
	};
	md_buf_put(&f->names, name, n);
	md_buf_putc(&f->names, '\0');
	if (f->names.failed)
		return false;
	f->count++;
	return true;
}

/* By address; of one address the one to show comes last: the highest rank, then the first name. */
static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->name < y->name) - (x->name > y->name);
}

void functions_sort(struct functions *f)
{
	if (f->count)
		qsort(f->all, f->count, sizeof(*f->all), compare_functions);
}

const char *functions_find(const struct functions *f, uint64_t address, uint64_t *offset)
{
	size_t above = search_above(f->all, f->count, sizeof(*f->all), address);

	for (size_t i = above; i && i + BACK > above; i--) {
		const struct function *one = &f->all[i - 1];

		/* Without a size, it extends to the next one. */
		if (address - one->address < one->size || (!one->size && i == above)) {
			*offset = address - one->address;
			return f->names.data + one->name;
		}
	}
	return NULL;
}

void functions_deinit(struct functions *f)
{
	free(f->all);
	md_buf_deinit(&f->names);
	__atomic_sub_fetch(&memory, f->charged, __ATOMIC_RELAXED);
	*f = (struct functions){ 0 };
}
