/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search in arrays that are sorted by a number. Any thread. */
#ifndef TRACER_BASE_SEARCH_H
#define TRACER_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Searches `count` elements of `size` bytes, each of which begins with its key, a uint64_t. They
 * are sorted by it. Returns how many keys are at most `key`: the index of the first one above.
 */
static inline size_t search_above(const void *all, size_t count, size_t size, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t found;

		memcpy(&found, (const char *)all + middle * size, sizeof(found));
		if (found <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
