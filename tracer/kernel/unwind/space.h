/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process. Private to unwind/. */
#ifndef TRACER_UNWIND_SPACE_H
#define TRACER_UNWIND_SPACE_H

#include "tracer/kernel/unwind/table.h"
#include "tracer/kernel/unwind/unwind.h"

struct unwind_mapping {
	uint64_t start, size;   /* start first, for search_above */
	uint64_t address;       /* of `start` in terms of the file */
	struct unwind_file *file;       /* a use; NULL: no rules */
};

/* The mapping of an address; NULL: none that may be executed. */
const struct unwind_mapping *unwind_space_find(const struct unwind_space *s, uint64_t address);

#endif
