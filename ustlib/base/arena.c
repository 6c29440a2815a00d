// SPDX-License-Identifier: MIT
/* Memory for objects, slots, mappings and sites: from mmap(2), and never freed. */
#include <sys/mman.h>

#include "ustlib/base/base.h"

static uint8_t *arena;
static size_t arena_left;

void *arena_alloc(size_t size)
{
	uint8_t *p;

	size = (size + 15) & ~(size_t)15;
	if (size > arena_left) {
		size_t chunk = size > 16384 ? size : 16384;

		p = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		arena = p;
		arena_left = chunk;
	}
	p = arena;
	arena += size;
	arena_left -= size;
	return p;
}
