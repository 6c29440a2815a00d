/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of functions by their addresses. Private to symbol/. All tables of the daemon together
 * have a limit; functions beyond it are left out.
 */
#ifndef TRACER_SYMBOL_FUNCTION_H
#define TRACER_SYMBOL_FUNCTION_H

#include "metadata/buf.h"

#include <stdint.h>

#define FUNCTION_NAME_MAX 1024u         /* longer names are cut */

struct function {
	uint64_t address;       /* first, for search_above */
	uint32_t size;          /* 0: not known */
	uint32_t name;          /* in names */
	uint8_t rank;           /* of two at one address the higher one is shown */
};

struct functions {
	struct function *all;   /* sorted by functions_sort; owned */
	size_t count, room;
	struct md_buf names;    /* each with a NUL */
	size_t charged;         /* bytes, of the limit of all tables */
};

/* name: ends with a NUL, or with FUNCTION_NAME_MAX bytes. False: there is no room. */
bool functions_add(struct functions *f, uint64_t address, uint64_t size, const char *name,
		   uint8_t rank);
void functions_sort(struct functions *f);
/* The function that contains the address, and its name. NULL: none. */
const char *functions_find(const struct functions *f, uint64_t address, uint64_t *offset);
void functions_deinit(struct functions *f);

#endif
