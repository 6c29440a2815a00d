/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays from malloc() that grow; NULL is an array without elements. Any thread. */
#ifndef TRACER_BASE_ARRAY_H
#define TRACER_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* `array` points to the pointer to the elements: memcpy(), because its type is not known here. */
static inline bool array_resize(void *array, size_t have, size_t count, size_t size)
{
	char *elements;

	memcpy(&elements, array, sizeof(elements));
	elements = reallocarray(elements, count ? count : 1, size);
	if (!elements)
		return false;
	if (have < count)
		memset(elements + have * size, 0, (count - have) * size);
	memcpy(array, &elements, sizeof(elements));
	return true;
}

/* Makes room for `count` elements. False: out of memory; the array stays as it was. */
#define array_room(array, count) array_resize(&(array), SIZE_MAX, count, sizeof(*(array)))
/* The same; elements after the first `have` are zero. */
#define array_extend(array, have, count) array_resize(&(array), have, count, sizeof(*(array)))
/*
 * Makes room for one element after `count`, for an array that only this extends: it grows when
 * `count` is 0 or a power of two, so that a long array is not copied for each element.
 */
#define array_double(array, count) \
	(((count) & ((count) - 1)) != 0 || array_room(array, (count) ? 2 * (count) : 1))

#endif
