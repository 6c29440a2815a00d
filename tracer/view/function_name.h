/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of functions whose begins -finstrument-functions reports, for slices (slice/slice.h).
 * A name is that of text.symbols without an offset; a function without one is its file and the
 * offset there, or its address.
 *
 * No lock: a table belongs to its caller.
 */
#ifndef TRACER_VIEW_FUNCTION_NAME_H
#define TRACER_VIEW_FUNCTION_NAME_H

#include "tracer/view/stack.h"

#define FUNCTION_NAMES_MAX 65536u    /* further functions have no name */

struct function_name {
	uint32_t number;        /* from 0: as many functions as have this name are one */
	uint32_t len;
	char name[];            /* with a NUL; a valid name of an event */
};

struct function_names;

/* NULL: no memory. */
struct function_names *function_names_create(void);
void function_names_destroy(struct function_names *f);    /* NULL is allowed */
/*
 * The function that begins at the address in the process of the cursor's event. k may be NULL.
 * NULL: there are too many, or no memory is left.
 */
const struct function_name *function_names_find(struct function_names *f, struct stacks *k,
						uint64_t clock_offset, const struct cursor *c,
						uint64_t address);

#endif
